"""What changes every module of a tree: functions applied to it, training mode, and moves to dtypes and devices."""

from .. import _C
from .parameter import Parameter


class ModuleChanges:
    """The part of Module that changes all it holds."""

    def apply(self, fn):
        """Calls fn(module) for every module, children first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode=True):
        """Sets `training` of every module."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Lets go of the gradients of all parameters, or fills them with zeros."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    def _apply(self, fn, recurse=True):
        """Replaces the content of parameters, and the buffers, by fn(tensor). Parameters stay the same objects unless
        they gain or lose their elements (device "meta")."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            grad = parameter.grad
            changed = fn(parameter.data)
            if changed.is_meta == parameter.is_meta:
                parameter.data = changed
            else:
                parameter = self._parameters[name] = Parameter(changed, parameter.requires_grad)
            if grad is not None:
                parameter.grad = fn(grad.detach()).requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, device=None, dtype=None, non_blocking=False, memory_format=None):
        """Parameters and buffers go to `device`, those of floating point become `dtype`, those of 4 or 5 dimensions are
        laid out in `memory_format`. Without elements (device "meta") they go nowhere: NotImplementedError, see
        to_empty()."""
        for given in args:
            if isinstance(given, _C.Tensor):
                dtype, device = given.dtype, given.device
            elif isinstance(given, _C.dtype):
                dtype = given
            elif isinstance(given, bool):
                non_blocking = given
            else:
                device = given
        if dtype is not None and not dtype.is_floating_point and not dtype.is_complex:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def moved(t):
            if t.is_meta and device is not None and _C.device(device).type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Use Module.to_empty() instead of Module.to() to move a "
                    "module from meta to another device."
                )
            laid_out = memory_format if t.dim() in (4, 5) else None
            wanted = dtype if t.is_floating_point() else None
            return t.to(device, wanted, non_blocking=non_blocking, memory_format=laid_out)

        return self if device is dtype is memory_format is None else self._apply(moved)

    def to_empty(self, *, device, recurse=True):
        """Parameters and buffers of the same sizes and dtypes on `device`, uninitialised."""
        return self._apply(lambda t: _C.empty_like(t, device=device), recurse=recurse)

    def float(self):
        return self.to(_C.float32)

    def double(self):
        return self.to(_C.float64)

    def half(self):
        return self.to(_C.float16)

    def bfloat16(self):
        return self.to(_C.bfloat16)

"""torch.nn.Module: named parameters, buffers and submodules, and a call that runs `forward`."""

from types import MappingProxyType

from .. import _C
from .hooks import Hooks
from .module_devices import ModuleDevices
from .module_state import ModuleState
from .parameter import Parameter

_NOT_YET = MappingProxyType({})  # what the tables are before Module.__init__


def _indented(text):
    return text.replace("\n", "\n  ")


class Module(ModuleState, ModuleDevices, Hooks):
    """Base class of layers and models."""

    _version = 1
    _parameters = _buffers = _modules = _NOT_YET
    _compiled_call_impl = None

    def __init__(self):
        put = super().__setattr__
        put("training", True)
        put("_parameters", {})
        put("_buffers", {})
        put("_non_persistent_buffers_set", set())
        put("_forward_hooks", {})
        put("_forward_pre_hooks", {})
        put("_modules", {})

    # --- calls

    def forward(self, *input):
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(self, *args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        if self._forward_hooks or self._forward_pre_hooks:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def compile(self, *args, **kwargs):
        """Calls of this module run compiled from now on; arguments are those of minidynamo.compile."""
        from .._dynamo import compile
        from .._dynamo.callables import own_copy

        self._compiled_call_impl = compile(own_copy(type(self)._call_impl), *args, **kwargs)

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_compiled_call_impl"}

    # --- attributes

    def __getattr__(self, name):
        if name in self._parameters:
            return self._parameters[name]
        if name in self._buffers:
            return self._buffers[name]
        if name in self._modules:
            return self._modules[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            self._require_init("parameters")
            self._forget(name)
            self.register_parameter(name, value)
        elif name in self._parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_text(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self._parameters[name] = None
        elif isinstance(value, Module):
            self._require_init("module")
            if name not in self._modules:
                self._forget(name)
            self._modules[name] = value
        elif name in self._modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_text(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            self._modules[name] = None
        elif name in self._buffers:
            if value is not None and not isinstance(value, _C.Tensor):
                raise TypeError(
                    f"cannot assign '{_type_text(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            self._buffers[name] = value
        elif isinstance(value, _C.Tensor) and getattr(value, "_is_buffer", False):
            self._require_init("buffers")
            self._forget(name)
            self.register_buffer(name, value, value.persistent)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name):
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self):
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[:1].isdigit())

    def _require_init(self, what):
        if self._modules is _NOT_YET:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")

    def _forget(self, name):
        self.__dict__.pop(name, None)
        self._parameters.pop(name, None)
        self._buffers.pop(name, None)
        self._modules.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _check_name(self, kind, name, table):
        self._require_init(kind)
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_type_text(name)}")
        if "." in name:
            shown = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{shown}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name, tensor, persistent=True):
        """A tensor that is part of the module but no parameter; in the state_dict unless `persistent` is False."""
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, _C.Tensor):
            raise TypeError(
                f"cannot assign '{_type_text(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        """What assigning a Parameter does; None keeps the name free."""
        self._check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_type_text(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def add_module(self, name, module):
        """What assigning a Module does, for names that are no identifiers too."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_type_text(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = module

    def register_module(self, name, module):
        """Another name of add_module."""
        self.add_module(name, module)

    # --- look-up by dotted name

    def get_submodule(self, target):
        """The submodule at a path such as "layers.0.norm"; "" is the module itself."""
        found = self
        for part in target.split(".") if target else ():
            if not hasattr(found, part):
                raise AttributeError(f"{found._get_name()} has no attribute `{part}`")
            found = getattr(found, part)
            if not isinstance(found, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return found

    def _get_member(self, target):
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return owner, name, getattr(owner, name)

    def get_parameter(self, target):
        """The parameter at a path."""
        _, name, found = self._get_member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target):
        """The buffer at a path."""
        owner, name, found = self._get_member(target)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    # --- iteration

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """(path, module) of the module itself and all below, parents first; each object once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self):
        for _, module in self.named_modules():
            yield module

    def named_children(self):
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        for _, module in self.named_children():
            yield module

    def _named_members(self, table, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        owners = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in owners:
            for name, member in table(module).items():
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield f"{path}.{name}" if path else name, member

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """(path, parameter), each object once."""
        yield from self._named_members(lambda m: m._parameters, prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """(path, buffer), each object once."""
        yield from self._named_members(lambda m: m._buffers, prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # --- changes of the whole tree

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
        they move to another device."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            changed = fn(parameter.data)
            if changed.device == parameter.device:
                parameter.data = changed
            else:
                self._parameters[name] = Parameter(changed, parameter.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, device=None, dtype=None, non_blocking=False, memory_format=None):
        """Parameters and buffers go to `device`, those of floating point become `dtype`. Without elements
        (device "meta") they go nowhere: NotImplementedError, see to_empty()."""
        for given in args:
            if isinstance(given, _C.Tensor):
                dtype, device = given.dtype, given.device
            elif isinstance(given, _C.dtype):
                dtype = given
            elif not isinstance(given, bool):
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
            return t.to(device, dtype if t.is_floating_point() else None)

        return self if device is dtype is None else self._apply(moved)

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

    # --- text

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What stands between the parentheses; layers say their settings."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        if len(lines) <= 1 and not children:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


def _type_text(value):
    """A value's type as error messages of the mirrored library name it."""
    if isinstance(value, _C.Tensor):
        return value.type()
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"

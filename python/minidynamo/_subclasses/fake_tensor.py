"""Tensors without elements that look as if they were on a device, and errors of what needs elements.

By these errors a backend refuses a graph, too: the function is then run without it (graph break GB0219).
"""

import contextlib
import weakref

from .. import _C
from .._absent import absent_names as _absent_names
from .._aten import modes as _modes
from ..utils import _pytree
from ..utils._python_dispatch import TorchDispatchMode

__all__ = [
    "FakeTensor",
    "FakeTensorMode",
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "UnsupportedFakeTensorException",
    "UnsupportedMutationAliasingException",
    "UnsupportedOperatorException",
]


class UnsupportedFakeTensorException(RuntimeError):
    """A kind of tensor the backend does not work with."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


class UnsupportedMutationAliasingException(RuntimeError):
    """Writes to tensors that share memory, in a way the backend cannot order."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


class DynamicOutputShapeException(RuntimeError):
    """An operation whose result's size depends on data."""

    def __init__(self, func):
        super().__init__(func)
        self.func = func


class DataDependentOutputException(RuntimeError):
    """An operation whose result is a Python value that depends on data."""

    def __init__(self, func):
        super().__init__(func)
        self.func = func


class UnsupportedOperatorException(RuntimeError):
    """An operation the backend does not know."""

    def __init__(self, func):
        super().__init__(func)
        self.func = func


# Operators whose results have as many elements as the elements say.
_SIZES_BY_ELEMENTS = set(
    "nonzero masked_select unique _unique2 unique_dim unique_consecutive bincount repeat_interleave".split()
)


class FakeTensor(_C.Tensor):
    """A tensor of a FakeTensorMode: sizes, strides, dtype, and the device that it would be on."""

    def __new__(cls, fake_mode, elem, device, requires_grad=False):
        return _C.Tensor._make_wrapper_subclass(
            cls, elem.shape, strides=elem.stride(), dtype=elem.dtype, device=device, requires_grad=requires_grad
        )

    def __init__(self, fake_mode, elem, device, requires_grad=False):
        self.fake_mode, self.fake_device, self._meta = fake_mode, _C.device(device), elem

    def __repr__(self):
        parts = ["...", f"size={tuple(self.shape)}"]
        if self.dtype != _C.get_default_dtype():
            parts.append(f"dtype={self.dtype}")
        if self.fake_device.type != "cpu":
            parts.append(f"device='{self.fake_device}'")
        if self.grad_fn is not None:
            parts.append(f"grad_fn=<{type(self.grad_fn).__name__}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        return f"FakeTensor({', '.join(parts)})"

    def tolist(self):
        raise DataDependentOutputException("aten._local_scalar_dense.default")

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        found = [a for a in _pytree.tree_leaves((args, kwargs)) if isinstance(a, FakeTensor)]
        if any(a.fake_mode is not found[0].fake_mode for a in found):
            raise AssertionError("the fake tensors of a call have to be of one FakeTensorMode")
        return found[0].fake_mode._run(func, args, kwargs or {}, found[0].fake_mode.allow_non_fake_inputs)


class FakeTensorMode(TorchDispatchMode):
    """Within `with FakeTensorMode():` new tensors are fake; from_tensor() gives the likeness of a real one."""

    @classmethod
    def is_infra_mode(cls):
        return True

    def __init__(
        self,
        *,
        allow_fallback_kernels=True,
        allow_non_fake_inputs=False,
        shape_env=None,
        static_shapes=None,
        export=False,
    ):
        super().__init__()
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.shape_env, self.export = shape_env, export
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self._known = {}  # by id

    def from_tensor(self, tensor, *, static_shapes=None, source=None, symbolic_context=None, trace=True):
        """A fake tensor like `tensor`; for the same tensor always the same one."""
        if isinstance(tensor, FakeTensor):
            return tensor
        key = id(tensor)
        if key not in self._known:
            gone = weakref.ref(tensor, lambda _: self._known.pop(key, None))
            with _modes.none_active():
                meta = _C.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
                self._known[key] = gone, FakeTensor(self, meta, tensor.device, tensor.requires_grad)
        return self._known[key][1]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self._run(func, args, kwargs or {}, True)

    def _run(self, func, args, kwargs, takes_real):
        name = func.overloadpacket.__name__
        if name == "_local_scalar_dense":
            raise DataDependentOutputException(func)
        leaves, spec = _pytree.tree_flatten((args, kwargs))
        masks = name == "index" and any(isinstance(a, _C.Tensor) and a.dtype in (_C.bool, _C.uint8) for a in leaves[1:])
        if name in _SIZES_BY_ELEMENTS or masks:
            raise DynamicOutputShapeException(func)
        metas = [self._meta_of(a, func, takes_real) for a in leaves]
        meta_args, meta_kwargs = _pytree.tree_unflatten(metas, spec)
        device = _C.device(kwargs.get("device") or self._common_device(leaves))
        if "device" in kwargs:
            meta_kwargs["device"] = _C.device("meta")
        with _modes.none_active():
            made = func(*meta_args, **meta_kwargs)
            return _pytree.tree_map_only(_C.Tensor, lambda m: self._fake_of(m, metas, leaves, device), made)

    def _meta_of(self, value, func, takes_real):
        if not isinstance(value, _C.Tensor):
            return value
        if isinstance(value, FakeTensor):
            return value._meta
        if not takes_real and value.dim() > 0:
            raise AssertionError(
                f"{func} has a real tensor among its arguments, beside fake ones: convert it by from_tensor(), or make "
                "the mode with 'allow_non_fake_inputs'"
            )
        with _modes.none_active():
            return _C.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")

    @staticmethod
    def _common_device(leaves):
        devices = [(a.dim() == 0, a.device) for a in leaves if isinstance(a, _C.Tensor)]
        return min(devices, key=lambda d: d[0])[1] if devices else "cpu"

    def _fake_of(self, meta, metas, leaves, device):
        for given, value in zip(metas, leaves):
            if given is meta and isinstance(value, FakeTensor):
                return value  # written in place
        return FakeTensor(self, meta, device)


@contextlib.contextmanager
def unset_fake_temporarily():
    """Within the block, no mode is active: tensors that are made are real."""
    with _modes.none_active() as before:
        yield next((mode for mode in before if isinstance(mode, FakeTensorMode)), None)


def is_fake(x):
    """Whether `x` is a fake tensor."""
    return isinstance(x, FakeTensor)


__getattr__ = _absent_names(__name__)

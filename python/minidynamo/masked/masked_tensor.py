"""MaskedTensor: data and a mask of the same sizes; operations give tensors that carry a mask as well."""

from .. import _C
from . import reductions

_REDUCTIONS = ("sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "var", "std")
_CHANGE_BOTH = "reshape view transpose permute t unsqueeze squeeze expand select narrow __getitem__ contiguous".split()


class MaskedTensor(_C.Tensor):
    """`data` where `mask` is True; elements elsewhere are not specified. See masked_tensor()."""

    def __new__(cls, data, mask, requires_grad=False):
        _check(data, mask)
        data = data.detach().clone()
        return _made(data.requires_grad_() if requires_grad else data, mask.detach().clone())

    dtype = property(lambda self: self._parts[0].dtype)
    device = property(lambda self: self._parts[0].device)
    is_meta = property(lambda self: self._parts[0].is_meta)
    requires_grad = property(lambda self: self._parts[0].requires_grad)
    grad_fn = property(lambda self: self._parts[0].grad_fn)

    @property
    def grad(self):
        grad = self._parts[0].grad
        return None if grad is None else _made(grad, self._parts[1])

    def get_data(self):
        """The elements, also those that are masked out."""
        return self._parts[0]

    def get_mask(self):
        """Where elements are specified."""
        return self._parts[1]

    def to_tensor(self, value):
        """An ordinary tensor with `value` where elements are masked out."""
        return self._parts[0].masked_fill(~self._parts[1], value)

    def backward(self, *args, **kwargs):
        return self._parts[0].backward(*args, **kwargs)

    def __bool__(self):
        return bool(self._parts[0])

    def __repr__(self, *, tensor_contents=None):
        return _text(self)

    __str__ = __repr__

    def __format__(self, spec):
        return format(repr(self), spec)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        kwargs = kwargs or {}
        if name in _REDUCTIONS:
            return _reduced(name, *args, **kwargs)
        if name in ("to", "float", "double", "half", "long", "int", "clone", "detach"):
            return _made(func(args[0]._parts[0], *args[1:], **kwargs), args[0]._parts[1])
        if name in _CHANGE_BOTH:
            own = args[0]
            return _made(func(own._parts[0], *args[1:], **kwargs), func(own._parts[1], *args[1:], **kwargs))
        if type(func).__name__ == "method-wrapper" or name in ("size", "dim", "numel", "stride", "is_floating_point"):
            with _C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        return _elementwise(func, name, args, kwargs)


def _made(data, mask):
    tensor = _C.empty(data.shape, dtype=data.dtype, device="meta").as_subclass(MaskedTensor)
    tensor._parts = data, mask
    return tensor


def _check(data, mask):
    if not isinstance(data, _C.Tensor) or not isinstance(mask, _C.Tensor):
        raise TypeError("MaskedTensor is made of two tensors, data and mask")
    if mask.dtype != _C.bool:
        raise TypeError(f"the mask of a MaskedTensor must be bool, not {mask.dtype}")
    if data.shape != mask.shape:
        raise ValueError(f"data and mask of a MaskedTensor need the same sizes, got {data.shape} and {mask.shape}")


def _reduced(name, input, dim=None, keepdim=False, **kwargs):
    data, mask = input._parts
    value = getattr(reductions, name)(data, dim, keepdim=keepdim, mask=mask, **kwargs)
    there = mask.any() if dim is None else mask
    for d in sorted(reductions._dims(mask, dim), reverse=True) if dim is not None else ():
        there = there.any(d, keepdim)
    return _made(value, there)


def _elementwise(func, name, args, kwargs):
    """The op on the data; masks of several operands have to agree."""
    masks = [a._parts[1] for a in args if isinstance(a, MaskedTensor)]
    shown = [a._parts[0] if isinstance(a, MaskedTensor) else a for a in args]
    if not masks or any(isinstance(a, (list, tuple)) for a in args):
        raise TypeError(f"{name}() is not defined for MaskedTensor")
    plain = [a for a in args if isinstance(a, _C.Tensor) and not isinstance(a, MaskedTensor) and a.dim()]
    if plain:
        raise TypeError(f"{name}(): a MaskedTensor is combined with numbers and MaskedTensors; see masked_tensor()")
    if any(not _C.equal(masks[0], other) for other in masks[1:]):
        raise ValueError("Input masks must match. If you need support for this, combine them before")
    value = func(*shown, **kwargs)
    if not isinstance(value, _C.Tensor) or value.shape != masks[0].shape:
        raise TypeError(f"{name}() is not defined for MaskedTensor")
    return _made(value, masks[0])


def _element(value):
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _rows(data, mask, depth):
    if data.dim() == 0:
        return _element(data.item()) if mask else "--"
    if data.dim() == 1:
        texts = [_element(v) if m else "--" for v, m in zip(data.tolist(), mask.tolist())]
        widest = max(map(len, texts), default=0)
        return "[" + ", ".join(text.rjust(widest) for text in texts) + "]"
    inner = [_rows(d, m, depth + 1) for d, m in zip(data, mask)]
    return "[" + (",\n" + " " * (depth + 3)).join(inner) + "]"


def _text(tensor):
    body = _rows(tensor._parts[0].detach(), tensor._parts[1], 0)
    return "MaskedTensor(\n  " + body + "\n)" if tensor.dim() else f"MaskedTensor({body}, {bool(tensor._parts[1])})"


def masked_tensor(data, mask, requires_grad=False):
    """A MaskedTensor over copies of both."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data, mask):
    """A MaskedTensor of the tensors themselves: gradients flow to `data`."""
    _check(data, mask)
    return _made(data, mask)


def is_masked_tensor(obj, /):
    """Whether `obj` is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)

"""torch._foreach_*: one operation on each tensor of a list. In a graph they are the operations of the tensors.

A name without `_` at its end returns a tuple of new tensors; one with it writes to the tensors and returns the list.
What goes with the tensors is one number for all, a list of one per tensor, a list of tensors, or a tensor without
dimensions. RuntimeError: an empty list, or lists of different lengths.
"""

from . import _C
from .linalg import vector_norm

Tensor = _C.Tensor
__all__ = []

# Methods of tensors by the name behind `_foreach_`, and which of the two forms there are.
_ALONE = """
    abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round
    rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
""".split()
_WITH_ONE = dict(add="add", sub="sub", mul="mul", div="div", maximum="clamp_min", clamp_min="clamp_min")
_WITH_ONE |= dict(minimum="clamp_max", clamp_max="clamp_max")


def _check(name, tensors, *others):
    if not isinstance(tensors, (list, tuple)):
        kind = type(tensors).__name__
        raise TypeError(f"{name}(): argument 'self' (position 1) must be tuple of Tensors, not {kind}")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for other in others:
        if len(other) == len(tensors):
            continue
        if other and isinstance(other[0], Tensor):
            lengths = f"{len(tensors)} and {len(other)}"
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {lengths}")
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def _one_each(name, tensors, given):
    """What goes with each of `tensors`."""
    if isinstance(given, (list, tuple)):
        _check(name, tensors, given)
        return given
    _check(name, tensors)
    if isinstance(given, Tensor) and given.dim() > 0:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {given.dim()} dimensions and {given.numel()} elements."
        )
    return [given] * len(tensors)


def _publish(name, each, in_place=None):
    """`each(self, ...)` gives the results one by one, `in_place` those of the form that writes."""

    def foreach(self, *args, **kwargs):
        return tuple(each(self, *args, **kwargs))

    def foreach_(self, *args, **kwargs):
        for _ in in_place(self, *args, **kwargs):
            pass
        return self

    for function, body, ending in ((foreach, each, ""), (foreach_, in_place, "_")):
        if body is not None:
            function.__name__ = function.__qualname__ = f"_foreach_{name}{ending}"
            globals()[function.__name__] = _C._overridable(function)
            __all__.append(function.__name__)


def _alone(name, method):
    def each(self):
        _check(f"_foreach_{name}", self)
        return [method(x) for x in self]

    return each


def _with_one(name, method):
    def each(self, other=None, *, scalar=None, scalars=None, alpha=1):
        other = next((given for given in (scalar, scalars) if given is not None), other)
        others = _one_each(f"_foreach_{name}", self, other)
        if alpha == 1:
            return [method(x, y) for x, y in zip(self, others)]
        if not isinstance(others[0], Tensor):
            raise TypeError(f"_foreach_{name}() takes alpha with tensors, not with {type(others[0]).__name__}")
        return [method(x, y, alpha=alpha) for x, y in zip(self, others)]

    return each


def _with_two(name, method):
    def each(self, tensor1, tensor2, value=1, *, scalars=None):
        given = value if scalars is None else scalars
        if isinstance(given, Tensor):
            given = given.tolist()
        _check(f"_foreach_{name}", self, tensor1, tensor2)
        values = _one_each(f"_foreach_{name}", self, given)
        return [method(x, y, z, value=v) for x, y, z, v in zip(self, tensor1, tensor2, values)]

    return each


def _power(method):
    def each(self, exponent):
        if isinstance(self, (list, tuple)):
            return [method(x, p) for x, p in zip(self, _one_each("_foreach_pow", self, exponent))]
        _check("_foreach_pow", exponent)
        return [self**p for p in exponent]

    return each


def _interpolated(method):
    def each(self, tensors1, weight=None, *, weights=None):
        _check("_foreach_lerp", self, tensors1)
        given = _one_each("_foreach_lerp", self, weight if weights is None else weights)
        return [method(x, y, w) for x, y, w in zip(self, tensors1, given)]

    return each


def _norm(self, ord=2, dtype=None):
    _check("_foreach_norm", self)
    return [vector_norm(x, ord, dtype=dtype) for x in self]


def _powsum(self, ord=2, dtype=None):
    _check("_foreach_powsum", self)
    return [x.to(dtype or x.dtype).abs().pow(ord).sum() for x in self]


def _copied(self, src, non_blocking=False):
    _check("_foreach_copy_", self, src)
    return [x.copy_(y, non_blocking) for x, y in zip(self, src)]


def _product(self, mat2):
    _check("_foreach_mm", self, mat2)
    return [x.mm(y) for x, y in zip(self, mat2)]


def _cloned(self, *, memory_format=None):
    _check("_foreach_clone", self)
    return [x.clone() if memory_format is None else x.clone(memory_format=memory_format) for x in self]


for _name in _ALONE:
    _publish(_name, *(_alone(_name + end, getattr(Tensor, _name + end)) for end in ("", "_")))
for _name, _method in _WITH_ONE.items():
    _publish(_name, *(_with_one(_name + end, getattr(Tensor, _method + end)) for end in ("", "_")))
for _name in ("addcmul", "addcdiv"):
    _publish(_name, *(_with_two(_name + end, getattr(Tensor, _name + end)) for end in ("", "_")))
_publish("pow", _power(Tensor.pow), _power(Tensor.pow_))
_publish("lerp", _interpolated(Tensor.lerp), _interpolated(Tensor.lerp_))
_publish("zero", None, _alone("zero_", Tensor.zero_))
_publish("max", _alone("max", Tensor.max))
_publish("norm", _norm)
_publish("powsum", _powsum)
_publish("copy", None, _copied)
_publish("mm", _product)
_publish("clone", _cloned)

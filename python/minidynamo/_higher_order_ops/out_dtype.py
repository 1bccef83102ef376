"""out_dtype: products of narrow integers in a wider type."""

from .. import _C
from .._absent import absent_names as _absent_names
from .._ops import OpOverload as _OpOverload
from .._ops import _OwnOp
from .._ops import ops as _ops


def _allowed():
    aten = _ops.aten
    return (aten.mm.default, aten.linear.default, aten.conv2d.default, aten.mul.Tensor, aten.mul.Scalar)


def _check(op):
    if not isinstance(op, (_OpOverload, _OwnOp)):
        raise ValueError(f"out_dtype(): op should be an overload of an operator, not {op}")
    if op not in _allowed():
        raise ValueError(f"out_dtype(): {op} is not among {_allowed()}")


def out_dtype(op, output_dtype, *args):
    """op(*args) computed on tensors of `output_dtype`. `op` is an overload of ops.aten: mm, linear, conv2d or mul.

    Raises ValueError for other functions.
    """
    _check(op)
    wider = []
    for a in args:
        wider.append(a.to(output_dtype) if isinstance(a, _C.Tensor) else a)
    return op(*wider)


_C._mark_callable(out_dtype, "dont_skip")
_C._mark_callable(_check, "constant")  # compiled code has checked it when it was made


__getattr__ = _absent_names(__name__)

"""torch.special: special functions, from the op table."""

from . import _C
from ._absent import absent_names as _absent_names

globals().update(_C._namespaces["special"])
__all__ = sorted([*_C._namespaces["special"], "polygamma"])


@_C._overridable
def polygamma(n, input, *, out=None):
    """The n-th derivative of digamma at the elements of `input`. RuntimeError for n < 0."""
    if not isinstance(n, int):
        raise TypeError(f"polygamma(): argument 'n' must be int, not {type(n).__name__}")
    result = input.polygamma(n)
    return result if out is None else out.resize_(result.shape).copy_(result)


__getattr__ = _absent_names(__name__)

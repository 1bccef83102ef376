"""What torch says of conjugates and negations that are pending: here none ever is, they are computed when asked for."""

from . import _C
from ._absent import absent_names as _absent_names


def resolve_conj(input):
    """The tensor itself, of which no conjugate is pending."""
    return input


def resolve_neg(input):
    """The tensor itself, of which no negation is pending."""
    return input


def is_conj(input):
    """False."""
    return False


def is_neg(input):
    """False."""
    return False


def adjoint(input):
    """The last two dimensions exchanged, the elements conjugate: a view of a tensor that is not complex."""
    return input.mH


def _complex_in(input, dtype):
    return input.to(dtype)


def cfloat(input, memory_format=None):
    """As complex64; itself if it is that already."""
    return _complex_in(input, _C.complex64)


def cdouble(input, memory_format=None):
    """As complex128; itself if it is that already."""
    return _complex_in(input, _C.complex128)


__getattr__ = _absent_names(__name__)

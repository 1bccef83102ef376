"""What torch says of conjugates and negations that are pending: here all are computed when asked for, but what conj()
gave says so."""

from . import _C
from ._absent import absent_names as _absent_names


def resolve_conj(input):
    """A copy of what conj() gave; any other tensor itself."""
    return input.clone() if input.is_conj() else input


def resolve_neg(input):
    """The tensor itself, of which no negation is pending."""
    return input


def is_conj(input):
    """Whether conj() gave it, or it is a view of what that gave."""
    return input.is_conj()


def is_neg(input):
    """False."""
    return False


@_C._overridable
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

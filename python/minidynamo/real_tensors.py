"""What torch asks of complex tensors, for those that are here, which are real: most is the tensor itself."""

import math

from . import _C
from ._absent import absent_names as _absent_names


def conj(input):
    """The tensor itself: it is real."""
    return input


def conj_physical(input, *, out=None):
    """The tensor itself; in torch, where it is complex, a copy."""
    return input if out is None else out.copy_(input)


def resolve_conj(input):
    """The tensor itself, of which no conjugate is pending."""
    return input


def resolve_neg(input):
    """The tensor itself, of which no negation is pending."""
    return input


def real(input):
    """The tensor itself."""
    return input


def imag(input):
    """RuntimeError: real tensors have no imaginary part in torch."""
    raise RuntimeError("imag is only implemented for complex tensors, and there are none here")


def is_conj(input):
    """False."""
    return False


def is_neg(input):
    """False."""
    return False


def angle(input, *, out=None):
    """pi for negative elements, 0 for others, NaN for NaN; floating. Its gradient is 0."""
    dtype = input.dtype if input.is_floating_point() else _C.get_default_dtype()
    found = _C.where(input < 0, math.pi, 0.0).to(dtype)
    found = found + input.to(dtype) * 0 if input.is_floating_point() else found
    return found if out is None else out.copy_(found)


def adjoint(input):
    """The last two dimensions exchanged, a view."""
    return input.mT


__getattr__ = _absent_names(__name__)

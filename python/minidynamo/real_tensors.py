"""Conjugates and negatives over the memory of another tensor, and complex dtypes by name."""

from . import _C
from ._absent import absent_names as _absent_names
from ._arguments import need_tensors


def resolve_conj(input):
    """A copy if the memory holds the conjugates of what it shows; any other tensor itself."""
    need_tensors("resolve_conj", input=input)
    return input.clone() if input.is_conj() else input


def resolve_neg(input):
    """A copy if the memory holds the negatives of what it shows; any other tensor itself."""
    need_tensors("resolve_neg", input=input)
    return input.clone() if input.is_neg() else input


def is_conj(input):
    """Whether its memory holds the conjugates of what it shows."""
    need_tensors("is_conj", input=input)
    return input.is_conj()


def is_neg(input):
    """Whether its memory holds the negatives of what it shows."""
    need_tensors("is_neg", input=input)
    return input.is_neg()


def _neg_view(input):
    """The negative elements over the same memory."""
    return _C._with_pending(input, False, True)


def _pending_again(memory, conjugate, negative):
    """What pickle calls to make such a tensor again."""
    return _C._with_pending(memory, conjugate, negative)


@_C._overridable
def adjoint(input):
    """The last two dimensions exchanged, the elements conjugate: a view."""
    if input.dim() < 2 and input.dim() > 0:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {input.dim()}-D tensor."
        )
    return input.mH if input.dim() else input.conj()


def _complex_in(input, dtype):
    return input.to(dtype)


def cfloat(input, memory_format=None):
    """As complex64; itself if it is that already."""
    return _complex_in(input, _C.complex64)


def cdouble(input, memory_format=None):
    """As complex128; itself if it is that already."""
    return _complex_in(input, _C.complex128)


__getattr__ = _absent_names(__name__)

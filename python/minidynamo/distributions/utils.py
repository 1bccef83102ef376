"""torch.distributions.utils: parameters of one shape, probabilities and logits, values computed when first read."""

import functools
from numbers import Number

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import is_compiling as _is_compiling
from .._limits import finfo
from ..autograd.grad_mode import enable_grad

__all__ = [
    "broadcast_all",
    "logits_to_probs",
    "clamp_probs",
    "probs_to_logits",
    "lazy_property",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]
euler_constant = 0.57721566490153286060  # Euler Mascheroni Constant


def _is_tensor_like(value):
    return isinstance(value, _C.Tensor) or hasattr(type(value), "__torch_function__")


def broadcast_all(*values):
    """The values as tensors of one shape; numbers become tensors of the first tensor's dtype, or the default dtype.

    Raises ValueError for anything but numbers and tensors.
    """
    for value in values:
        if not (_is_tensor_like(value) or isinstance(value, Number)):
            raise ValueError(f"distributions take numbers and tensors, not {type(value).__name__}: {value!r}")
    first = next((value for value in values if _is_tensor_like(value)), None)
    dtype = _C.get_default_dtype() if first is None else first.dtype
    device = None if first is None else first.device
    tensors = [v if _is_tensor_like(v) else _C.tensor(v, dtype=dtype, device=device) for v in values]
    # One that has the shape already stays itself, so that its gradient can be read from the distribution.
    return tuple([t if t.shape == b.shape else b for t, b in zip(tensors, _C.broadcast_tensors(*tensors))])


def _as_size(shape):
    """A shape as torch.Size; as a tuple in compiled functions, where no Size is made."""
    if isinstance(shape, _C.Size):
        return shape
    return tuple(shape) if _is_compiling() else _C.Size(shape)


def _standard_normal(shape, dtype, device):
    return _C.normal(_C.zeros(shape, dtype=dtype, device=device), _C.ones(shape, dtype=dtype, device=device))


def _sum_rightmost(value, dim):
    """Sums over the last `dim` dimensions."""
    if dim == 0:
        return value
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits, is_binary=False):
    """Probabilities of events with these log-odds, or of the categories in the last dimension with these logits."""
    return _C.sigmoid(logits) if is_binary else _C.softmax(logits, -1)


def clamp_probs(probs):
    """Probabilities at least a machine epsilon away from 0 and 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """Log-odds of events, or logarithms of the probabilities of categories; 0 and 1 are moved by machine epsilon."""
    inside = clamp_probs(probs)
    return _C.log(inside) - _C.log1p(-inside) if is_binary else _C.log(inside)


class lazy_property:
    """A method whose value is computed, with gradients on, when the attribute is first read, and kept."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a lazy_property is on its class, for what reads documentation."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat, diag=0):
    """The part on and below diagonal `diag` of (..., n, n) matrices, row by row, as (..., m) vectors."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diagonal {diag} is outside a matrix with {n} rows, whose are -{n} to {n - 1}")
    rows, columns = _C.tril_indices(n, n, diag, device=mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec, diag=0):
    """(..., m) vectors as (..., n, n) matrices, whose part on and below diagonal `diag` they are, row by row.

    n is the size whose part has m elements: n (n + 1) / 2 of them for diag = 0. Raises ValueError if there is none.
    """
    m = vec.shape[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * m + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > 1e-9 or n - round(n) > 1e-9:
        raise ValueError(f"{m} elements are not those on and below diagonal {diag} of a square matrix")
    n = round(n)
    rows, columns = _C.tril_indices(n, n, diag, device=vec.device)
    places = _C.full((n, n), m, device=vec.device)  # in the vector, with a zero at its end
    places[rows, columns] = _C.arange(m, device=vec.device)
    padded = _C.cat([vec, vec.new_zeros(vec.shape[:-1] + (1,))], -1)
    return padded.index_select(-1, places.flatten()).reshape(vec.shape[:-1] + (n, n))


__getattr__ = _absent_names(__name__)

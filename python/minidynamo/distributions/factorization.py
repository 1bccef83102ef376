"""Cholesky factors and triangular systems for batches of small matrices: compositions of ops, a few per column.

Matrices are the last two dimensions, of a real floating dtype. As compositions they have gradients of any order, also
in compiled functions.
"""

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import is_compiling as _is_compiling
from .._limits import finfo
from .._more_checks import fails_unless as _fails_unless
from ..autograd.grad_mode import no_grad
from ..linalg import LinAlgError


def _factor(matrix):
    """Lower factor. From the first pivot that is not positive on, its columns have NaN or inf in them."""
    rest, columns = matrix, []
    for j in range(matrix.shape[-1]):
        column = rest[..., 0] / rest[..., :1, 0].sqrt()
        columns.append(_C.cat([rest.new_zeros(rest.shape[:-2] + (j,)), column], -1))
        below = column[..., 1:]
        rest = rest[..., 1:, 1:] - below.unsqueeze(-1) * below.unsqueeze(-2)
    return _C.stack(columns, -1)


def cholesky(matrix):
    """Lower triangular L with L @ L.mT = matrix, for symmetric positive definite `matrix` of shape (..., n, n).

    Raises LinAlgError for one that is not positive definite.
    """
    factor = _factor(0.5 * (matrix + matrix.mT))  # so that gradients are symmetric
    if _C._transforms():
        return factor
    if _is_compiling():
        _fails_unless(_is_factor(factor).all())
    elif not _is_factor(factor).all():
        raise LinAlgError("cholesky: a matrix is not positive definite, so it has no Cholesky factor")
    return factor


def _is_factor(factor):
    diagonal = factor.diagonal(dim1=-2, dim2=-1)
    return ((diagonal > 0) & diagonal.isfinite()).all(-1)


def is_positive_definite(matrix):
    """Bool tensor (...): whether symmetric matrices have Cholesky factors."""
    with no_grad():
        return _is_factor(_factor(matrix))


def is_positive_semidefinite(matrix):
    """Bool tensor (...): whether symmetric matrices have no eigenvalue below 0 by more than rounding, n eps trace."""
    n = matrix.shape[-1]
    margin = n * finfo(matrix.dtype).eps * matrix.diagonal(dim1=-2, dim2=-1).abs().sum(-1)
    zero = (matrix == 0).all(-1).all(-1)
    moved = matrix + margin[..., None, None] * _C.eye(n, dtype=matrix.dtype, device=matrix.device)
    return zero | is_positive_definite(moved)


def solve_triangular(matrix, right, upper=False):
    """X of shape (..., n, k) with matrix @ X = right, for triangular (..., n, n) matrices and right (..., n, k).

    The other triangle is not read. Batch dimensions are broadcast.
    """
    if upper:
        return solve_triangular(matrix.flip(-2, -1), right.flip(-2)).flip(-2)
    rows, n = [], matrix.shape[-1]
    for i in range(n):
        row = right[..., :1, :] / matrix[..., i : i + 1, i : i + 1]
        rows.append(row)
        right = right[..., 1:, :] - matrix[..., i + 1 :, i : i + 1] * row
    return _C.cat(rows, -2)


def inverse_of_triangular(factor):
    """Inverse of lower triangular (..., n, n) matrices."""
    n = factor.shape[-1]
    return solve_triangular(factor, _C.eye(n, dtype=factor.dtype, device=factor.device).expand(factor.shape))


def cholesky_inverse(factor):
    """Inverse of factor @ factor.mT."""
    inverse = inverse_of_triangular(factor)
    return inverse.mT @ inverse


def precision_to_scale_tril(precision):
    """Lower factor of the inverse of (..., n, n) positive definite matrices: no inverse of them is made.

    With P's rows and columns in reverse order factored as L L^T, P is U U^T for the reversed L, U, and P^-1 is
    U^-T U^-1 with a lower triangular U^-T.
    """
    reversed_factor = cholesky(precision.flip(-2, -1))
    upper_transposed = reversed_factor.flip(-2, -1).mT
    return inverse_of_triangular(upper_transposed)


def log_determinant_of_factor(factor):
    """Half the log-determinant of factor @ factor.mT: the sum of the logarithms of the diagonal, of shape (...)."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def mahalanobis(factor, difference):
    """Squared norms of L^-1 d, of the broadcast batch shape, for factors L (..., n, n) and vectors d (..., n)."""
    if factor.dim() == 2:  # one matrix: all vectors are columns of one right side
        columns = difference.reshape(-1, difference.shape[-1]).mT
        return solve_triangular(factor, columns).square().sum(0).reshape(difference.shape[:-1])
    return solve_triangular(factor, difference.unsqueeze(-1)).square().sum((-2, -1))


__getattr__ = _absent_names(__name__)

"""Square systems, determinants and inverses of batches of matrices, (..., n, n) of float32, float64 or complex.

Gradients of any order flow, in compiled functions too, where each call is one node of the graph.
"""

from collections import namedtuple

from .. import _C
from .._limits import finfo
from . import decompositions, operators
from .arguments import (
    broadcast_batches,
    is_vectors,
    need_matrices,
    need_square,
    takes_out,
)

_table_power = _C._namespaces["linalg"]["matrix_power"]
_made = {}


def result_type(name, fields):
    """The named tuple that torch calls `name`."""
    return _made.setdefault(name, namedtuple(name, fields, module=f"{_C.__name__.partition('.')[0]}.return_types"))


_SignAndLog = result_type("linalg_slogdet", "sign logabsdet")
_InverseAndInfo = result_type("linalg_inv_ex", "inverse info")
_FactorAndInfo = result_type("linalg_cholesky_ex", "L info")
_SolutionAndInfo = result_type("linalg_solve_ex", "result info")


@takes_out
def inv(A):
    """The inverses. LinAlgError for a singular matrix."""
    need_square("linalg.inv", A)
    return operators.inverse(A)


@takes_out
def det(A):
    """The determinants, of shape (...). For singular matrices the gradient is right, and has none in turn."""
    need_square("linalg.det", A)
    return operators.determinant(A)


@takes_out
def slogdet(A):
    """(sign, logabsdet), each of shape (...): the determinants are sign * exp(logabsdet); 0 and -inf where singular."""
    need_square("linalg.slogdet", A)
    return _SignAndLog(*operators.sign_and_log_determinant(A))


@takes_out
def cholesky(A, *, upper=False):
    """Lower triangular L with L @ L.mH = A, or L.mH with `upper`. Only the lower triangle of A is read, and
    with `upper` the upper one. LinAlgError for a matrix that is not positive definite."""
    need_square("linalg.cholesky", A)
    return operators.cholesky(A, bool(upper))


@takes_out
def inv_ex(A, *, check_errors=False):
    """(inverse, info): info is 0, or the place of the first zero pivot of a singular matrix, whose inverse is inf and
    NaN. LinAlgError for one with `check_errors`."""
    need_square("linalg.inv_ex", A)
    return _InverseAndInfo(*((inv(A), _no_errors(A)) if check_errors else operators.inverse_with_info(A)))


def _no_errors(A):
    return _C.zeros(A.shape[:-2], dtype=_C.int32, device=A.device)


@takes_out
def cholesky_ex(A, *, upper=False, check_errors=False):
    """(L, info): info is 0, or the order of the first leading minor that is not positive, where L ends. LinAlgError for
    such a matrix with `check_errors`."""
    need_square("linalg.cholesky_ex", A)
    if check_errors:
        return _FactorAndInfo(cholesky(A, upper=upper), _no_errors(A))
    return _FactorAndInfo(*operators.cholesky_with_info(A, bool(upper)))


@takes_out
def solve_ex(A, B, *, left=True, check_errors=False):
    """(result, info): as solve(), and info is 0, or the place of the first zero pivot of a singular A, whose result is
    inf and NaN. LinAlgError for one with `check_errors`."""
    if check_errors:
        return _SolutionAndInfo(solve(A, B, left=left), _no_errors(A))
    return _SolutionAndInfo(*_solved("linalg.solve_ex", A, B, left, operators.solve_with_info))


@takes_out
def solve(A, B, *, left=True):
    """X with A @ X = B, or X @ A = B if not `left`, for B of shape (..., n, k).

    B is a batch of vectors if it is (n,), or is of A's shape without the last dimension. Batch dimensions are
    broadcast. LinAlgError for a singular matrix, RuntimeError for sizes or dtypes that do not fit.
    """
    return _solved("linalg.solve", A, B, left, lambda a, b: (operators.solve(a, b), None))[0]


def _solved(name, A, B, left, operator):
    """(X, info) by `operator` of matrices of equal batches."""
    need_square(name, A)
    if is_vectors(A, B):
        if not left:
            raise ValueError(f"{name}: vectors B are solved for with left=True only")
        result, info = operator(*broadcast_batches(name, A, B.unsqueeze(-1)))
        return result.squeeze(-1), info
    if not left:
        result, info = operator(*broadcast_batches(name, A.mT, B.mT))
        return result.mT, info
    return operator(*broadcast_batches(name, A, B))


@takes_out
def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """X with A @ X = B, or X @ A = B if not `left`. The other triangle of A is not read, nor its diagonal if
    `unitriangular`, which takes it to be 1. inf where a diagonal has a 0."""
    need_square("linalg.solve_triangular", A)
    need_matrices("linalg.solve_triangular", B, "B")
    if not left:
        return solve_triangular(A.mT, B.mT, upper=not upper, unitriangular=unitriangular).mT
    return operators.solve_triangular(*broadcast_batches("linalg.solve_triangular", A, B), upper, unitriangular)


def matrix_exp(A):
    """The exponentials of matrices, the sums of A^k / k!."""
    need_square("linalg.matrix_exp", A)
    return operators.exponential(A)


@takes_out
def matrix_power(A, n):
    """The product of |n| matrices A, or of their inverses for n < 0. LinAlgError where there is none."""
    if isinstance(A, _C.Tensor) and isinstance(n, int) and n < 0:
        return _table_power(inv(A), -n)
    return _table_power(A, n)


@takes_out
def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The Moore-Penrose inverses, (..., n, m) of (..., m, n).

    Singular values not above max(atol, rtol * the largest) count as 0; rtol, which `rcond` is the older name of, is
    max(m, n) times the resolution of the dtype unless atol is given. `hermitian`: A is Hermitian, by its lower
    triangle.
    """
    need_matrices("linalg.pinv", A)
    if hermitian:
        need_square("linalg.pinv", A)
        A = A.tril() + A.tril(-1).mH
    atol, rtol = tolerances(A, atol, rtol if rcond is None else rcond)
    if isinstance(atol, _C.Tensor) or isinstance(rtol, _C.Tensor):
        return _scaled_pinv(A, atol, rtol)
    return operators.pseudo_inverse(A, atol, rtol, hermitian)


def _scaled_pinv(A, atol, rtol):
    """pinv() with a tolerance for each matrix."""
    u, s, vh = decompositions.singular(A, False)
    atol, rtol = [t.unsqueeze(-1) if isinstance(t, _C.Tensor) else t for t in (atol, rtol)]
    bound = s.amax(-1, keepdim=True) * rtol
    kept = (s > bound) & (s > atol)
    inverted = _C.where(kept, 1 / _C.where(kept, s, 1), 0).to(A.dtype)
    return (vh.mH * inverted.unsqueeze(-2)) @ u.mH


def tolerances(A, atol, rtol):
    """Both as numbers, or tensors of one for each matrix."""
    if rtol is None:
        absolute = isinstance(atol, _C.Tensor) or bool(atol)
        rtol = 0.0 if absolute else max(A.shape[-2:]) * finfo(A.dtype).eps
    return [t if isinstance(t, _C.Tensor) else float(t or 0.0) for t in (atol, rtol)]


@takes_out
def tensorinv(A, ind=2):
    """The inverse of A seen as a matrix from its dimensions from `ind` on to those before."""
    if ind <= 0:
        raise RuntimeError("linalg.tensorinv: ind has to be a positive integer")
    rows, columns = A.shape[:ind], A.shape[ind:]
    if _count(rows) != _count(columns):
        raise RuntimeError(f"linalg.tensorinv: A of sizes {tuple(A.shape)} is no square matrix at ind={ind}")
    return inv(A.reshape(_count(rows), -1)).reshape(*columns, *rows)


@takes_out
def tensorsolve(A, B, dims=None):
    """X with tensordot(A, X, X.dim()) = B; the dimensions `dims` of A are moved to its end first."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.dim() - len(dims), A.dim())))
    wanted = A.shape[B.dim() :]
    if _count(wanted) != B.numel() or A.numel() != B.numel() ** 2:
        raise RuntimeError(f"linalg.tensorsolve: A of sizes {tuple(A.shape)} and B of {tuple(B.shape)} do not fit")
    return solve(A.reshape(B.numel(), -1), B.reshape(-1)).reshape(wanted)


def _count(sizes):
    product = 1
    for size in sizes:
        product *= size
    return product


def vander(x, N=None):
    """Rows 1, x, x^2, ... of N powers (as many as x has elements): (..., n) to (..., n, N)."""
    count = x.shape[-1] if N is None and x.dim() else N
    if count is None or count < 2:
        raise RuntimeError("linalg.vander: N has to be greater than 1")
    powers = _C.arange(count, device=x.device)
    return x.unsqueeze(-1) ** powers


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, a view."""
    return A.diagonal(offset, dim1, dim2)

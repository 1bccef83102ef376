"""Square systems, determinants and inverses of batches of matrices, (..., n, n) of float32 or float64.

Gradients of any order flow, in compiled functions too, where each call is one node of the graph. `out=` is not here.
"""

from collections import namedtuple

from .. import _C
from .._limits import finfo
from . import LinAlgError, operators
from .arguments import broadcast_batches, need_matrices, need_square, refuse_out

_made = {}


def result_type(name, fields):
    """The named tuple that torch calls `name`."""
    return _made.setdefault(name, namedtuple(name, fields, module=f"{_C.__name__.partition('.')[0]}.return_types"))


_SignAndLog = result_type("linalg_slogdet", "sign logabsdet")
_InverseAndInfo = result_type("linalg_inv_ex", "inverse info")
_FactorAndInfo = result_type("linalg_cholesky_ex", "L info")
_SolutionAndInfo = result_type("linalg_solve_ex", "result info")


def inv(A, *, out=None):
    """The inverses. LinAlgError for a singular matrix."""
    refuse_out("linalg.inv", out)
    need_square("linalg.inv", A)
    return operators.inverse(A)


def det(A, *, out=None):
    """The determinants, of shape (...). For singular matrices the gradient is right, and has none in turn."""
    refuse_out("linalg.det", out)
    need_square("linalg.det", A)
    return operators.determinant(A)


def slogdet(A, *, out=None):
    """(sign, logabsdet), each of shape (...): the determinants are sign * exp(logabsdet); 0 and -inf where singular."""
    refuse_out("linalg.slogdet", out)
    need_square("linalg.slogdet", A)
    return _SignAndLog(*operators.sign_and_log_determinant(A))


def cholesky(A, *, upper=False, out=None):
    """Lower triangular L with L @ L.mT = A, or its transpose with `upper`. Only the lower triangle of A is read, and
    with `upper` the upper one. LinAlgError for a matrix that is not positive definite."""
    refuse_out("linalg.cholesky", out)
    need_square("linalg.cholesky", A)
    return operators.cholesky(A.mT).mT if upper else operators.cholesky(A)


def _each(A, function):
    """`function` of each matrix of a batch and whether it failed, as tensors; what failed is NaN."""
    found, info = [], []
    for matrix in A.reshape(-1, *A.shape[-2:]).unbind(0) if A.numel() else ():
        try:
            found.append(function(matrix))
            info.append(0)
        except LinAlgError:
            found.append(_C.full_like(matrix, float("nan")))
            info.append(1)
    values = _C.stack(found).reshape(A.shape) if found else A.new_empty(A.shape)
    return values, _C.tensor(info, dtype=_C.int32).reshape(A.shape[:-2])


def inv_ex(A, *, check_errors=False, out=None):
    """(inverse, info): info is 0, or 1 where a matrix is singular and its inverse NaN."""
    refuse_out("linalg.inv_ex", out)
    need_square("linalg.inv_ex", A)
    return _InverseAndInfo(*_each(A, inv)) if not check_errors else _InverseAndInfo(inv(A), _no_errors(A))


def cholesky_ex(A, *, upper=False, check_errors=False, out=None):
    """(L, info): info is 0, or 1 where a matrix is not positive definite and its factor NaN."""
    refuse_out("linalg.cholesky_ex", out)
    need_square("linalg.cholesky_ex", A)
    if check_errors:
        return _FactorAndInfo(cholesky(A, upper=upper), _no_errors(A))
    return _FactorAndInfo(*_each(A, lambda matrix: cholesky(matrix, upper=upper)))


def solve_ex(A, B, *, left=True, check_errors=False, out=None):
    """(result, info): as solve(), which raises LinAlgError, and info 0."""
    refuse_out("linalg.solve_ex", out)
    return _SolutionAndInfo(solve(A, B, left=left), _no_errors(A))


def _no_errors(A):
    return _C.zeros(A.shape[:-2], dtype=_C.int32)


def solve(A, B, *, left=True, out=None):
    """X with A @ X = B, or X @ A = B if not `left`, for B of shape (..., n, k).

    B is a batch of vectors if it is (n,), or is of A's shape without the last dimension. Batch dimensions are
    broadcast. LinAlgError for a singular matrix, RuntimeError for sizes or dtypes that do not fit.
    """
    refuse_out("linalg.solve", out)
    need_square("linalg.solve", A)
    vectors = B.dim() == 1 or (A.dim() - 1 == B.dim() and B.shape == A.shape[:-1])
    if vectors and not left:
        raise ValueError("linalg.solve: vectors B are solved for with left=True only")
    if vectors:
        return solve(A, B.unsqueeze(-1)).squeeze(-1)
    if not left:
        return solve(A.mT, B.mT).mT
    return operators.solve(*broadcast_batches("linalg.solve", A, B))


def solve_triangular(A, B, *, upper, left=True, unitriangular=False, out=None):
    """X with A @ X = B, or X @ A = B if not `left`. The other triangle of A is not read, nor its diagonal if
    `unitriangular`, which takes it to be 1. inf where a diagonal has a 0."""
    refuse_out("linalg.solve_triangular", out)
    need_square("linalg.solve_triangular", A)
    need_matrices("linalg.solve_triangular", B, "B")
    if not left:
        return solve_triangular(A.mT, B.mT, upper=not upper, unitriangular=unitriangular).mT
    return operators.solve_triangular(*broadcast_batches("linalg.solve_triangular", A, B), upper, unitriangular)


def matrix_exp(A):
    """The exponentials of matrices, the sums of A^k / k!."""
    need_square("linalg.matrix_exp", A)
    return operators.exponential(A)


def pinv(A, *, atol=None, rtol=None, hermitian=False, out=None):
    """The Moore-Penrose inverses, (..., n, m) of (..., m, n).

    Singular values not above max(atol, rtol * the largest) count as 0; rtol is max(m, n) times the resolution of the
    dtype unless atol is given. `hermitian`: A is symmetric, by its lower triangle.
    """
    refuse_out("linalg.pinv", out)
    need_matrices("linalg.pinv", A)
    if hermitian:
        need_square("linalg.pinv", A)
        A = A.tril() + A.tril(-1).mT
    return operators.pseudo_inverse(A, *tolerances(A, atol, rtol), hermitian)


def tolerances(A, atol, rtol):
    """Both as numbers."""
    if isinstance(atol, _C.Tensor) or isinstance(rtol, _C.Tensor):
        raise NotImplementedError("atol and rtol of one number each are here, not tensors of them")
    if rtol is None:
        rtol = 0.0 if atol else max(A.shape[-2:]) * finfo(A.dtype).eps
    return float(atol or 0.0), float(rtol)


def tensorinv(A, ind=2, *, out=None):
    """The inverse of A seen as a matrix from its dimensions from `ind` on to those before."""
    refuse_out("linalg.tensorinv", out)
    if ind <= 0:
        raise RuntimeError("linalg.tensorinv: ind has to be a positive integer")
    rows, columns = A.shape[:ind], A.shape[ind:]
    if _count(rows) != _count(columns):
        raise RuntimeError(f"linalg.tensorinv: A of sizes {tuple(A.shape)} is no square matrix at ind={ind}")
    return inv(A.reshape(_count(rows), -1)).reshape(*columns, *rows)


def tensorsolve(A, B, dims=None, *, out=None):
    """X with tensordot(A, X, X.dim()) = B; the dimensions `dims` of A are moved to its end first."""
    refuse_out("linalg.tensorsolve", out)
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
    powers = _C.arange(x.shape[-1] if N is None else N, device=x.device)
    return x.unsqueeze(-1) ** powers


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, a view."""
    return A.diagonal(offset, dim1, dim2)

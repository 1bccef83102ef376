"""Functions of torch's own namespace, and methods of tensors, that torch.linalg has under its own names and forms."""

from .. import _C
from . import complex_matrices, matrices, operators, spectra
from .arguments import need_square, refuse_out
from .matrices import result_type

_SignAndLog = result_type("slogdet", "sign logabsdet")
_Triangular = result_type("triangular_solve", "solution cloned_coefficient")
_Orthogonal = result_type("qr", "Q R")
_Singular = result_type("svd", "U S V")


def det(input):
    """linalg.det()."""
    return matrices.det(input)


def slogdet(input, *, out=None):
    """linalg.slogdet()."""
    return _SignAndLog(*matrices.slogdet(input, out=out))


def logdet(input):
    """The logarithms of determinants: NaN of negative ones, -inf of 0."""
    need_square("logdet", input)
    sign, logarithm = operators.sign_and_log_determinant(input)
    return _C.where(sign < 0, float("nan"), logarithm)


def inverse(input, *, out=None):
    """linalg.inv()."""
    return matrices.inv(input, out=out)


def pinverse(input, rcond=1e-15):
    """linalg.pinv(), singular values not above rcond times the largest counting as 0."""
    return matrices.pinv(input, rtol=rcond)


def matrix_exp(input):
    """linalg.matrix_exp()."""
    return matrices.matrix_exp(input)


def cholesky(input, upper=False, *, out=None):
    """linalg.cholesky()."""
    return matrices.cholesky(input, upper=upper, out=out)


def cholesky_solve(input, L, upper=False, *, out=None):
    """X with (L @ L.mT) @ X = input, or (L.mT @ L) @ X = input if `upper`."""
    refuse_out("cholesky_solve", out)
    inner = matrices.solve_triangular(L.mT if upper else L, input, upper=False)
    return matrices.solve_triangular(L if upper else L.mT, inner, upper=True)


def cholesky_inverse(L, upper=False, *, out=None):
    """The inverse of L @ L.mT, or of L.mT @ L if `upper`."""
    refuse_out("cholesky_inverse", out)
    need_square("cholesky_inverse", L)
    return cholesky_solve(_C.eye(L.shape[-1], dtype=L.dtype, device=L.device), L, upper)


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False, *, out=None):
    """(solution, A) of A @ X = b, or A.mT @ X = b if `transpose`; linalg.solve_triangular() gives X alone."""
    refuse_out("triangular_solve", out)
    matrix = A.mT if transpose else A
    solution = matrices.solve_triangular(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    return _Triangular(solution, A.clone())


def qr(input, some=True, *, out=None):
    """linalg.qr(), complete if not `some`."""
    return _Orthogonal(*spectra.qr(input, "reduced" if some else "complete", out=out))


def svd(input, some=True, compute_uv=True, *, out=None):
    """(U, S, V) with input = U @ diag(S) @ V.mT; U and V are 0 unless `compute_uv`, and square unless `some`."""
    u, s, vh = spectra.svd(input, not some, out=out)
    if not compute_uv:
        u, vh = _C.zeros_like(u), _C.zeros_like(vh)
    return _Singular(u, s, vh.mT)


complex_matrices.for_both(globals(), complex_matrices.OLDER)

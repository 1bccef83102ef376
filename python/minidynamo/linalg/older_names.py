"""Functions of torch's own namespace, and methods of tensors, that torch.linalg has under its own names and forms."""

from .. import _C
from . import factors, matrices, operators, spectra
from .arguments import need_square, takes_out
from .factors import geqrf as geqrf
from .factors import ormqr as ormqr
from .matrices import result_type

_SignAndLog = result_type("slogdet", "sign logabsdet")
_Triangular = result_type("triangular_solve", "solution cloned_coefficient")
_Orthogonal = result_type("qr", "Q R")
_Singular = result_type("svd", "U S V")
_LuWithInfo = result_type("_lu_with_info", "LU pivots info")


@_C._overridable
def det(input):
    """linalg.det()."""
    return matrices.det(input)


@takes_out
@_C._overridable
def slogdet(input):
    """linalg.slogdet()."""
    return _SignAndLog(*matrices.slogdet(input))


@_C._overridable
def logdet(input):
    """The logarithms of determinants: NaN of negative ones, -inf of 0; complex ones of complex matrices."""
    need_square("logdet", input)
    if input.is_complex():
        return operators.determinant(input).log()
    sign, logarithm = operators.sign_and_log_determinant(input)
    return _C.where(sign < 0, float("nan"), logarithm)


@takes_out
@_C._overridable
def inverse(input):
    """linalg.inv()."""
    return matrices.inv(input)


@_C._overridable
def pinverse(input, rcond=1e-15):
    """linalg.pinv(), singular values not above rcond times the largest counting as 0."""
    return matrices.pinv(input, rtol=rcond)


@_C._overridable
def matrix_exp(input):
    """linalg.matrix_exp()."""
    return matrices.matrix_exp(input)


@_C._overridable
def matrix_power(input, n, *, out=None):
    """linalg.matrix_power()."""
    return matrices.matrix_power(input, n, out=out)


@takes_out
@_C._overridable
def cholesky(input, upper=False):
    """linalg.cholesky()."""
    return matrices.cholesky(input, upper=upper)


@takes_out
@_C._overridable
def cholesky_solve(input, L, upper=False):
    """X with (L @ L.mH) @ X = input, or (L.mH @ L) @ X = input if `upper`."""
    inner = matrices.solve_triangular(L.mH if upper else L, input, upper=False)
    return matrices.solve_triangular(L if upper else L.mH, inner, upper=True)


@takes_out
@_C._overridable
def cholesky_inverse(L, upper=False):
    """The inverse of L @ L.mH, or of L.mH @ L if `upper`."""
    need_square("cholesky_inverse", L)
    return cholesky_solve(_C.eye(L.shape[-1], dtype=L.dtype, device=L.device), L, upper)


@takes_out
@_C._overridable
def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """(solution, A) of A @ X = b, or A.mT @ X = b if `transpose`; linalg.solve_triangular() gives X alone."""
    matrix = A.mT if transpose else A
    solution = matrices.solve_triangular(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    return _Triangular(solution, A.clone())


@takes_out
@_C._overridable
def qr(input, some=True):
    """linalg.qr(), complete if not `some`."""
    return _Orthogonal(*spectra.qr(input, "reduced" if some else "complete"))


@takes_out
@_C._overridable
def svd(input, some=True, compute_uv=True):
    """(U, S, V) with input = U @ diag(S) @ V.mH; both square unless `some`, and 0 and square unless
    `compute_uv`."""
    if not compute_uv:
        u, vh = [input.new_zeros((*input.shape[:-2], n, n)) for n in input.shape[-2:]]
        return _Singular(u, spectra.svdvals(input), vh)
    u, s, vh = spectra.svd(input, not some)
    return _Singular(u, s, vh.mH)


@_C._overridable
def orgqr(input, tau, *, out=None):
    """linalg.householder_product()."""
    return factors.householder_product(input, tau, out=out)


def lu(A, pivot=True, get_infos=False, out=None):
    """(LU, pivots), with `get_infos` also info, of linalg.lu_factor_ex(). RuntimeError for a zero pivot without."""
    found = tuple((factors.lu_factor_ex if get_infos else factors.lu_factor)(A, pivot=pivot))
    if out is not None:
        for given, value in zip(out, found):
            given.resize_(value.shape).copy_(value)
        found = tuple(out)
    return _LuWithInfo(*found) if get_infos else tuple(found)


@_C._overridable
def lu_solve(b, LU_data, LU_pivots, *, out=None):
    """linalg.lu_solve() with b in front."""
    return factors.lu_solve(LU_data, LU_pivots, b, out=out)

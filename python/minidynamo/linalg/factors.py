"""LU, LDL and Householder factors of batches of matrices, what is solved with them, and least squares."""

from .. import _C
from .._limits import finfo
from ..functional import broadcast_sizes
from . import factor_operators as operators
from .arguments import is_vectors, need_matrices, need_square, takes_out
from .matrices import result_type, solve_triangular

_Factors = result_type("linalg_lu_factor", "LU pivots")
_FactorsAndInfo = result_type("linalg_lu_factor_ex", "LU pivots info")
_Parts = result_type("linalg_lu", "P L U")
_Unpacked = result_type("lu_unpack", "P L U")
_Symmetric = result_type("linalg_ldl_factor", "LD pivots")
_SymmetricAndInfo = result_type("linalg_ldl_factor_ex", "LD pivots info")
_Householder = result_type("geqrf", "a tau")
_LeastSquares = result_type("linalg_lstsq", "solution residuals rank singular_values")
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _need_pivots(name, pivot):
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not there on the CPU")


@takes_out
def lu_factor(A, *, pivot=True):
    """(LU, pivots): U above and L below the diagonal of one matrix, and row swaps counted from 1, int32.

    RuntimeError for a matrix with a zero pivot, for which lu_factor_ex() and lu() have factors, and for `pivot=False`.
    """
    _need_pivots("linalg.lu_factor", pivot)
    need_matrices("linalg.lu_factor", A)
    return _Factors(*operators.lu_factor_checked(A)[:2])


@takes_out
def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """(LU, pivots, info): as lu_factor(); info is the place of the first zero pivot, 0 if there is none."""
    _need_pivots("linalg.lu_factor_ex", pivot)
    need_matrices("linalg.lu_factor_ex", A)
    return _FactorsAndInfo(*(operators.lu_factor_checked if check_errors else operators.lu_factor)(A))


@takes_out
def lu(A, *, pivot=True):
    """(P, L, U) with A = P @ L @ U: a permutation, (..., m, k) with ones on the diagonal, (..., k, n)."""
    _need_pivots("linalg.lu", pivot)
    need_matrices("linalg.lu", A)
    factors, pivots, _ = operators.lu_factor(A)
    return _Parts(*lu_unpack(factors, pivots))


@takes_out
@_C._overridable
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """(P, L, U) of what lu_factor() gives; without elements what is not to be unpacked."""
    if unpack_pivots and LU_pivots.dtype is not _C.int32:
        raise RuntimeError(
            f"lu_unpack: pivots are int32, as of linalg.lu_factor(), and were given as {LU_pivots.dtype}"
        )
    need_matrices("lu_unpack", LU_data, "LU_data")
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    none = LU_data.new_empty(0)
    p = operators.permutation(LU_pivots, m).to(LU_data.dtype) if unpack_pivots else none
    if not unpack_data:
        return _Unpacked(p, none, none)
    unit = _C.eye(m, k, dtype=LU_data.dtype, device=LU_data.device)
    return _Unpacked(p, LU_data[..., :k].tril(-1) + unit, LU_data[..., :k, :].triu())


@takes_out
def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """X with A @ X = B of the A whose lu_factor() is given; with A.mH if `adjoint`, X @ A = B if not `left`."""
    need_square("linalg.lu_solve", LU)
    need_matrices("linalg.lu_solve", B, "B")
    if pivots.dtype is not _C.int32:
        raise RuntimeError(
            f"linalg.lu_solve: pivots are int32, as of linalg.lu_factor(), and were given as {pivots.dtype}"
        )
    if not left:
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    permuted = operators.permutation(pivots, LU.shape[-1]).to(LU.dtype)
    if adjoint:
        inner = solve_triangular(LU.mH, B, upper=False)
        return permuted @ solve_triangular(LU.mH, inner, upper=True, unitriangular=True)
    inner = solve_triangular(LU, permuted.mT @ B, upper=False, unitriangular=True)
    return solve_triangular(LU, inner, upper=True)


@takes_out
def ldl_factor(A, *, hermitian=False):
    """(LD, pivots) of symmetric matrices, complex ones Hermitian if `hermitian`, by their lower triangles: D's and L's
    elements in one matrix."""
    return _Symmetric(*ldl_factor_ex(A, hermitian=hermitian)[:2])


@takes_out
def ldl_factor_ex(A, *, hermitian=False, check_errors=False):
    """(LD, pivots, info): info is the place of the first zero on D's diagonal, 0 if there is none."""
    need_square("linalg.ldl_factor_ex", A)
    found = _SymmetricAndInfo(*operators.ldl_factor(A, bool(hermitian)))
    if check_errors and bool((found.info != 0).any()):
        raise RuntimeError("linalg.ldl_factor_ex: D has a zero on its diagonal")
    return found


@takes_out
def ldl_solve(LD, pivots, B, *, hermitian=False):
    """X with A @ X = B of the A whose ldl_factor() is given."""
    need_square("linalg.ldl_solve", LD)
    need_matrices("linalg.ldl_solve", B, "B")
    if pivots.dtype is not _C.int32:
        raise RuntimeError(f"linalg.ldl_solve: pivots are int32, as of linalg.ldl_factor(), and are {pivots.dtype}")
    batch = broadcast_sizes(LD.shape[:-2], B.shape[:-2])
    given = LD.expand(*batch, *LD.shape[-2:]), pivots.expand(*batch, pivots.shape[-1])
    return operators.ldl_solve(*given, B.expand(*batch, *B.shape[-2:]), bool(hermitian))


def _reflected(vectors, tau, x, backwards):
    """The product of Householder's reflections I - tau v v^H with x, of their adjoints unless `backwards`; v_i is 0
    above i and 1 there."""
    rows = vectors.shape[-2]
    order = range(tau.shape[-1])
    for i in reversed(order) if backwards else order:
        one = _C.zeros(rows, 1, dtype=x.dtype, device=x.device)
        one[i] = 1
        v = _C.cat([vectors.new_zeros((*vectors.shape[:-2], i + 1, 1)), vectors[..., i + 1 :, i : i + 1]], -2) + one
        factor = tau[..., i, None, None]
        x = x - (factor if backwards else factor.conj()) * (v @ (v.mH @ x))
    return x


@takes_out
def householder_product(A, tau):
    """The first n columns of the product of the reflections whose vectors are below the diagonal of A (..., m, n)."""
    need_matrices("linalg.householder_product", A)
    m, n = A.shape[-2:]
    if m < n:
        raise RuntimeError("linalg.householder_product: A has at least as many rows as columns")
    if tau.shape[-1] > n:
        raise RuntimeError("linalg.householder_product: tau has at most as many elements as A has columns")
    if tau.shape[:-1] != A.shape[:-2]:
        raise RuntimeError(f"linalg.householder_product: A is of sizes {tuple(A.shape)} and tau of {tuple(tau.shape)}")
    if tau.dtype is not A.dtype:
        raise RuntimeError(f"linalg.householder_product: A is {A.dtype} and tau {tau.dtype}")
    eye = _C.eye(m, n, dtype=A.dtype, device=A.device).expand(*A.shape[:-2], m, n)
    return _reflected(A, tau, eye, True)


@takes_out
@_C._overridable
def ormqr(input, tau, other, left=True, transpose=False):
    """Q @ other, Q.mH if `transpose`, or other @ Q if not `left`, for the square Q of geqrf()."""
    need_matrices("ormqr", input, "input")
    need_matrices("ormqr", other, "other")
    if input.shape[-2] != other.shape[-2 if left else -1]:
        raise RuntimeError(f"ormqr: input of sizes {tuple(input.shape)} does not fit other of {tuple(other.shape)}")
    if not left:
        return _reflected(input, tau, other.mH, transpose).mH
    return _reflected(input, tau, other, not transpose)


@takes_out
@_C._overridable
def geqrf(input):
    """(a, tau): R above and Householder's vectors below the diagonal of one matrix, and their factors."""
    need_matrices("geqrf", input, "input")
    return _Householder(*operators.geqrf(input))


def _all_are(rank, n):
    """Whether every matrix, inside vmap of every example, has rank n."""
    levels = _C._batch_levels(rank)
    return bool(((_C._without_levels(rank, levels) if levels else rank) == n).all())


def lstsq(A, B, rcond=None, *, driver=None):
    """(solution, residuals, rank, singular_values) of the least squares problem |A X - B|, of least |X| among those.

    `driver` is one of LAPACK's: "gelsy" (the default), "gels" for matrices of full rank, "gelsd" and "gelss", which
    have singular values. Residuals are squares of lengths, by columns, where there are more rows than columns and all
    ranks are full; not of gelsy. What a driver does not say is without elements.
    """
    driver = "gelsy" if driver is None else driver
    if driver not in _DRIVERS:
        raise RuntimeError(f"linalg.lstsq: the driver is one of {', '.join(_DRIVERS)}, and was given as {driver!r}")
    need_matrices("linalg.lstsq", A)
    if A.dtype is not B.dtype:
        raise RuntimeError(f"linalg.lstsq: A and B must have one dtype, but A is {A.dtype} and B is {B.dtype}")
    if B.dim() == 0 or A.dim() - B.dim() not in (0, 1):
        raise RuntimeError("linalg.lstsq: B has as many dimensions as A, or one less")
    vectors = is_vectors(A, B) or A.dim() - 1 == B.dim()
    right = B.unsqueeze(-1) if vectors else B
    m, n = A.shape[-2:]
    if right.shape[-2] != m:
        raise RuntimeError(f"linalg.lstsq: A has {m} rows and B {right.shape[-2]}")
    batch = broadcast_sizes(A.shape[:-2], right.shape[:-2])
    A, right = A.expand(*batch, m, n), right.expand(*batch, *right.shape[-2:])
    rcond = max(m, n) * finfo(A.dtype).eps if rcond is None else float(rcond)
    solution, residuals, rank, values = operators.least_squares(A, right, rcond, driver)
    none = A.new_empty(0, dtype=A.dtype.to_real())
    if driver == "gelsy" or m <= n or (driver != "gels" and not _all_are(rank, n)):
        residuals = none
    return _LeastSquares(
        solution.squeeze(-1) if vectors else solution,
        residuals,
        rank.new_empty(0) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else none,
    )

"""The functions of torch.linalg for complex matrices, and eigenvalues of matrices that need not be symmetric.

Importing this gives the functions of matrices.py, spectra.py and factors.py these ones, which they call for complex
matrices.
"""

from .. import _C
from .._limits import finfo
from . import LinAlgError, complex_operators, factors, matrices, spectra
from .matrices import result_type

_Eigen = result_type("linalg_eig", "eigenvalues eigenvectors")
_SignAndLog = result_type("linalg_slogdet", "sign logabsdet")
_InverseAndInfo = result_type("linalg_inv_ex", "inverse info")
_FactorAndInfo = result_type("linalg_cholesky_ex", "L info")
_SolutionAndInfo = result_type("linalg_solve_ex", "result info")
_HermitianEigen = result_type("linalg_eigh", "eigenvalues eigenvectors")
_Singular = result_type("linalg_svd", "U S Vh")
_OlderSingular = result_type("svd", "U S V")
_Orthogonal = result_type("linalg_qr", "Q R")
_LeastSquares = result_type("linalg_lstsq", "solution residuals rank singular_values")


def _need_matrices(name, a, letter="A"):
    if not isinstance(a, _C.Tensor):
        raise TypeError(f"{name}(): argument '{letter}' must be Tensor, not {type(a).__name__}")
    if a.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {letter} must have at least 2 dimensions.")
    if not (a.is_floating_point() or a.is_complex()):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {a.dtype}")


def _need_square(name, a):
    _need_matrices(name, a)
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )


def eig(A, *, out=None):
    """(eigenvalues, eigenvectors) of square matrices, complex, vectors of length 1 as columns; in no order."""
    _need_square("linalg.eig", A)
    return _filled(_Eigen(*complex_operators.eigen(A)), out)


def eigvals(A, *, out=None):
    """The eigenvalues of eig()."""
    _need_square("linalg.eigvals", A)
    return _filled(complex_operators.eigen(A)[0], out)


def _filled(result, out):
    if out is None:
        return result
    for given, value in zip(out, result) if isinstance(result, tuple) else ((out, result),):
        if given.shape != value.shape:
            given.resize_(value.shape)
        given.copy_(value)
    return out


# --- what stands in for the functions for real matrices ---------------------------------------------------------------


def inv(A):
    _need_square("linalg.inv", A)
    return complex_operators.inverse(A)


def det(A):
    _need_square("linalg.det", A)
    return complex_operators.determinant(A)


def slogdet(A):
    _need_square("linalg.slogdet", A)
    return _SignAndLog(*complex_operators.sign_and_log_determinant(A))


def logdet(A):
    _need_square("linalg.logdet", A)
    return complex_operators.determinant(A).log()


def cholesky(A, *, upper=False):
    _need_square("linalg.cholesky", A)
    return complex_operators.cholesky(A.mH).mH if upper else complex_operators.cholesky(A)


def _no_errors(A):
    return _C.zeros(A.shape[:-2], dtype=_C.int32)


def _each(A, function):
    found, info = [], []
    for matrix in A.reshape(-1, *A.shape[-2:]).unbind(0) if A.numel() else ():
        try:
            found.append(function(matrix))
            info.append(0)
        except LinAlgError:
            found.append(_C.full_like(matrix, complex(float("nan"), float("nan"))))
            info.append(1)
    values = _C.stack(found).reshape(A.shape) if found else A.new_empty(A.shape)
    return values, _C.tensor(info, dtype=_C.int32).reshape(A.shape[:-2])


def inv_ex(A, *, check_errors=False):
    _need_square("linalg.inv_ex", A)
    found = (inv(A), _no_errors(A)) if check_errors else _each(A, inv)
    return _InverseAndInfo(*found)


def cholesky_ex(A, *, upper=False, check_errors=False):
    def factor(matrix):
        return cholesky(matrix, upper=upper)

    found = (factor(A), _no_errors(A)) if check_errors else _each(A, factor)
    return _FactorAndInfo(*found)


def _meeting(name, A, B):
    """Both with equal batch dimensions and one dtype."""
    _need_matrices(name, B, "B")
    if A.dtype != B.dtype:
        raise RuntimeError(f"{name}: A and B must have one dtype, but A is {A.dtype} and B is {B.dtype}")
    if A.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation AX = B "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    batch = (A[..., 0, 0].real + B[..., 0, 0].real).shape if A.numel() and B.numel() else A.shape[:-2]
    return A.expand(*batch, *A.shape[-2:]), B.expand(*batch, *B.shape[-2:])


def solve(A, B, *, left=True):
    _need_square("linalg.solve", A)
    if B.dim() == 1 or (A.dim() - 1 == B.dim() and B.shape == A.shape[:-1]):
        return solve(A, B.unsqueeze(-1)).squeeze(-1)
    if not left:
        return solve(A.mT, B.mT).mT
    return complex_operators.solve(*_meeting("linalg.solve", A, B))


def solve_ex(A, B, *, left=True, check_errors=False):
    return _SolutionAndInfo(solve(A, B, left=left), _no_errors(A))


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    _need_square("linalg.solve_triangular", A)
    if not left:
        return solve_triangular(A.mT, B.mT, upper=not upper, unitriangular=unitriangular).mT
    A, B = _meeting("linalg.solve_triangular", A, B)
    return complex_operators.solve_triangular(A, B, upper, unitriangular)


def matrix_exp(A):
    _need_square("linalg.matrix_exp", A)
    return complex_operators.exponential(A)


def matrix_power(A, n):
    _need_square("linalg.matrix_power", A)
    if n < 0:
        A, n = inv(A), -n
    return _C.matrix_power(A, n)


def eigh(A, UPLO="L"):
    _need_square("linalg.eigh", A)
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return _HermitianEigen(*complex_operators.hermitian_eigen(A, UPLO.upper()))


def eigvalsh(A, UPLO="L"):
    return eigh(A, UPLO)[0]


def svd(A, full_matrices=True, *, driver=None):
    _need_matrices("linalg.svd", A)
    return _Singular(*complex_operators.singular(A, bool(full_matrices)))


def older_svd(A, some=True, compute_uv=True):
    u, s, vh = complex_operators.singular(A, not some)
    if not compute_uv:
        u, vh = _C.zeros_like(u), _C.zeros_like(vh)
    return _OlderSingular(u, s, vh.mH)


def svdvals(A, *, driver=None):
    return svd(A, False)[1]


def qr(A, mode="reduced"):
    _need_matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected 'reduced', 'r', or 'complete'")
    return _Orthogonal(*complex_operators.orthogonal(A, mode))


def _least_kept(A, largest, atol, rtol):
    rtol = (0.0 if atol else max(A.shape[-2:]) * finfo(A.dtype.to_real()).eps) if rtol is None else rtol
    return (largest * rtol).clamp_min(atol or 0.0)


def pinv(A, *, atol=None, rtol=None, hermitian=False):
    _need_matrices("linalg.pinv", A)
    u, s, vh = complex_operators.singular(A, False)
    if s.shape[-1] == 0:
        return A.new_zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]))
    kept = s > _least_kept(A, s.detach().amax(-1, keepdim=True), atol, rtol)
    inverted = _C.where(kept, 1 / _C.where(kept, s, 1), 0)
    return (vh.mH * inverted.unsqueeze(-2)) @ u.mH


def matrix_rank(A, tol=None, *, atol=None, rtol=None, hermitian=False):
    values = eigvalsh(A).abs() if hermitian else svdvals(A)
    if values.shape[-1] == 0:
        return _C.zeros(A.shape[:-2], dtype=_C.int64)
    return (values > _least_kept(A, values.amax(-1, keepdim=True), atol if tol is None else tol, rtol)).sum(-1)


def cond(A, p=None):
    if p in (None, 2, -2):
        values = svdvals(A)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    _need_square("linalg.cond", A)
    found, info = inv_ex(A)
    return _C.where(info == 0, spectra.matrix_norm(A, p) * spectra.matrix_norm(found, p), float("inf"))


def lstsq(A, B, rcond=None, *, driver=None):
    vectors = B.dim() == 1 or (A.dim() - 1 == B.dim() and B.shape == A.shape[:-1])
    solution = pinv(A, rtol=rcond) @ (B.unsqueeze(-1) if vectors else B)
    empty = A.new_empty(0, dtype=A.dtype.to_real())
    rank = matrix_rank(A.detach(), rtol=rcond)
    made = _LeastSquares
    return made(solution.squeeze(-1) if vectors else solution, empty, rank, empty)


def cholesky_solve(B, L, upper=False):
    factor = L.mH if upper else L
    return solve_triangular(factor.mH, solve_triangular(factor, B, upper=False), upper=True)


def cholesky_inverse(L, upper=False):
    factor = L.mH if upper else L
    return inv(factor @ factor.mH)


_OF_LINALG = (
    "inv det slogdet cholesky inv_ex cholesky_ex solve solve_ex solve_triangular matrix_exp matrix_power eigh eigvalsh "
    "svd svdvals qr pinv matrix_rank cond lstsq"
).split()
# Of the names outside of torch.linalg; others there call these.
OLDER = {
    "logdet": logdet,
    "svd": older_svd,
    "cholesky_solve": cholesky_solve,
    "cholesky_inverse": cholesky_inverse,
}


def _for_both(of_real, of_complex):
    def function(A, *args, **kwargs):
        if not (isinstance(A, _C.Tensor) and A.is_complex()):
            return of_real(A, *args, **kwargs)
        out = kwargs.pop("out", None)
        return _filled(of_complex(A, *args, **kwargs), out)

    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(function, name, getattr(of_real, name))
    return function


def for_both(namespace, of_complex):
    """Replaces functions of a module for real matrices by ones that take complex ones as well."""
    for name, function in of_complex.items():
        if name in namespace:
            namespace[name] = _for_both(namespace[name], function)


for _module in (matrices, spectra, factors):
    for_both(vars(_module), {name: globals()[name] for name in _OF_LINALG})

"""Eigenvalues, singular values, QR, and what is made of them: norms, ranks, condition numbers."""

from .. import _C
from . import _table_matrix_norm, _table_norm, decompositions
from .arguments import need_matrices, need_square, takes_out
from .matrices import inv_ex, result_type, tolerances

_Eigen = result_type("linalg_eigh", "eigenvalues eigenvectors")
_GeneralEigen = result_type("linalg_eig", "eigenvalues eigenvectors")
_Singular = result_type("linalg_svd", "U S Vh")
_Orthogonal = result_type("linalg_qr", "Q R")
_OF_SINGULAR_VALUES = (2, -2, "nuc")
_LAST_TWO = (-2, -1)


@takes_out
def eigh(A, UPLO="L"):
    """(eigenvalues, eigenvectors) of Hermitian matrices, ascending, vectors as columns. One triangle of A is read."""
    need_square("linalg.eigh", A)
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return _Eigen(*decompositions.eigen(A, UPLO.upper()))


@takes_out
def eigvalsh(A, UPLO="L"):
    """The eigenvalues of eigh()."""
    return eigh(A, UPLO)[0]


@takes_out
def eig(A):
    """(eigenvalues, eigenvectors) of square matrices, complex, vectors of length 1 as columns; in no order."""
    need_square("linalg.eig", A)
    return _GeneralEigen(*decompositions.general_eigen(A))


@takes_out
def eigvals(A):
    """The eigenvalues of eig()."""
    need_square("linalg.eigvals", A)
    return decompositions.general_eigen(A)[0]


@takes_out
def svd(A, full_matrices=True, *, driver=None):
    """(U, S, Vh) with A = U @ diag(S) @ Vh, S descending; of min(m, n) columns and rows unless `full_matrices`."""
    if driver is not None:
        raise RuntimeError("linalg.svd: keyword argument `driver` is only supported on CUDA inputs")
    need_matrices("linalg.svd", A)
    return _Singular(*decompositions.singular(A, bool(full_matrices)))


@takes_out
def svdvals(A, *, driver=None):
    """The singular values, (..., min(m, n)), descending."""
    return svd(A, False, driver=driver)[1]


@takes_out
def qr(A, mode="reduced"):
    """(Q, R) with A = Q @ R. `mode`: "reduced", "complete" (Q is square), or "r" (Q is empty)."""
    need_matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected 'reduced', 'r', or 'complete'")
    return _Orthogonal(*decompositions.orthogonal(A, mode))


def _of_singular_values(A, ord, dim, keepdim, dtype):
    values = svdvals(A.movedim(tuple(dim), (-2, -1)).to(dtype or A.dtype))
    if ord == "nuc" or (ord == 2 and values.shape[-1] == 0):
        found = values.sum(-1)
    else:
        found = values.amax(-1) if ord == 2 else values.amin(-1)
    if keepdim:
        for d in sorted(d % A.dim() for d in dim):
            found = found.unsqueeze(d)
    return found


def _by_table(function, A, *options):
    """The op with what differs from its defaults: of a traced A one node, written as briefly as it was called."""
    given = {}
    for name, value, default in options:
        if value is not default:
            given[name] = value
    return function(A, **given)


@takes_out
def matrix_norm(A, ord="fro", dim=_LAST_TWO, keepdim=False, *, dtype=None):
    """Norms of matrices: "fro", "nuc", inf, -inf, 1, -1, and 2 and -2, the largest and smallest singular value."""
    if ord not in _OF_SINGULAR_VALUES or not isinstance(A, _C.Tensor):
        options = ("keepdim", keepdim, False), ("dtype", dtype, None)
        return _by_table(_table_matrix_norm, A, ("ord", ord, "fro"), ("dim", dim, _LAST_TWO), *options)
    if A.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if len(dim) != 2 or dim[0] % A.dim() == dim[1] % A.dim():
        raise RuntimeError(f"linalg.matrix_norm: dim must be two different dimensions. Got {tuple(dim)}")
    return _of_singular_values(A, ord, dim, keepdim, dtype)


@takes_out
def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """vector_norm() where one dimension is meant, or `ord` is None; matrix_norm() where two are."""
    if ord not in _OF_SINGULAR_VALUES or not isinstance(A, _C.Tensor):
        options = ("keepdim", keepdim, False), ("dtype", dtype, None)
        return _by_table(_table_norm, A, ("ord", ord, None), ("dim", dim, None), *options)
    two = A.dim() == 2 if dim is None else isinstance(dim, (tuple, list)) and len(dim) == 2
    if ord == "nuc" and not two:
        if dim is None and A.dim() > 2:
            raise RuntimeError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.dim()}D."
            )
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if two:
        return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    return _table_norm(A, ord, dim, keepdim, dtype=dtype)


@takes_out
def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None):
    """How many singular values are above max(atol, rtol * the largest), int64 (...); see pinv() for the defaults.

    `hermitian`: of eigenvalues, by their absolute values. `tol` is the older name of atol, with no rtol beside it.
    """
    need_matrices("linalg.matrix_rank", A)
    values = eigvalsh(A).abs() if hermitian else svdvals(A)
    absolute, relative = (tol, 0.0) if tol is not None else tolerances(A, atol, rtol)
    if values.shape[-1] == 0:
        return _C.zeros(A.shape[:-2], dtype=_C.int64, device=A.device)
    absolute, relative = [t.unsqueeze(-1) if isinstance(t, _C.Tensor) else t for t in (absolute, relative)]
    bound = values.amax(-1, keepdim=True) * relative
    if isinstance(absolute, _C.Tensor):
        bound = _C.maximum(bound, absolute.to(bound.dtype))
    else:
        bound = bound.clamp_min(absolute)
    return (values > bound).sum(-1)


@takes_out
def cond(A, p=None):
    """Condition numbers norm(A) * norm(A^-1) by a matrix norm, 2 by default; inf where A is singular."""
    need_matrices("linalg.cond", A)
    if p not in (None, 2, -2, 1, -1, "fro", "nuc", float("inf"), -float("inf")):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p in (None, 2, -2):
        values = svdvals(A)
        if values.shape[-1] == 0:
            return values.new_zeros(A.shape[:-2])
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    need_square("linalg.cond", A)
    if A.shape[-1] == 0:
        return A.new_zeros(A.shape[:-2], dtype=A.dtype.to_real())
    inverse, info = inv_ex(A)
    return _C.where(info == 0, matrix_norm(A, p) * matrix_norm(inverse, p), float("inf"))

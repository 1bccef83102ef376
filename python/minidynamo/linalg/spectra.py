"""Eigenvalues, singular values, QR, and what is made of them: norms, ranks, condition numbers. Real matrices only."""

from .. import _C
from . import _table_matrix_norm, _table_norm, decompositions
from .arguments import need_matrices, need_square, refuse_out
from .matrices import inv_ex, pinv, result_type, tolerances

_Eigen = result_type("linalg_eigh", "eigenvalues eigenvectors")
_Singular = result_type("linalg_svd", "U S Vh")
_Orthogonal = result_type("linalg_qr", "Q R")
_LeastSquares = result_type("linalg_lstsq", "solution residuals rank singular_values")
_OF_SINGULAR_VALUES = (2, -2, "nuc")
_LAST_TWO = (-2, -1)


def eigh(A, UPLO="L", *, out=None):
    """(eigenvalues, eigenvectors) of symmetric matrices, ascending, vectors as columns. One triangle of A is read."""
    refuse_out("linalg.eigh", out)
    need_square("linalg.eigh", A)
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return _Eigen(*decompositions.eigen(A, UPLO.upper()))


def eigvalsh(A, UPLO="L", *, out=None):
    """The eigenvalues of eigh()."""
    return eigh(A, UPLO, out=out)[0]


def svd(A, full_matrices=True, *, driver=None, out=None):
    """(U, S, Vh) with A = U @ diag(S) @ Vh, S descending; of min(m, n) columns and rows unless `full_matrices`."""
    refuse_out("linalg.svd", out)
    if driver is not None:
        raise RuntimeError("linalg.svd: keyword argument `driver` is only supported on CUDA inputs")
    need_matrices("linalg.svd", A)
    return _Singular(*decompositions.singular(A, bool(full_matrices)))


def svdvals(A, *, driver=None, out=None):
    """The singular values, (..., min(m, n)), descending."""
    return svd(A, False, driver=driver, out=out)[1]


def qr(A, mode="reduced", *, out=None):
    """(Q, R) with A = Q @ R. `mode`: "reduced", "complete" (Q is square), or "r" (Q is empty)."""
    refuse_out("linalg.qr", out)
    need_matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected 'reduced', 'r', or 'complete'")
    return _Orthogonal(*decompositions.orthogonal(A, mode))


def _of_singular_values(A, ord, dim, keepdim, dtype):
    values = svdvals(A.movedim(tuple(dim), (-2, -1)).to(dtype or A.dtype))
    found = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
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


def matrix_norm(A, ord="fro", dim=_LAST_TWO, keepdim=False, *, dtype=None, out=None):
    """Norms of matrices: "fro", "nuc", inf, -inf, 1, -1, and 2 and -2, the largest and smallest singular value."""
    if ord not in _OF_SINGULAR_VALUES or not isinstance(A, _C.Tensor):
        options = ("keepdim", keepdim, False), ("dtype", dtype, None), ("out", out, None)
        return _by_table(_table_matrix_norm, A, ("ord", ord, "fro"), ("dim", dim, _LAST_TWO), *options)
    refuse_out("linalg.matrix_norm", out)
    if A.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if len(dim) != 2 or dim[0] % A.dim() == dim[1] % A.dim():
        raise RuntimeError(f"linalg.matrix_norm: dim must be two different dimensions. Got {tuple(dim)}")
    return _of_singular_values(A, ord, dim, keepdim, dtype)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None, out=None):
    """vector_norm() where one dimension is meant, or `ord` is None; matrix_norm() where two are."""
    if ord not in _OF_SINGULAR_VALUES or not isinstance(A, _C.Tensor):
        options = ("keepdim", keepdim, False), ("dtype", dtype, None), ("out", out, None)
        return _by_table(_table_norm, A, ("ord", ord, None), ("dim", dim, None), *options)
    two = A.dim() == 2 if dim is None else isinstance(dim, (tuple, list)) and len(dim) == 2
    if ord == "nuc" and not two:
        if dim is None and A.dim() > 2:
            raise RuntimeError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.dim()}D."
            )
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if two:
        return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype, out=out)
    return _table_norm(A, ord, dim, keepdim, dtype=dtype, **({} if out is None else {"out": out}))


def matrix_rank(A, tol=None, *, atol=None, rtol=None, hermitian=False, out=None):
    """How many singular values are above max(atol, rtol * the largest), int64 (...); see pinv() for the defaults.

    `hermitian`: of eigenvalues, by their absolute values. `tol` is the older name of atol.
    """
    refuse_out("linalg.matrix_rank", out)
    need_matrices("linalg.matrix_rank", A)
    values = eigvalsh(A).abs() if hermitian else svdvals(A)
    absolute, relative = tolerances(A, atol if tol is None else tol, rtol)
    if values.shape[-1] == 0:
        return _C.zeros(A.shape[:-2], dtype=_C.int64)
    bound = (values.amax(-1, keepdim=True) * relative).clamp_min(absolute)
    return (values > bound).sum(-1)


def cond(A, p=None, *, out=None):
    """Condition numbers norm(A) * norm(A^-1) by a matrix norm, 2 by default; inf where A is singular."""
    refuse_out("linalg.cond", out)
    need_matrices("linalg.cond", A)
    if p not in (None, 2, -2, 1, -1, "fro", "nuc", float("inf"), -float("inf")):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p in (None, 2, -2):
        values = svdvals(A)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    need_square("linalg.cond", A)
    inverse, info = inv_ex(A)
    return _C.where(info == 0, matrix_norm(A, p) * matrix_norm(inverse, p), float("inf"))


def lstsq(A, B, rcond=None, *, driver=None):
    """(solution, residuals, rank, singular_values) of the least squares problem |A X - B|, of least |X| among those.

    As with the driver "gelsy" of torch, residuals and singular_values are empty; other drivers are not here.
    """
    if driver not in (None, "gelsy"):
        raise NotImplementedError(f"linalg.lstsq: the driver is 'gelsy' here, not {driver!r}")
    need_matrices("linalg.lstsq", A)
    vectors = B.dim() == 1 or (A.dim() - 1 == B.dim() and B.shape == A.shape[:-1])
    right = B.unsqueeze(-1) if vectors else B
    solution = pinv(A, rtol=rcond) @ right
    rank = matrix_rank(A.detach(), rtol=rcond)
    return _LeastSquares(solution.squeeze(-1) if vectors else solution, A.new_empty(0), rank, A.new_empty(0))

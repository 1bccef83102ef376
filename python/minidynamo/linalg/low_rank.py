"""A few singular values or eigenvalues of large matrices, as torch's own namespace has them."""

from .. import _C
from . import matrices, spectra
from .arguments import need_matrices, need_square


def _dense(a):
    return a.to_dense() if a.is_sparse else a


def _range_of(a, q, niter, mean):
    """Orthonormal columns that nearly span what A - mean maps to: N. Halko and others, "Finding structure with
    randomness" (2011), algorithm 4.4."""

    def apply(x):
        return a @ x if mean is None else a @ x - mean @ x

    def apply_transposed(x):
        return a.mH @ x if mean is None else a.mH @ x - mean.mH @ x

    columns = spectra.qr(apply(_C.randn(a.shape[-1], q, dtype=a.dtype, device=a.device)))[0]
    for _ in range(niter):
        columns = spectra.qr(apply_transposed(columns))[0]
        columns = spectra.qr(apply(columns))[0]
    return columns, apply_transposed


def svd_lowrank(A, q=6, niter=2, M=None):
    """(U, S, V) with U @ diag(S) @ V.mH near A, or A - M: about the q largest singular values, by random projections.

    `niter` is how often the projection is improved. Random numbers are those of the default generator.
    """
    A = _dense(A)
    need_matrices("svd_lowrank", A)
    mean = None if M is None else M.expand(A.shape)
    if A.shape[-2] < A.shape[-1]:
        v, s, u = svd_lowrank(A.mH, q, niter, None if mean is None else mean.mH)
        return u, s, v
    columns, apply_transposed = _range_of(A, q, niter, mean)
    u, s, vh = spectra.svd(apply_transposed(columns).mH, False)
    return columns @ u, s, vh.mH


def pca_lowrank(A, q=None, center=True, niter=2):
    """svd_lowrank() of A, less the means of its columns if `center`; q is 6 or A's smaller size by default."""
    A = _dense(A)
    need_matrices("pca_lowrank", A)
    smaller = min(A.shape[-2:])
    q = min(6, smaller) if q is None else q
    if not 0 <= q <= smaller:
        raise ValueError(f"pca_lowrank: q is not negative and at most {smaller}, the smaller size of A, and is {q}")
    if niter < 0:
        raise ValueError(f"pca_lowrank: niter must not be negative, and is {niter}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


@_C._overridable
def lobpcg(
    A,
    k=None,
    B=None,
    X=None,
    n=None,
    iK=None,
    niter=None,
    tol=None,
    largest=None,
    method=None,
    tracker=None,
    ortho_iparams=None,
    ortho_fparams=None,
    ortho_bparams=None,
):
    """(E, X): the k largest eigenvalues, or smallest if not `largest`, with A @ X = B @ X @ diag(E), of symmetric A and
    B positive definite.

    Found by whole factorizations: what says how to iterate (X but for its number of columns, iK, niter, tol, method,
    tracker, ...) changes nothing. ValueError for fewer than 3 k rows, as the iteration needs.
    """
    A = _dense(A)
    need_square("lobpcg", A)
    if k is None:
        k = 1 if X is None else X.shape[-1]
    if A.shape[-1] < 3 * k:
        raise ValueError(
            f"lobpcg: the rows of A are at least 3 times the eigenvalues; {A.shape[-1]} are too few for {k}"
        )
    if B is None:
        values, vectors = spectra.eigh(A)
    else:
        # With B = L L^T and X = L^-T Y this is L^-1 A L^-T Y = Y diag(E).
        factor = matrices.cholesky(_dense(B))
        half = matrices.solve_triangular(factor, A, upper=False)
        values, inner = spectra.eigh(matrices.solve_triangular(factor, half.mT, upper=False))
        vectors = matrices.solve_triangular(factor.mT, inner, upper=True)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], vectors[..., :k]

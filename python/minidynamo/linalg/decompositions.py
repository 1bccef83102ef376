"""Operators for decompositions: values by NumPy's LAPACK, gradients by formulas made of differentiable ops.

The gradients of vectors exist where the values they belong to are distinct; elsewhere they are inf or NaN. What a loss
does not depend on, such as the vectors where it takes the values only, takes no part.
"""

import numpy as np

from .. import _C
from . import LinAlgError
from .operators import array, columns_like, define, matrix_of, real_like, solve, solve_triangular, tensor_of


def _from_lapack(name, function, a, *args, **kwargs):
    """As in torch NaN is refused, and with infinite elements every result is NaN."""
    read = (
        a if name != "eigh" else np.tril(a) if args[0] == "L" else np.triu(a)
    )  # of eigh the other half does not count
    infinite = np.asarray(~np.isfinite(read).all((-2, -1)) & (name != "qr"))
    if infinite.any():
        if np.isnan(read).any() or name == "eig":
            raise LinAlgError(
                f"linalg.{name}: the algorithm does not converge for a matrix with NaN or infinite elements"
            )
        a = np.where(infinite[..., None, None], 0, a)
    if name == "eigh" and not np.isfinite(a).all():
        a = np.where(np.isfinite(a), a, 0)
    try:
        found = function(a, *args, **kwargs)
        for x in found if infinite.any() else ():
            x[infinite] = np.nan
        return tuple([matrix_of(x) if x.ndim == a.ndim else tensor_of(x) for x in found])
    except np.linalg.LinAlgError:
        raise LinAlgError(f"linalg.{name}: the algorithm did not converge") from None


def _reciprocal_gaps(values):
    """1 / (v_j - v_i) at (i, j), and 0 on the diagonal."""
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    own = _C.eye(values.shape[-1], dtype=_C.bool, device=values.device)
    return _C.where(own, 0, 1 / _C.where(own, 1, gaps))


# --- eigenvalues ------------------------------------------------------------------------------------------------------


def _save_with(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.others = inputs[1:]
    ctx.set_materialize_grads(False)


def _eigen_backward(ctx, of_values, of_vectors):
    # V (diag(G_L) + skew(V^H G_V) / (l_j - l_i)) V^H: Giles (2008), section 3.1.
    if of_values is None and of_vectors is None:
        return None, None
    values, vectors = eigen(ctx.saved_tensors[0], *ctx.others)
    inner = 0 if of_values is None else of_values.diag_embed()
    if of_vectors is not None:
        turned = vectors.mH @ of_vectors
        inner = inner + 0.5 * (turned - turned.mH) * _reciprocal_gaps(values)
    return vectors @ inner.to(vectors.dtype) @ vectors.mH, None


eigen = define(
    "eigh",
    "(Tensor A, str UPLO) -> (Tensor eigenvalues, Tensor eigenvectors)",
    lambda a, uplo: _from_lapack("eigh", np.linalg.eigh, array(a), uplo),
    lambda a, uplo: (real_like(a, a.shape[:-1]), columns_like(a, a.shape)),
    _eigen_backward,
    _save_with,
)


def _general_eigen(a):
    values, vectors = np.linalg.eig(a)
    wanted = np.result_type(a.dtype, np.complex64)
    return values.astype(wanted), vectors.astype(wanted)


def _general_eigen_backward(ctx, of_values, of_vectors):
    # V^-H (diag(G_L) + (V^H G_V - V^H V diag(Re(diag(V^H G_V)))) / conj(l_j - l_i)) V^H; the diagonal of the second
    # part does not count, for the vectors have length 1.
    (a,) = ctx.saved_tensors
    if of_values is None and of_vectors is None:
        return None
    values, vectors = general_eigen(a)
    turned = vectors.mH
    inner = 0 if of_values is None else of_values.diag_embed()
    if of_vectors is not None:
        moved = turned @ of_vectors
        lengths = moved.diagonal(dim1=-2, dim2=-1).real.unsqueeze(-2)
        inner = inner + (moved - turned @ (vectors * lengths)) * _reciprocal_gaps(values).conj()
    found = solve(turned, inner @ turned)
    return found if a.is_complex() else found.real


general_eigen = define(
    "eig",
    "(Tensor A) -> (Tensor eigenvalues, Tensor eigenvectors)",
    lambda a: _from_lapack("eig", _general_eigen, array(a)),
    lambda a: (
        a.new_empty(a.shape[:-1], dtype=a.dtype.to_complex()),
        columns_like(a, a.shape, a.dtype.to_complex()),
    ),
    _general_eigen_backward,
    _save_with,
)


# --- singular values --------------------------------------------------------------------------------------------------


def _singular_shapes(a, full):
    *batch, m, n = a.shape
    k = min(m, n)
    rows, columns = (m, n) if full else (k, k)
    return columns_like(a, (*batch, m, rows)), real_like(a, (*batch, k)), columns_like(a, (*batch, columns, n))


def _singular_backward(ctx, of_u, of_s, of_vh):
    # J. Townsend, "Differentiating the singular value decomposition" (2016), for the thin one: of full matrices, the
    # further columns of U and rows of V^H are not determined by A. The phases of complex vectors turn together: that is
    # the diagonal i Im(diag(U^H G_U)) / S.
    a, full = ctx.saved_tensors[0], ctx.others[0]
    if of_u is None and of_s is None and of_vh is None:
        return None, None
    k = min(a.shape[-2:])
    if full and a.shape[-1] != a.shape[-2]:
        longer = of_u if a.shape[-2] > k else of_vh
        if longer is not None:
            of_u, of_vh = (None if of_u is None else of_u[..., :k]), (None if of_vh is None else of_vh[..., :k, :])
    u, s, vh = singular(a, False)
    inner = 0 if of_s is None else of_s.diag_embed()
    outer = 0
    gaps = _reciprocal_gaps(s.square())
    if of_u is not None:
        turned = u.mH @ of_u
        skew = turned - turned.mH
        inner = inner + skew * gaps * s.unsqueeze(-2)
        if a.is_complex():
            inner = inner + (skew.diagonal(dim1=-2, dim2=-1) / (2 * s)).diag_embed()
        outer = outer + ((of_u - u @ turned) / s.unsqueeze(-2)) @ vh
    if of_vh is not None:
        turned = vh @ of_vh.mH
        inner = inner + s.unsqueeze(-1) * (turned - turned.mH) * gaps
        outer = outer + u @ ((of_vh - turned.mH @ vh) / s.unsqueeze(-1))
    return u @ inner.to(u.dtype) @ vh + outer, None


singular = define(
    "svd",
    "(Tensor A, bool full_matrices) -> (Tensor U, Tensor S, Tensor Vh)",
    lambda a, full: _from_lapack("svd", np.linalg.svd, array(a), full_matrices=full),
    _singular_shapes,
    _singular_backward,
    _save_with,
)


# --- orthogonal and triangular ----------------------------------------------------------------------------------------


def _orthogonal(a, mode):
    if mode == "r":
        return tensor_of(np.empty((0,), array(a).dtype)), matrix_of(np.linalg.qr(array(a), "r"))
    return _from_lapack("qr", np.linalg.qr, array(a), mode)


def _orthogonal_shapes(a, mode):
    *batch, m, n = a.shape
    k = m if mode == "complete" else min(m, n)
    q = a.new_empty((0,)) if mode == "r" else columns_like(a, (*batch, m, k))
    return q, columns_like(a, (*batch, k, n))


def _square_backward(q, r, of_q, of_r):
    """For Q R with square R: (G_Q + Q S) R^-H, where S is Hermitian with the lower triangle of R G_R^H - G_Q^H Q."""
    m = -of_q.mH @ q if of_r is None else r @ of_r.mH - (0 if of_q is None else of_q.mH @ q)
    lower = m.tril()
    inner = lower + m.tril(-1).mH
    if m.is_complex():  # the diagonal of a Hermitian matrix is real
        inner = inner - 1j * lower.diagonal(dim1=-2, dim2=-1).imag.diag_embed()
    right = q @ inner if of_q is None else q @ inner + of_q
    return solve_triangular(r, right.mH, True, False).mH


def _orthogonal_backward(ctx, of_q, of_r):
    # D. Roberts and L. Roberts, "QR and LQ decomposition matrix backpropagation algorithms" (2020).
    a, mode = ctx.saved_tensors[0], ctx.others[0]
    m, n = a.shape[-2:]
    if mode == "r":
        raise RuntimeError("linalg.qr(): the derivative depends on Q, which mode='r' does not compute: use 'reduced'")
    if mode == "complete" and m > n:
        raise RuntimeError("linalg.qr() is not differentiable with mode='complete' for more rows than columns")
    if of_q is None and of_r is None:
        return None, None
    q, r = orthogonal(a, "reduced")
    if m >= n:
        return _square_backward(q, r, of_q, of_r), None
    # A = [X | Y] = Q [U | V]: Y takes part through V = Q^H Y.
    of_u, of_v = (None, None) if of_r is None else (of_r[..., :m], of_r[..., m:])
    through = of_q
    if of_v is not None:
        through = a[..., m:] @ of_v.mH if of_q is None else of_q + a[..., m:] @ of_v.mH
    of_x = _square_backward(q, r[..., :m], through, of_u)
    of_y = _C.zeros_like(a[..., m:]) if of_v is None else q @ of_v
    return _C.cat([of_x, of_y], -1), None


orthogonal = define(
    "qr",
    '(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)',
    _orthogonal,
    _orthogonal_shapes,
    _orthogonal_backward,
    _save_with,
)

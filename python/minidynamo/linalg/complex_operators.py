"""Operators for complex matrices, and eigenvalues of any: values by NumPy's LAPACK, gradients by formulas made of the
same operators. G is the gradient of a result, in torch's convention: the loss changes by Re(sum(conj(G) * change)).

The formulas are those for real matrices (operators.py, decompositions.py) with conjugate transposes; what differs is
said where it does.
"""

import numpy as np

from .. import _C
from . import LinAlgError
from .operators import array, define, tensor_of
from .operators import exponential as exponential


def _real_like(a, shape):
    return a.new_empty(shape, dtype=a.dtype.to_real())


def _computed(name, function, *args, **kwargs):
    try:
        found = function(*args, **kwargs)
    except np.linalg.LinAlgError:
        raise LinAlgError(f"linalg.{name}: a matrix is singular, or the algorithm did not converge") from None
    return tuple([tensor_of(x) for x in found]) if isinstance(found, tuple) else tensor_of(found)


def _save_first(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.others = inputs[1:]
    ctx.set_materialize_grads(False)


def _save_both(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:2])
    ctx.others = inputs[2:]


# --- square systems ---------------------------------------------------------------------------------------------------


def _inverse_backward(ctx, g):
    turned = inverse(ctx.saved_tensors[0]).mH
    return -turned @ g @ turned


inverse = define(
    "complex_inv",
    "(Tensor A) -> Tensor",
    lambda a: _computed("inv", np.linalg.inv, array(a)),
    lambda a: a.new_empty(a.shape),
    _inverse_backward,
    _save_first,
)


def _solve_backward(ctx, g):
    a, b = ctx.saved_tensors
    of_b = solve(a.mH, g)
    return -of_b @ solve(a, b).mH if ctx.needs_input_grad[0] else None, of_b


solve = define(
    "complex_solve",
    "(Tensor A, Tensor B) -> Tensor",
    lambda a, b: _computed("solve", np.linalg.solve, array(a), array(b)),
    lambda a, b: b.new_empty(b.shape),
    _solve_backward,
    _save_both,
)


def _triangle(a, upper, unit):
    part = np.triu(a, 1) if upper and unit else np.triu(a) if upper else np.tril(a, -1 if unit else 0)
    return part + np.eye(a.shape[-1], dtype=a.dtype) if unit else part


def _solve_triangular(a, b, upper, unit):
    try:
        return tensor_of(np.linalg.solve(_triangle(array(a), upper, unit), array(b)))
    except np.linalg.LinAlgError:  # a zero on the diagonal
        return tensor_of(np.full_like(array(b), np.inf))


def _solve_triangular_backward(ctx, g):
    a, b = ctx.saved_tensors
    upper, unit = ctx.others
    of_b = solve_triangular(a.mH, g, not upper, unit)
    if not ctx.needs_input_grad[0]:
        return None, of_b, None, None
    of_a = -of_b @ solve_triangular(a, b, upper, unit).mH
    return of_a.triu(1 if unit else 0) if upper else of_a.tril(-1 if unit else 0), of_b, None, None


solve_triangular = define(
    "complex_solve_triangular",
    "(Tensor A, Tensor B, bool upper, bool unitriangular) -> Tensor",
    _solve_triangular,
    lambda a, b, upper, unit: b.new_empty(b.shape),
    _solve_triangular_backward,
    _save_both,
)


def _cofactors(a):
    """The conjugate derivative of the determinant, also of singular matrices: by singular values, as for real ones."""
    u, s, vh = np.linalg.svd(array(a))
    n = s.shape[-1]
    others = np.broadcast_to(s[..., None, :], (*s.shape, n)).copy()
    others[..., np.arange(n), np.arange(n)] = 1
    phase = np.conj(np.linalg.det(u) * np.linalg.det(vh))
    return tensor_of(phase[..., None, None] * u * others.prod(-1)[..., None, :] @ vh)


def _determinant_backward(ctx, g):
    # G conj(det(A)) A^-H
    (a,) = ctx.saved_tensors
    value = determinant(a)
    if bool((value == 0).any()):
        return g[..., None, None] * _cofactors(a)
    return (g * value.conj())[..., None, None] * inverse(a).mH


determinant = define(
    "complex_det",
    "(Tensor A) -> Tensor",
    lambda a: _computed("det", np.linalg.det, array(a)),
    lambda a: a.new_empty(a.shape[:-2]),
    _determinant_backward,
    _save_first,
)


def _logarithm_backward(ctx, of_sign, of_logarithm):
    # (G_log + i Im(G_sign conj(sign))) A^-H: the sign turns with the imaginary part of what the logarithm grows by.
    (a,) = ctx.saved_tensors
    factor = 0 if of_logarithm is None else of_logarithm
    if of_sign is not None:
        factor = factor + 1j * (of_sign * sign_and_log_determinant(a)[0].conj()).imag
    return factor[..., None, None] * inverse(a).mH


sign_and_log_determinant = define(
    "complex_slogdet",
    "(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    lambda a: _computed("slogdet", lambda x: tuple(np.linalg.slogdet(x)), array(a)),
    lambda a: (a.new_empty(a.shape[:-2]), _real_like(a, a.shape[:-2])),
    _logarithm_backward,
    _save_first,
)


def _cholesky_backward(ctx, g):
    factor = cholesky(ctx.saved_tensors[0])
    inner = (factor.mH @ g).tril()
    inner = inner - 0.5 * inner.diagonal(dim1=-2, dim2=-1).diag_embed()
    left = solve_triangular(factor.mH, inner, True, False)
    whole = solve_triangular(factor.mH, left.mH, True, False).mH
    return 0.5 * (whole + whole.mH)


cholesky = define(
    "complex_cholesky",
    "(Tensor A) -> Tensor",
    lambda a: _computed("cholesky", np.linalg.cholesky, array(a)),
    lambda a: a.new_empty(a.shape),
    _cholesky_backward,
    _save_first,
)


# --- decompositions ---------------------------------------------------------------------------------------------------


def _reciprocal_gaps(values):
    """1 / (v_j - v_i) at (i, j), and 0 on the diagonal."""
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    own = _C.eye(values.shape[-1], dtype=_C.bool, device=values.device)
    return _C.where(own, 0, 1 / _C.where(own, 1, gaps))


def _hermitian_backward(ctx, of_values, of_vectors):
    if of_values is None and of_vectors is None:
        return None, None
    values, vectors = hermitian_eigen(ctx.saved_tensors[0], *ctx.others)
    inner = 0 if of_values is None else of_values.diag_embed()
    if of_vectors is not None:
        turned = vectors.mH @ of_vectors
        inner = inner + 0.5 * (turned - turned.mH) * _reciprocal_gaps(values)
    return vectors @ inner.to(vectors.dtype) @ vectors.mH, None


hermitian_eigen = define(
    "complex_eigh",
    "(Tensor A, str UPLO) -> (Tensor eigenvalues, Tensor eigenvectors)",
    lambda a, uplo: _computed("eigh", lambda x: tuple(np.linalg.eigh(x, uplo)), array(a)),
    lambda a, uplo: (_real_like(a, a.shape[:-1]), a.new_empty(a.shape)),
    _hermitian_backward,
    _save_first,
)


def _eigen(a):
    values, vectors = np.linalg.eig(array(a))
    wanted = np.result_type(array(a).dtype, np.complex64)
    return values.astype(wanted), vectors.astype(wanted)


def _eigen_backward(ctx, of_values, of_vectors):
    # V^-H (diag(G_L) + (V^H G_V - V^H V diag(Re(diag(V^H G_V)))) / conj(l_j - l_i)) V^H; the diagonal of the second
    # part does not count, for the vectors have length 1.
    (a,) = ctx.saved_tensors
    if of_values is None and of_vectors is None:
        return None
    values, vectors = eigen(a)
    turned = vectors.mH
    inner = 0 if of_values is None else of_values.diag_embed()
    if of_vectors is not None:
        moved = turned @ of_vectors
        lengths = moved.diagonal(dim1=-2, dim2=-1).real.unsqueeze(-2)
        inner = inner + (moved - turned @ (vectors * lengths)) * _reciprocal_gaps(values).conj()
    found = solve(turned, inner @ turned)
    return found if a.is_complex() else found.real


eigen = define(
    "eig",
    "(Tensor A) -> (Tensor eigenvalues, Tensor eigenvectors)",
    lambda a: _computed("eig", _eigen, a),
    lambda a: (
        a.new_empty(a.shape[:-1], dtype=a.dtype.to_complex()),
        a.new_empty(a.shape, dtype=a.dtype.to_complex()),
    ),
    _eigen_backward,
    _save_first,
)


def _singular_shapes(a, full):
    *batch, m, n = a.shape
    k = min(m, n)
    rows, columns = (m, n) if full else (k, k)
    return a.new_empty((*batch, m, rows)), _real_like(a, (*batch, k)), a.new_empty((*batch, columns, n))


def _singular_backward(ctx, of_u, of_s, of_vh):
    # As for real matrices, and on the diagonal i Im(diag(U^H G_U)) / S: the phases of both vectors turn together.
    a, full = ctx.saved_tensors[0], ctx.others[0]
    if of_u is None and of_s is None and of_vh is None:
        return None, None
    k = min(a.shape[-2:])
    if full and a.shape[-1] != a.shape[-2]:
        of_u, of_vh = (None if of_u is None else of_u[..., :k]), (None if of_vh is None else of_vh[..., :k, :])
    u, s, vh = singular(a, False)
    inner = 0 if of_s is None else of_s.diag_embed()
    outer = 0
    gaps = _reciprocal_gaps(s.square())
    if of_u is not None:
        turned = u.mH @ of_u
        skew = turned - turned.mH
        inner = inner + skew * gaps * s.unsqueeze(-2)
        inner = inner + (skew.diagonal(dim1=-2, dim2=-1) / (2 * s)).diag_embed()
        outer = outer + ((of_u - u @ turned) / s.unsqueeze(-2)) @ vh
    if of_vh is not None:
        turned = vh @ of_vh.mH
        inner = inner + s.unsqueeze(-1) * (turned - turned.mH) * gaps
        outer = outer + u @ ((of_vh - turned.mH @ vh) / s.unsqueeze(-1))
    return u @ inner.to(u.dtype) @ vh + outer, None


singular = define(
    "complex_svd",
    "(Tensor A, bool full_matrices) -> (Tensor U, Tensor S, Tensor Vh)",
    lambda a, full: _computed("svd", lambda x: tuple(np.linalg.svd(x, full_matrices=full)), array(a)),
    _singular_shapes,
    _singular_backward,
    _save_first,
)


def _orthogonal(a, mode):
    if mode == "r":
        return tensor_of(np.empty((0,), array(a).dtype)), tensor_of(np.linalg.qr(array(a), "r"))
    return _computed("qr", lambda x: tuple(np.linalg.qr(x, mode)), array(a))


def _orthogonal_shapes(a, mode):
    *batch, m, n = a.shape
    k = m if mode == "complete" else min(m, n)
    return a.new_empty((0,) if mode == "r" else (*batch, m, k)), a.new_empty((*batch, k, n))


def _square_backward(q, r, of_q, of_r):
    m = -of_q.mH @ q if of_r is None else r @ of_r.mH - (0 if of_q is None else of_q.mH @ q)
    lower = m.tril()
    right = q @ (lower + m.tril(-1).mH - 1j * lower.diagonal(dim1=-2, dim2=-1).imag.diag_embed())
    right = right if of_q is None else right + of_q
    return solve_triangular(r, right.mH, True, False).mH


def _orthogonal_backward(ctx, of_q, of_r):
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
    of_u, of_v = (None, None) if of_r is None else (of_r[..., :m], of_r[..., m:])
    through = of_q
    if of_v is not None:
        through = a[..., m:] @ of_v.mH if of_q is None else of_q + a[..., m:] @ of_v.mH
    of_x = _square_backward(q, r[..., :m], through, of_u)
    of_y = _C.zeros_like(a[..., m:]) if of_v is None else q @ of_v
    return _C.cat([of_x, of_y], -1), None


orthogonal = define(
    "complex_qr",
    "(Tensor A, str mode) -> (Tensor Q, Tensor R)",
    _orthogonal,
    _orthogonal_shapes,
    _orthogonal_backward,
    _save_first,
)

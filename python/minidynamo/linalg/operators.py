"""Operators for square systems: values by LAPACK, gradients by formulas made of the same operators.

Operands are (..., n, n) matrices and (..., n, k) right sides of one float or complex dtype and equal batch dimensions;
matrices.py brings them into that form. G is the gradient of a result: the loss changes by Re(sum(conj(G) * change)). If
nothing else is said, the formulas are those of M. Giles, "An extended collection of matrix derivative results for
forward and reverse mode algorithmic differentiation" (2008), with conjugate transposes.
"""

import functools

import numpy as np

from .. import _C
from ..library import custom_op
from . import LinAlgError, lapack
from .arguments import raise_for_indefinite, raise_for_singular


def array(tensor):
    """The elements, seen by NumPy."""
    return tensor.numpy(force=True)


def tensor_of(values):
    """A tensor over memory of its own."""
    return _C.from_numpy(np.array(values, order="C"))


def _column_strides(sizes):
    """Of matrices that lie column by column, one behind the other."""
    *batch, rows, columns = sizes
    rows = max(rows, 1)
    strides, step = [1, rows], rows * max(columns, 1)
    for size in reversed(batch):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


def matrix_of(values):
    """A tensor over memory of its own, in LAPACK's order."""
    found = tensor_of(np.empty(0, values.dtype)).new_empty_strided(values.shape, _column_strides(values.shape))
    array(found)[...] = values
    return found


def columns_like(a, sizes, dtype=None):
    """What the fake of an operator gives for a result of matrix_of()."""
    return a.new_empty_strided(sizes, _column_strides(sizes), dtype=dtype or a.dtype)


def _beside_operands(compute):
    """What NumPy gives lies on the CPU: results go to the device of the operands."""

    @functools.wraps(compute)
    def placed(*args):
        found, device = compute(*args), args[0].device
        if device.type == "cpu":
            return found
        return found.to(device) if isinstance(found, _C.Tensor) else tuple([x.to(device) for x in found])

    return placed


def define(name, schema, compute, shape, backward, save):
    """The operator aten::linalg_<name>. `shape` makes results of the right sizes, `save` is its setup_context."""
    operator = custom_op(f"aten::linalg_{name}", _beside_operands(compute), mutates_args=(), schema=schema)
    operator.register_fake(shape)
    operator.register_autograd(backward, setup_context=save)
    operator._operator.batches_leading = True
    return operator


def save_result(ctx, inputs, output):
    ctx.save_for_backward(output)


def real_like(a, shape):
    """What the fake of an operator gives for real results, also of complex matrices."""
    return a.new_empty(shape, dtype=a.dtype.to_real())


def info_of(a):
    """What the fake of an operator gives for the info of each matrix."""
    return a.new_empty(a.shape[:-2], dtype=_C.int32)


def _save_first(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])


def _save_first_of(*results):
    """The first input is kept; the others of the results have no gradient."""

    def save(ctx, inputs, output):
        ctx.mark_non_differentiable(*[output[i] for i in results])
        ctx.save_for_backward(inputs[0])

    return save


def _with_info(found, info):
    return matrix_of(found), tensor_of(info)


def _inverse_and_info(a):
    a = array(a)
    factors, pivots, info = lapack.lu(a)
    return lapack.lu_solve(factors, pivots, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)), info


def _inverse(a):
    found, info = _inverse_and_info(a)
    raise_for_singular("linalg.inv", info)
    return matrix_of(found)


def _inverse_backward(ctx, g, _=None):
    # -A^-H G A^-H. The inverse is made anew from A, through which it can be differentiated again.
    transposed = inverse_with_info(ctx.saved_tensors[0])[0].mH
    return -transposed @ g @ transposed


inverse = define(
    "inv", "(Tensor A) -> Tensor", _inverse, lambda a: columns_like(a, a.shape), _inverse_backward, _save_first
)
inverse_with_info = define(
    "inv_ex",
    "(Tensor A) -> (Tensor inverse, Tensor info)",
    lambda a: _with_info(*_inverse_and_info(a)),
    lambda a: (columns_like(a, a.shape), info_of(a)),
    _inverse_backward,
    _save_first_of(1),
)


def _solve_and_info(a, b):
    factors, pivots, info = lapack.lu(array(a))
    return lapack.lu_solve(factors, pivots, array(b)), info


def _solve(a, b):
    found, info = _solve_and_info(a, b)
    raise_for_singular("linalg.solve", info)
    return matrix_of(found)


def _save_both(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:2])


def _save_both_of(ctx, inputs, output):
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(*inputs[:2])


def _solve_backward(ctx, g, _=None):
    # Of B: A^-H G. Of A: -(that) X^H.
    a, b = ctx.saved_tensors
    of_b = solve_with_info(a.mH, g)[0]
    return -of_b @ solve_with_info(a, b)[0].mH if ctx.needs_input_grad[0] else None, of_b


solve = define(
    "solve",
    "(Tensor A, Tensor B) -> Tensor",
    _solve,
    lambda a, b: columns_like(b, b.shape),
    _solve_backward,
    _save_both,
)
solve_with_info = define(
    "solve_ex",
    "(Tensor A, Tensor B) -> (Tensor result, Tensor info)",
    lambda a, b: _with_info(*_solve_and_info(a, b)),
    lambda a, b: (columns_like(b, b.shape), info_of(a)),
    _solve_backward,
    _save_both_of,
)


def _triangle(a, upper, unit):
    """The triangle that counts, of arrays."""
    part = np.triu(a, 1) if upper and unit else np.triu(a) if upper else np.tril(a, -1 if unit else 0)
    return part + np.eye(a.shape[-1], dtype=a.dtype) if unit else part


def _solve_triangular(a, b, upper, unit):
    try:
        return matrix_of(np.linalg.solve(_triangle(array(a), upper, unit), array(b)))
    except np.linalg.LinAlgError:  # a zero on the diagonal
        return matrix_of(np.full_like(array(b), np.inf))


def _save_triangular(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:2])
    ctx.upper, ctx.unit = inputs[2:]


def _solve_triangular_backward(ctx, g):
    # As of solve(), and of A the triangle that was read.
    a, b = ctx.saved_tensors
    of_b = solve_triangular(a.mH, g, not ctx.upper, ctx.unit)
    if not ctx.needs_input_grad[0]:
        return None, of_b, None, None
    of_a = -of_b @ solve_triangular(a, b, ctx.upper, ctx.unit).mH
    of_a = of_a.triu(1 if ctx.unit else 0) if ctx.upper else of_a.tril(-1 if ctx.unit else 0)
    return of_a, of_b, None, None


solve_triangular = define(
    "solve_triangular",
    "(Tensor A, Tensor B, bool upper, bool unitriangular) -> Tensor",
    _solve_triangular,
    lambda a, b, upper, unit: columns_like(b, b.shape),
    _solve_triangular_backward,
    _save_triangular,
)


def _cofactors(a):
    """The gradient of det(A), (..., n, n), also for singular A: conj(det(U V^H)) U C V^H, C the products of the other
    singular values.

    It has no gradient in turn.
    """
    u, s, vh = np.linalg.svd(array(a))
    n = s.shape[-1]
    others = np.broadcast_to(s[..., None, :], (*s.shape, n)).copy()
    others[..., np.arange(n), np.arange(n)] = 1
    phase = np.conj(np.linalg.det(u) * np.linalg.det(vh))
    return tensor_of((phase[..., None, None] * u * others.prod(-1)[..., None, :] @ vh).astype(array(a).dtype))


def _determinant_backward(ctx, g):
    # G conj(det(A)) A^-H
    (a,) = ctx.saved_tensors
    value = determinant(a)
    if bool((value == 0).any()) or not bool(value.isfinite().all()):
        return g[..., None, None] * _cofactors(a)
    return (g * value.conj())[..., None, None] * inverse(a).mH


determinant = define(
    "det",
    "(Tensor A) -> Tensor",
    lambda a: tensor_of(np.linalg.det(array(a))),
    lambda a: a.new_empty(a.shape[:-2]),
    _determinant_backward,
    _save_first,
)


def _sign_and_logarithm(a):
    sign, logarithm = np.linalg.slogdet(array(a))
    return tensor_of(np.where(np.isnan(logarithm), 0, sign).astype(sign.dtype)), tensor_of(logarithm)


def _save_for_logarithm(ctx, inputs, output):
    if not inputs[0].is_complex():
        ctx.mark_non_differentiable(output[0])
    ctx.save_for_backward(inputs[0])


def _logarithm_backward(ctx, of_sign, g):
    # G A^-H, of singular matrices the infinite limit of cofactors / determinant. The sign of a complex determinant
    # turns with the imaginary part of what its logarithm grows by.
    (a,) = ctx.saved_tensors
    if a.is_complex():
        g = g + 1j * (of_sign * sign_and_log_determinant(a)[0].conj()).imag
    values = determinant(a)
    if bool((values == 0).any()):
        return g[..., None, None] * _cofactors(a) / values.conj()[..., None, None]
    return g[..., None, None] * inverse(a).mH


sign_and_log_determinant = define(
    "slogdet",
    "(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    _sign_and_logarithm,
    lambda a: (a.new_empty(a.shape[:-2]), real_like(a, a.shape[:-2])),
    _logarithm_backward,
    _save_for_logarithm,
)


def _turned(a, upper):
    """The matrices whose lower triangles are to be read."""
    return a.swapaxes(-1, -2).conj() if upper else a


def _factor_and_info(a, upper):
    factor, info = lapack.cholesky(_turned(array(a), upper))
    return _turned(factor, upper), info


def _cholesky(a, upper):
    factor, info = _factor_and_info(a, upper)
    raise_for_indefinite("linalg.cholesky", info)
    return matrix_of(factor)


def _save_with_triangle(ctx, inputs, output):
    if isinstance(output, tuple):
        ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(inputs[0])
    ctx.upper = inputs[1]


def _cholesky_backward(ctx, g, _=None):
    # L^-H P L^-1, made Hermitian, for P = tril(L^H G) with half its diagonal: I. Murray, "Differentiation of the
    # Cholesky decomposition" (2016), equation 10.
    a, g = (ctx.saved_tensors[0].mH, g.mH) if ctx.upper else (ctx.saved_tensors[0], g)
    factor = cholesky_with_info(a, False)[0]
    inner = (factor.mH @ g).tril()
    inner = inner - 0.5 * inner.diagonal(dim1=-2, dim2=-1).diag_embed()
    left = solve_triangular(factor.mH, inner, True, False)
    whole = solve_triangular(factor.mH, left.mH, True, False).mH
    return 0.5 * (whole + whole.mH), None


cholesky = define(
    "cholesky",
    "(Tensor A, bool upper=False) -> Tensor",
    _cholesky,
    lambda a, upper: columns_like(a, a.shape),
    _cholesky_backward,
    _save_with_triangle,
)
cholesky_with_info = define(
    "cholesky_ex",
    "(Tensor A, bool upper=False) -> (Tensor L, Tensor info)",
    lambda a, upper: _with_info(*_factor_and_info(a, upper)),
    lambda a, upper: (columns_like(a, a.shape), info_of(a)),
    _cholesky_backward,
    _save_with_triangle,
)

_TAYLOR_TERMS, _TAYLOR_RADIUS = 18, 0.5  # 0.5^19 / 19! is below 1e-22


def _exponential(a):
    """Scaling and squaring: exp(A) = exp(A / 2^s)^(2^s), with Taylor's series where the 1-norm is at most a half."""
    a = array(a)
    norm = np.abs(a).sum(-2).max(initial=0)
    squarings = max(0, int(np.ceil(np.log2(norm / _TAYLOR_RADIUS)))) if np.isfinite(norm) and norm > 0 else 0
    scaled = a / 2.0**squarings
    total = term = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    for k in range(1, _TAYLOR_TERMS + 1):
        term = term @ scaled / k
        total = total + term
    for _ in range(squarings):
        total = total @ total
    return tensor_of(total.astype(a.dtype))


def _exponential_backward(ctx, g):
    # The upper right block of exp([[A^H, G], [0, A^H]]): N. Higham, "Functions of Matrices" (2008), equation 3.16.
    transposed = ctx.saved_tensors[0].mH
    n = transposed.shape[-1]
    below = _C.cat([_C.zeros_like(g), transposed], -1)
    return exponential(_C.cat([_C.cat([transposed, g], -1), below], -2))[..., :n, n:]


exponential = define(
    "matrix_exp",
    "(Tensor A) -> Tensor",
    _exponential,
    lambda a: a.new_empty(a.shape),
    _exponential_backward,
    _save_first,
)


def _pseudo_inverse(a, atol, rtol, hermitian):
    values = array(a)
    if hermitian:  # by the lower half, as eigh
        values = np.tril(values) + np.tril(values, -1).conj().swapaxes(-1, -2)
    infinite = np.asarray(~np.isfinite(values).all((-2, -1)))
    if np.isnan(values).any():
        raise LinAlgError("linalg.pinv: the algorithm does not converge for a matrix with NaN")
    u, s, vh = np.linalg.svd(np.where(infinite[..., None, None], 0, values), full_matrices=False)
    largest = s.max(-1, initial=0, keepdims=True)
    kept = s > np.maximum(np.array(atol)[..., None], np.array(rtol)[..., None] * largest)
    inverted = np.divide(1, s, out=np.zeros_like(s), where=kept)
    made = vh.conj().swapaxes(-1, -2) * inverted[..., None, :] @ u.conj().swapaxes(-1, -2)
    made[infinite] = np.nan
    return tensor_of(made)


def _save_pseudo(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.others = inputs[1:]


def pseudo_inverse_gradient(a, p, g):
    """Of A, from that of its pseudo-inverse p."""
    # -P^H G P^H + (I - A P) G^H P P^H + P^H P G^H (I - P A), from the differential of Golub and Pereyra, "The
    # differentiation of pseudo-inverses" (1973).
    first = g.mH @ p @ p.mH
    last = p.mH @ p @ g.mH
    return -p.mH @ g @ p.mH + first - a @ (p @ first) + last - (last @ p) @ a


def _pseudo_inverse_backward(ctx, g):
    (a,) = ctx.saved_tensors
    return pseudo_inverse_gradient(a, pseudo_inverse(a, *ctx.others), g), None, None, None


pseudo_inverse = define(
    "pinv",
    "(Tensor A, float atol, float rtol, bool hermitian) -> Tensor",
    _pseudo_inverse,
    lambda a, atol, rtol, hermitian: a.new_empty((*a.shape[:-2], a.shape[-1], a.shape[-2])),
    _pseudo_inverse_backward,
    _save_pseudo,
)

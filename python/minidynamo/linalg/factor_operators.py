"""Operators for factors that LAPACK keeps in one matrix: LU, LDL, Householder's vectors, and least squares by them."""

import numpy as np

from .. import _C
from . import lapack
from .arguments import raise_for_rank
from .operators import (
    array,
    columns_like,
    define,
    info_of,
    matrix_of,
    pseudo_inverse,
    pseudo_inverse_gradient,
    real_like,
    solve_triangular,
    tensor_of,
)

# --- LU ---------------------------------------------------------------------------------------------------------------


def _smaller(a):
    return min(a.shape[-2:])


def _lu_shapes(a):
    return columns_like(a, a.shape), a.new_empty((*a.shape[:-2], _smaller(a)), dtype=_C.int32), info_of(a)


def _first_by_columns(matrices, *others):
    return matrix_of(matrices), *[tensor_of(x) for x in others]


def _save_lu(ctx, inputs, output):
    ctx.mark_non_differentiable(*output[1:])
    ctx.save_for_backward(inputs[0])


def _unit_lower(part):
    return part.tril(-1) + _C.eye(part.shape[-2], part.shape[-1], dtype=part.dtype, device=part.device)


def _lu_backward(ctx, g, *_):
    # P^T A is [A1; A2] = [L1; L2] U for more rows, [A1 | A2] = L [U1 | U2] for more columns. From the differential of
    # the product: of A1, L1^-H (tril(L1^H G_L1, -1) + triu(G_U1 U1^H), less what goes through the others) U1^-H, and
    # of these G_L2 U^-H, or L^-H G_U2.
    (a,) = ctx.saved_tensors
    m, n = a.shape[-2:]
    k = _smaller(a)
    factors, pivots, _ = lu_factor(a)
    square = factors[..., :k, :k]
    lower, upper = _unit_lower(square), square.triu()
    of_lower, of_upper = g[..., :k, :k].tril(-1), g[..., :k, :k].triu()
    left, right = lower.mH @ of_lower, of_upper @ upper.mH
    others = None
    if m > k:
        others = solve_triangular(upper, g[..., k:, :].mH, True, False).mH
        right = right - factors[..., k:, :].mH @ g[..., k:, :]
    if n > k:
        others = solve_triangular(lower.mH, g[..., k:], True, True)
        left = left - g[..., k:] @ factors[..., k:].mH
    inner = solve_triangular(lower.mH, left.tril(-1) + right.triu(), True, True)
    whole = solve_triangular(upper, inner.mH, True, False).mH
    if others is not None:
        whole = _C.cat([whole, others], -2 if m > k else -1)
    return permutation(pivots, m).to(a.dtype) @ whole


lu_factor = define(
    "lu_factor_ex",
    "(Tensor A) -> (Tensor LU, Tensor pivots, Tensor info)",
    lambda a: _first_by_columns(*lapack.lu(array(a))),
    _lu_shapes,
    _lu_backward,
    _save_lu,
)


def _lu_factor_checked(a):
    factors, pivots, info = lapack.lu(array(a))
    raise_for_rank("linalg.lu_factor", info, "its pivot {} is zero: solving with the factors would divide by it")
    return _first_by_columns(factors, pivots, info)


lu_factor_checked = define(
    "lu_factor",
    "(Tensor A) -> (Tensor LU, Tensor pivots, Tensor info)",
    _lu_factor_checked,
    _lu_shapes,
    _lu_backward,
    _save_lu,
)


def _permutation(pivots, rows):
    count = int(np.prod(pivots.shape[:-1], dtype=np.int64))
    swaps = array(pivots).reshape(count, pivots.shape[-1])
    out = np.zeros((count, rows, rows), np.float32)
    for matrix, swap in zip(out, swaps):
        order = np.arange(rows)
        for i, other in enumerate(swap):
            order[[i, other - 1]] = order[[other - 1, i]]
        matrix[order, np.arange(rows)] = 1
    return tensor_of(out.reshape(*pivots.shape[:-1], rows, rows))


permutation = define(
    "lu_permutation",
    "(Tensor pivots, int rows) -> Tensor",
    _permutation,
    lambda pivots, rows: pivots.new_empty((*pivots.shape[:-1], rows, rows), dtype=_C.float32),
    lambda ctx, g: (None, None),
    lambda ctx, inputs, output: ctx.mark_non_differentiable(output),
)

# --- LDL --------------------------------------------------------------------------------------------------------------


def _has_none(name):
    def backward(ctx, *_):
        raise NotImplementedError(f"{name} has no derivative")

    return backward


def _keep_nothing(ctx, inputs, output):
    pass


def _only_first(ctx, inputs, output):
    ctx.mark_non_differentiable(*output[1:])


ldl_factor = define(
    "ldl_factor_ex",
    "(Tensor A, bool hermitian=False) -> (Tensor LD, Tensor pivots, Tensor info)",
    lambda a, hermitian: _first_by_columns(*lapack.ldl(array(a), hermitian)),
    lambda a, hermitian: (columns_like(a, a.shape), a.new_empty(a.shape[:-1], dtype=_C.int32), info_of(a)),
    _has_none("linalg.ldl_factor"),
    _only_first,
)

ldl_solve = define(
    "ldl_solve",
    "(Tensor LD, Tensor pivots, Tensor B, bool hermitian) -> Tensor",
    lambda factors, pivots, b, hermitian: matrix_of(
        lapack.ldl_solve(array(factors), array(pivots), array(b), hermitian)
    ),
    lambda factors, pivots, b, hermitian: columns_like(b, b.shape),
    _has_none("linalg.ldl_solve"),
    _keep_nothing,
)

# --- Householder's vectors --------------------------------------------------------------------------------------------

geqrf = define(
    "geqrf",
    "(Tensor A) -> (Tensor a, Tensor tau)",
    lambda a: _first_by_columns(*lapack.qr(array(a))),
    lambda a: (columns_like(a, a.shape), a.new_empty((*a.shape[:-2], _smaller(a)))),
    _has_none("geqrf"),
    _keep_nothing,
)

# --- least squares ----------------------------------------------------------------------------------------------------


def _least_squares(a, b, rcond, driver):
    solution, residuals, ranks, values, info = lapack.least_squares(array(a), array(b), rcond, driver)
    raise_for_rank("linalg.lstsq", info, "the driver found no solution, for the matrix has no full rank (info {})")
    return _first_by_columns(solution, residuals, ranks, values)


def _least_squares_shapes(a, b, rcond, driver):
    *batch, m, n = a.shape
    k = b.shape[-1]
    return (
        columns_like(a, (*batch, n, k)),
        real_like(a, (*batch, k if m > n else 0)),
        a.new_empty(tuple(batch), dtype=_C.int64),
        real_like(a, (*batch, _smaller(a))),
    )


def _save_least_squares(ctx, inputs, output):
    ctx.mark_non_differentiable(*output[1:])
    ctx.save_for_backward(*inputs[:2])
    ctx.rcond = inputs[2]


def _least_squares_backward(ctx, g, *_):
    # X = A^+ B
    a, b = ctx.saved_tensors
    p = pseudo_inverse(a, 0.0, ctx.rcond, False)
    of_a = pseudo_inverse_gradient(a, p, g @ b.mH) if ctx.needs_input_grad[0] else None
    return of_a, p.mH @ g, None, None


least_squares = define(
    "lstsq",
    "(Tensor A, Tensor B, float rcond, str driver) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor values)",
    _least_squares,
    _least_squares_shapes,
    _least_squares_backward,
    _save_least_squares,
)

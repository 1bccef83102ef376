"""Products of vectors and matrices, norms."""

import minidynamo as torch

from ..bridge import array_of, is_number
from . import facts
from .layout import axes_iterated, iterated, laid, strides_by_axis
from .operands import delivered, result, tensor
from .operations import max_over, min_over, sum_over
from .reductions import floating, reduced
from .shaping import sizes


def together(a, b):
    """Two operands in the dtype NumPy computes the product in."""
    x = tensor(a)
    y = tensor(b)
    dtype = facts.common_dtype((x.dtype, y.dtype))
    if dtype == torch.bool:
        raise NotImplementedError("products of bools, which are logical")
    return x.to(dtype), y.to(dtype)


def matmul(x1, x2, out=None, *, casting="same_kind", dtype=None):
    """numpy.matmul, the operator @."""
    if casting != "same_kind" or dtype is not None or is_number(x1) or is_number(x2):
        raise NotImplementedError("a product of this form")
    x, y = together(x1, x2)
    if x.dim() == 0 or y.dim() == 0:
        raise ValueError("matmul: input operand does not have enough dimensions")
    return delivered(torch.matmul(x, y), out)


def right_matmul(self, other):
    """other @ self."""
    return matmul(other, self)


def dot(a, b, out=None):
    """numpy.dot: the last axis of `a` with the last but one of `b`."""
    x, y = together(a, b)
    if x.dim() == 0 or y.dim() == 0:
        return delivered(x * y, out)
    if x.dim() <= 2 and y.dim() <= 2 and (x.numel() == 1 or y.numel() == 1):
        # One element is multiplied, not summed up from a zero, which would lose the sign of another.
        if x.shape[-1] != y.shape[0]:
            raise ValueError("shapes not aligned")
        return delivered((x * y).reshape(x.shape[:-1] + y.shape[1:]), out)
    if x.dim() <= 2 and y.dim() <= 2 or y.dim() == 1:
        return delivered(torch.matmul(x, y), out)
    return delivered(contracted(x, y, (x.dim() - 1,), (y.dim() - 2,)), out)


def contracted(x, y, xs, ys):
    """Sum of products over pairs of axes; the rest of `x`, then the rest of `y`."""
    x_rest = [d for d in range(x.dim()) if d not in xs]
    y_rest = [d for d in range(y.dim()) if d not in ys]
    shape = [x.shape[d] for d in x_rest] + [y.shape[d] for d in y_rest]
    length = 1
    for i, d in enumerate(xs):
        if x.shape[d] != y.shape[ys[i]]:
            raise ValueError("shape-mismatch for sum")
        length = length * x.shape[d]
    rows = 1
    for d in x_rest:
        rows = rows * x.shape[d]
    columns = 1
    for d in y_rest:
        columns = columns * y.shape[d]
    left = x.permute((*x_rest, *xs)).reshape((rows, length))
    right = y.permute((*ys, *y_rest)).reshape((length, columns))
    return torch.matmul(left, right).reshape(tuple(shape))


def tensordot(a, b, axes=2):
    """numpy.tensordot."""
    x, y = together(a, b)
    if is_number(axes):
        xs = tuple(range(x.dim() - axes, x.dim()))
        ys = tuple(range(axes))
    else:
        xs = facts.axes_of(sizes(axes[0]), x.dim())
        ys = facts.axes_of(sizes(axes[1]), y.dim())
    if len(xs) != len(ys):
        raise ValueError("shape-mismatch for sum")
    return array_of(contracted(x, y, xs, ys))


def inner(a, b):
    """numpy.inner: over the last axes of both."""
    x, y = together(a, b)
    if x.dim() == 0 or y.dim() == 0:
        return result(x * y)
    return result(contracted(x, y, (x.dim() - 1,), (y.dim() - 1,)))


def outer(a, b, out=None):
    """numpy.outer of the flattened operands."""
    x, y = together(a, b)
    product = x.reshape((-1, 1)) * y.reshape((1, -1))
    return array_of(product) if out is None else delivered(product, out)


def vdot(a, b):
    """numpy.vdot of the flattened operands."""
    x, y = together(a, b)
    return result(torch.matmul(x.reshape((-1,)), y.reshape((-1,))))


def kron(a, b):
    """numpy.kron."""
    x, y = together(a, b)
    while x.dim() < y.dim():
        x = x.unsqueeze(0)
    while y.dim() < x.dim():
        y = y.unsqueeze(0)
    if x.dim() == 0:
        return result(x * y)
    shape = [x.shape[d] * y.shape[d] for d in range(x.dim())]
    for d in range(x.dim()):
        x = x.unsqueeze(2 * d + 1)
        y = y.unsqueeze(2 * d)
    return array_of(iterated(x * y, [x, y]).reshape(tuple(shape)))


def einsum(subscripts, *operands, out=None, dtype=None, order="K", casting="safe", optimize=False):
    """numpy.einsum with subscripts as text."""
    if (
        not isinstance(subscripts, str)
        or optimize is not False
        or dtype is not None
        or casting != "safe"
        or order != "K"
    ):
        raise NotImplementedError("an einsum of this form")
    values = [tensor(x) for x in operands]
    common = facts.common_dtype(tuple([v.dtype for v in values]))
    if common == torch.bool:
        raise NotImplementedError("products of bools, which are logical")
    value = torch.einsum(subscripts, *[v.to(common) for v in values])
    order = None if value.dim() < 2 or out is not None else einsum_axes(subscripts, values)
    return delivered(value if order is None else laid(value, order), out)


def einsum_axes(subscripts, values):
    """In which order NumPy lays out the axes of einsum's result: it iterates over them and the axes summed over.

    None where the result is a view of the only operand.
    """
    given, arrow, named = subscripts.replace(" ", "").partition("->")
    labels = [axis_labels(term, values[i].dim()) for i, term in enumerate(given.split(","))]
    every = [label for row in labels for label in row]
    letters = sorted({label for label in every if isinstance(label, str)})
    spread = sorted({label for label in every if not isinstance(label, str)})
    kept = spread + [label for label in letters if every.count(label) == 1]
    if arrow:
        kept = axis_labels(named, len(named.replace("...", "")) + len(spread))
    axes = kept + [label for label in [*spread, *letters] if label not in kept]
    if len(values) == 1 and len(axes) == len(kept):
        return None
    rows = [strides_by_label(axes, labels[i], v) for i, v in enumerate(values)]
    return [d for d in axes_iterated(rows) if d < len(kept)]


def axis_labels(term, rank):
    """The letters of a term, and for the axes of an ellipsis numbers that count from its end: -2, -1."""
    before, dots, after = term.partition("...")
    return [*before, *range(len(before) + len(after) - rank, 0), *after] if dots else list(before)


def strides_by_label(axes, labels, value):
    """Of a label given twice, a diagonal's stride."""
    strides = strides_by_axis(value, value.dim())
    return [sum([s for d, s in enumerate(strides) if labels[d] == label and s is not None]) for label in axes]


def norm(x, ord=None, axis=None, keepdims=False):  # noqa: A002  NumPy's name
    """numpy.linalg.norm of vectors, and those of matrices that need no singular values."""
    value = floating(tensor(x), None)
    rank = value.dim()
    if axis is None and ord is not None and rank > 2:
        raise ValueError("Improper number of dimensions to norm.")
    dims = facts.axes_of(axis, rank)
    if ord is None or len(dims) == 2 and ord == "fro" or len(dims) == 1 and ord == 2:
        return result(torch.sqrt(reduced(sum_over, value * value, axis, keepdims)))
    if len(dims) == 1:
        return result(vector_norm(torch.abs(value), ord, axis, keepdims))
    if len(dims) == 2 and ord in (1, -1, float("inf"), -float("inf")):
        return result(matrix_norm(torch.abs(value), ord, dims, keepdims))
    raise NotImplementedError("a norm of this order")


def vector_norm(value, ord, axis, keepdims):  # noqa: A002
    if ord == float("inf"):
        return reduced(max_over, value, axis, keepdims)
    if ord == -float("inf"):
        return reduced(min_over, value, axis, keepdims)
    if ord == 0:
        return reduced(sum_over, (value != 0).to(value.dtype), axis, keepdims)
    if ord == 1:
        return reduced(sum_over, value, axis, keepdims)
    if not is_number(ord):
        raise ValueError("Invalid norm order for vectors")
    return reduced(sum_over, value**ord, axis, keepdims) ** (1.0 / ord)


def matrix_norm(value, ord, dims, keepdims):  # noqa: A002
    """The largest or smallest sum of a column (1) or row (inf)."""
    along = dims[0] if ord in (1, -1) else dims[1]
    across = dims[1] if ord in (1, -1) else dims[0]
    sums = reduced(sum_over, value, along, True)
    found = reduced(max_over if ord > 0 else min_over, sums, across, True)
    if keepdims:
        return found
    return found.squeeze(max(dims)).squeeze(min(dims))

"""Products of vectors and matrices, norms."""

import minidynamo as torch

from ..bridge import array_of, is_number
from . import facts
from .operands import delivered, result, tensor
from .operations import sum_over
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
    return array_of((x * y).reshape(tuple(shape)))


def einsum(subscripts, *operands, out=None, dtype=None, order="K", casting="safe", optimize=False):
    """numpy.einsum with subscripts as text."""
    if not isinstance(subscripts, str) or dtype is not None or casting != "safe" or order != "K":
        raise NotImplementedError("an einsum of this form")
    values = [tensor(x) for x in operands]
    common = facts.common_dtype(tuple([v.dtype for v in values]))
    if common == torch.bool:
        raise NotImplementedError("products of bools, which are logical")
    return delivered(torch.einsum(subscripts, *[v.to(common) for v in values]), out)


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
        return result(vector_norm(torch.abs(value), ord, dims, keepdims))
    if len(dims) == 2 and ord in (1, -1, float("inf"), -float("inf")):
        return result(matrix_norm(torch.abs(value), ord, dims, keepdims))
    raise NotImplementedError("a norm of this order")


def vector_norm(value, ord, dims, keepdims):  # noqa: A002
    if ord == float("inf"):
        return torch.amax(value, dim=dims, keepdim=keepdims)
    if ord == -float("inf"):
        return torch.amin(value, dim=dims, keepdim=keepdims)
    if ord == 0:
        return torch.sum((value != 0).to(value.dtype), dim=dims, keepdim=keepdims)
    if ord == 1:
        return torch.sum(value, dim=dims, keepdim=keepdims)
    if not is_number(ord):
        raise ValueError("Invalid norm order for vectors")
    return torch.sum(value**ord, dim=dims, keepdim=keepdims) ** (1.0 / ord)


def matrix_norm(value, ord, dims, keepdims):  # noqa: A002
    """The largest or smallest sum of a column (1) or row (inf)."""
    along = dims[0] if ord in (1, -1) else dims[1]
    across = dims[1] if ord in (1, -1) else dims[0]
    sums = torch.sum(value, dim=along, keepdim=True)
    found = torch.amax(sums, dim=across, keepdim=True) if ord > 0 else torch.amin(sums, dim=across, keepdim=True)
    if keepdims:
        return found
    return found.squeeze(max(dims)).squeeze(min(dims))

"""Sorting and searching."""

import minidynamo as torch

from ..bridge import array_of, is_array, tensor_of
from . import facts
from .elementwise import where as chosen
from .layout import copied, iterated, laid
from .operands import as_array, delivered, result, tensor, writeable_tensor


def _plain(order):
    if order is not None:
        raise NotImplementedError("an order of fields")


def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    """numpy.sort; NaN comes last."""
    _plain(order)
    value = tensor(a)
    if axis is None:
        value = value.reshape((-1,))
        axis = -1
    (d,) = facts.axes_of(axis, value.dim())
    return array_of(torch.sort(copied(value), dim=d)[0])


def sort_inplace(self, axis=-1, kind=None, order=None, *, stable=None):
    """ndarray.sort."""
    _plain(order)
    value = writeable_tensor(self)
    (d,) = facts.axes_of(axis, value.dim())
    value.copy_(torch.sort(value, dim=d)[0])


def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    """numpy.argsort. Equal values keep their order, which NumPy promises for kind="stable" only."""
    _plain(order)
    value = tensor(a)
    if axis is None:
        value = value.reshape((-1,))
        axis = -1
    (d,) = facts.axes_of(axis, value.dim())
    return array_of(laid(torch.argsort(value, dim=d, stable=True), list(range(value.dim()))))


def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """numpy.median: the mean of the two in the middle."""
    value = tensor(a)
    if not value.dtype.is_floating_point:
        value = value.to(torch.float64)
    if overwrite_input is not False or isinstance(axis, (list, tuple)) or keepdims is not False:
        raise NotImplementedError("a median of this form")
    if axis is None:
        value = value.reshape((-1,))
        axis = 0
    (d,) = facts.axes_of(axis, value.dim())
    length = value.shape[d]
    if length == 0:
        raise NotImplementedError("a median of nothing")
    ordered = torch.sort(value, dim=d)[0]
    last = ordered.select(d, length - 1)
    middle = (ordered.select(d, (length - 1) // 2) + ordered.select(d, length // 2)) / 2
    return delivered(torch.where(last != last, last, middle), out)


def take_along_axis(arr, indices, axis=-1):
    """numpy.take_along_axis."""
    value = tensor(arr)
    where = tensor(indices)
    if axis is None or where.dtype != torch.int64:
        raise NotImplementedError("indices of this form")
    found = torch.take_along_dim(value, where, axis)
    return array_of(iterated(found, [where]))


def take(a, indices, axis=None, out=None, mode="raise"):
    """numpy.take."""
    if mode != "raise":
        raise NotImplementedError("`mode`")
    value = tensor(a)
    where = tensor(indices) if is_array(indices) or isinstance(indices, (list, tuple)) else tensor_of(as_array(indices))
    if facts.integer_range(where.dtype) is None:
        raise TypeError("Cannot cast the indices to an integer")
    if axis is None:
        value = value.reshape((-1,))
        axis = 0
    (d,) = facts.axes_of(axis, value.dim())
    key = (slice(None),) * d + (where.to(torch.int64),)
    return delivered(value[key].contiguous(), out)


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, **other):
    """numpy.unique; only the values know the size of the result."""
    if return_index is not False or axis is not None or other:
        raise NotImplementedError("numpy.unique of this form")
    value = tensor(ar).reshape((-1,))
    found = torch.unique(value, return_inverse=return_inverse, return_counts=return_counts)
    if return_inverse or return_counts:
        parts = [array_of(x) for x in found]
        if return_inverse:
            parts[1] = array_of(tensor_of(parts[1]).reshape(tensor(ar).shape))
        return tuple(parts)
    return array_of(found)


def nonzero(a):
    """numpy.nonzero; only the values know the size of the result."""
    value = tensor(a)
    if value.dim() == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed.")
    found = torch.nonzero(value)
    return tuple([array_of(found.select(1, d)) for d in range(value.dim())])


def where(condition, x=None, y=None):
    """numpy.where: with a condition alone, where it is not zero."""
    if x is None and y is None:
        return nonzero(condition)
    return chosen(condition, x, y)


def bincount(x, /, weights=None, minlength=0):
    """numpy.bincount; only the values know the size of the result."""
    value = tensor(x)
    if weights is None:
        return array_of(torch.bincount(value, minlength=minlength))
    return array_of(torch.bincount(value, weights=tensor(weights).to(torch.float64), minlength=minlength))


def searchsorted(a, v, side="left", sorter=None):
    """numpy.searchsorted."""
    if sorter is not None:
        raise NotImplementedError("`sorter`")
    ordered = tensor(a)
    wanted = tensor(v)
    dtype = facts.common_dtype((ordered.dtype, wanted.dtype))
    return result(torch.searchsorted(ordered.to(dtype), wanted.to(dtype), right=side == "right"))

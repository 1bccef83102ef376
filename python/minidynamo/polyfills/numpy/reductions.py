"""Reductions and cumulative functions: axis, keepdims, dtype, out, initial."""

import minidynamo as torch

from ..bridge import is_array, is_number
from . import facts, layout, operations
from .operands import cast, check_number, delivered, is_true, result, tensor


def _no_mask(where):
    if where is not None and where is not True:
        raise NotImplementedError("a reduction with `where`")


def reduced(operation, value, axis, keepdims):
    """`operation(tensor, dims, keepdim)` over the axes; over none of them nothing is folded."""
    keep = is_true(keepdims)
    dims = facts.axes_of(axis, value.dim())
    if len(dims) == 0:
        return value.clone()
    return layout.folded(operation(value, dims, keep), value, dims, keep)


def folded(name, a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """sum, prod, min and max."""
    _no_mask(where)
    value = tensor(a)
    wanted = facts.tensor_dtype(dtype)
    if name == "sum" or name == "prod":
        value = cast(value, facts.sum_dtype(value.dtype) if wanted is None else wanted)
    kept = value.dtype
    value = reduced(facts.fold(name), value, axis, keepdims)
    value = narrowed(value, kept if wanted is not None else value.dtype)
    if initial is not None:
        if not is_number(initial):
            raise NotImplementedError("`initial` that is no Python number")
        check_number(initial, value.dtype)
        value = with_initial(name, value, torch.full((), initial, dtype=value.dtype))
    return delivered(value, out)


def narrowed(value, dtype):
    """torch folds integers in int64; the lowest bits are those of the narrow type NumPy was asked for."""
    if value.dtype == dtype:
        return value
    return value != 0 if dtype == torch.bool else value.to(dtype)


def with_initial(name, value, initial):
    if name == "sum":
        return value + initial
    if name == "prod":
        return value * initial
    return torch.maximum(value, initial) if name == "max" else torch.minimum(value, initial)


def extremum(name, a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """numpy.max and numpy.min."""
    return folded(name, a, axis, None, out, keepdims, initial, where)


def tested(name, a, axis=None, out=None, keepdims=False, where=None):
    """numpy.all and numpy.any."""
    _no_mask(where)
    value = tensor(a).to(torch.bool)
    return delivered(reduced(operations.all_over if name == "all" else operations.any_over, value, axis, keepdims), out)


def floating(value, dtype):
    """In which dtype means are computed: integers in float64."""
    if dtype is not None:
        return cast(value, dtype)
    return value if value.dtype.is_floating_point else value.to(torch.float64)


def mean(a, axis=None, dtype=None, out=None, keepdims=False, where=None):
    """numpy.mean."""
    _no_mask(where)
    value = floating(tensor(a), facts.tensor_dtype(dtype))
    if not value.dtype.is_floating_point:
        raise NotImplementedError("a mean in integers")
    return delivered(reduced(operations.mean_over, value, axis, keepdims), out)


def average(a, axis=None, weights=None, returned=False, keepdims=False):
    """numpy.average with weights of the shape of `a`, or for one axis."""
    if returned is not False:
        raise NotImplementedError("numpy.average(returned=True)")
    if weights is None:
        return mean(a, axis, None, None, keepdims)
    value = floating(tensor(a), None)
    w = floating(tensor(weights), None)
    if w.shape != value.shape:
        if axis is None or w.dim() != 1:
            raise TypeError("weights of another shape")
        (d,) = facts.axes_of(axis, value.dim())
        w = w.reshape([-1 if i == d else 1 for i in range(value.dim())])
    dtype = facts.common_dtype((value.dtype, w.dtype))
    product = layout.iterated(value.to(dtype) * w.to(dtype), [value, w])
    weighted = reduced(operations.sum_over, product, axis, keepdims)
    total = reduced(operations.sum_over, w.to(dtype), axis, keepdims)
    return result(layout.iterated(weighted / total, [weighted, total]))


def variance(root, a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=None, correction=None):
    """numpy.var, and numpy.std with `root`."""
    _no_mask(where)
    value = floating(tensor(a), facts.tensor_dtype(dtype))
    if not value.dtype.is_floating_point or not is_number(ddof):
        raise NotImplementedError("a variance in integers, or degrees of freedom that are no Python number")
    degrees = ddof if correction is None else correction
    dims = facts.axes_of(axis, value.dim())
    if len(dims) == 0:
        raise NotImplementedError("a variance over no axes")
    function = torch.std if root else torch.var

    def spread_over(value, dims, keep):
        return function(value, dim=dims, correction=degrees, keepdim=keep)

    return delivered(reduced(spread_over, value, dims, keepdims), out)


def position(name, a, axis=None, out=None, keepdims=False):
    """numpy.argmax and numpy.argmin: of equal values the first, and the first NaN before all."""
    value = tensor(a)
    keep = is_true(keepdims)
    if value.dtype == torch.bool:
        value = value.to(torch.uint8)
    operation = torch.argmax if name == "argmax" else torch.argmin
    if axis is not None:
        (d,) = facts.axes_of(axis, value.dim())
        return delivered(operation(value, dim=d, keepdim=keep), out)
    found = operation(value.reshape(-1), dim=0)
    return delivered(found.reshape([1] * value.dim()) if keep else found, out)


def cumulative(name, a, axis=None, dtype=None, out=None):
    """numpy.cumsum and numpy.cumprod; without an axis over the flattened array."""
    value = tensor(a)
    wanted = facts.tensor_dtype(dtype)
    value = cast(value, facts.sum_dtype(value.dtype) if wanted is None else wanted)
    if axis is None or value.dim() == 0:
        value = value.reshape(-1)
        axis = 0
    (d,) = facts.axes_of(axis, value.dim())
    kept, given = value.dtype, value
    value = torch.cumsum(value, dim=d) if name == "cumsum" else torch.cumprod(value, dim=d)
    value = layout.iterated(value, [given])
    value = narrowed(value, kept if wanted is not None else value.dtype)
    return delivered(value, out)


def count_nonzero(a, axis=None, keepdims=False):
    """numpy.count_nonzero."""
    value = (tensor(a) != 0).to(torch.int64)
    return delivered(reduced(operations.sum_over, value, axis, keepdims), None)


def ptp(a, axis=None, out=None, keepdims=False):
    """numpy.ptp: largest minus smallest."""
    value = tensor(a)
    return delivered(
        reduced(operations.max_over, value, axis, keepdims) - reduced(operations.min_over, value, axis, keepdims), out
    )


def nansum(a, axis=None, dtype=None, out=None, keepdims=False):
    """numpy.nansum."""
    value = tensor(a)
    if not value.dtype.is_floating_point:
        return folded("sum", a, axis, dtype, out, keepdims)
    return delivered(reduced(operations.nansum_over, cast(value, facts.tensor_dtype(dtype)), axis, keepdims), out)


def nanmean(a, axis=None, dtype=None, out=None, keepdims=False):
    """numpy.nanmean."""
    value = floating(tensor(a), facts.tensor_dtype(dtype))
    count = reduced(operations.sum_over, (value == value).to(value.dtype), axis, keepdims)
    return delivered(reduced(operations.nansum_over, value, axis, keepdims) / count, out)


def difference(a, n=1, axis=-1):
    """numpy.diff."""
    value = tensor(a)
    if not is_number(n) or n < 0:
        raise NotImplementedError("numpy.diff of this order")
    (d,) = facts.axes_of(axis, value.dim())
    for _ in range(n):
        after = value.narrow(d, 1, value.shape[d] - 1)
        before = value.narrow(d, 0, value.shape[d] - 1)
        value = after != before if value.dtype == torch.bool else after - before
    return delivered(value, None)


def ufunc_reduce(name, array, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """numpy.add.reduce and the like: axis 0 unless told otherwise."""
    fold = facts.fold_of_ufunc(name)
    if fold == "all" or fold == "any":
        return tested(fold, array, axis, out, keepdims, where)
    return folded(fold, array, axis, dtype, out, keepdims, initial, where)


def ufunc_accumulate(name, array, axis=0, dtype=None, out=None):
    """numpy.add.accumulate and numpy.multiply.accumulate."""
    if not is_array(array) or name not in ("add", "multiply"):
        raise NotImplementedError("an accumulation of this kind")
    return cumulative("cumsum" if name == "add" else "cumprod", array, axis, dtype, out)

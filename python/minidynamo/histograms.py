"""torch.histogram and histogramdd: how many values lie between edges, in one and in several dimensions."""

import math

from . import _C
from ._absent import absent_names as _absent_names
from ._dynamo.eval_frame import is_compiling
from ._more_checks import _assert_async
from .linalg.arguments import takes_out
from .linalg.matrices import result_type

_Histogram = result_type("histogram", "hist bin_edges")
_HistogramDD = result_type("histogramdd", "hist bin_edges")


def _edges(values, bins, low, high):
    """bins + 1 places from `low` to `high`, which are those of the values if neither is given."""
    if bins <= 0:
        raise RuntimeError(f"histogram(): bins must be > 0, but got {bins}")
    if low is None:
        return _edges_of(values, bins)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"histogram(): range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"histogram(): min should not exceed max, but got min {low} max {high}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return _C.linspace(low, high, bins + 1, dtype=values.dtype, device=values.device)


def _edges_of(values, bins):
    """The same for ends that only a run knows: linspace() with tensors."""
    if values.numel() == 0:
        return _C.linspace(0.0, 1.0, bins + 1, dtype=values.dtype, device=values.device)
    low, high = values.min(), values.max()
    finite = _C.isfinite(low) & _C.isfinite(high)
    if is_compiling():
        _assert_async(finite, "histogram(): the range of the values is not finite")
    elif not finite:
        raise RuntimeError(f"histogram(): range of [{low.item()}, {high.item()}] is not finite")
    apart = low != high
    low, high = _C.where(apart, low, low - 0.5), _C.where(apart, high, high + 0.5)
    step, places = (high - low) / bins, _C.arange(bins + 1, device=values.device)
    return _C.where(places < (bins + 1) // 2, low + step * places, high - step * (bins - places))


def _places(values, edges):
    """The bin of each value, and which lie in one: the last bin has both its edges."""
    count = edges.shape[0] - 1
    found = _C.searchsorted(edges, values.contiguous(), right=True) - 1
    inside = (values >= edges[0]) & (values <= edges[-1])
    return found.clamp(0, count - 1), inside


def _counted(points, edges, weight, density, name):
    """Counts over the rows of `points`, one edge tensor for each column."""
    sizes = [e.shape[0] - 1 for e in edges]
    flat = _C.zeros(points.shape[0], dtype=_C.int64, device=points.device)
    inside = _C.ones(points.shape[0], dtype=_C.bool, device=points.device)
    for column, (each, size) in enumerate(zip(edges, sizes)):
        place, there = _places(points[:, column], each)
        flat, inside = flat * size + place, inside & there
    if weight is None:
        weight = _C.ones(points.shape[0], dtype=points.dtype, device=points.device)
    elif weight.numel() != points.shape[0]:
        raise RuntimeError(f"{name}(): if weight tensor is provided it should have the same shape as the input tensor")
    elif weight.dtype != points.dtype:
        raise RuntimeError(f"{name}(): weight has to be of {points.dtype}, not {weight.dtype}")
    counted = _C.zeros(math.prod(sizes), dtype=points.dtype, device=points.device)
    counted = counted.index_add(0, flat, weight.reshape(-1) * inside.to(points.dtype)).reshape(sizes)
    if density:
        for dim, each in enumerate(edges):
            counted = counted / each.diff().reshape([-1 if d == dim else 1 for d in range(len(edges))])
        counted = counted / counted.mul(_volumes(edges)).sum()
    return counted


def _volumes(edges):
    volumes = _C.ones([], dtype=edges[0].dtype, device=edges[0].device)
    for each in edges:
        volumes = volumes.unsqueeze(-1) * each.diff()
    return volumes


def _check(input, name):
    if not input.is_floating_point():
        kind = {_C.int64: "Long", _C.int32: "Int", _C.bool: "Bool"}.get(input.dtype, str(input.dtype))
        raise NotImplementedError(f"\"{name}\" not implemented for '{kind}'")


@_C._overridable
@takes_out
def histogram(input, bins=100, *, range=None, weight=None, density=False):
    """(counts, edges) of the elements of `input` in `bins` equal bins between its least and largest, or in `range`.

    `bins` may be a tensor of edges. `weight`, of the sizes of `input`, is counted in place of 1. With `density` the
    counts times the widths are 1 in sum.
    """
    _check(input, "histogram")
    values = input.detach().reshape(-1)
    if isinstance(bins, _C.Tensor):
        if bins.dim() != 1 or bins.dtype != input.dtype:
            raise RuntimeError(f"histogram(): bins has to be a vector of {input.dtype}")
        edges = bins.contiguous()
    else:
        edges = _edges(values, bins, *(range or (None, None)))
    weight = None if weight is None else weight.detach()
    counted = _counted(values.unsqueeze(-1), [edges], weight, density, "histogram")
    return _Histogram(counted, edges)


@_C._overridable
def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """(counts, edges of each dimension) of points, the last dimension of `input`, in a grid of bins.

    `bins`: one number, one for each dimension, or tensors of edges. `range`: least and largest of each in turn.
    """
    _check(input, "histogramdd")
    if input.dim() < 2:
        raise RuntimeError("histogramdd(): input tensor should have at least 2 dimensions")
    points = input.detach().reshape(-1, input.shape[-1])
    dims = points.shape[1]
    bins = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(bins) != dims:
        raise RuntimeError(f"histogramdd(): expected {dims} sequences of bin edges for a {dims}-dimensional histogram")
    if all(isinstance(each, _C.Tensor) for each in bins):
        edges = bins
    else:
        pairs = [(None, None)] * dims if range is None else list(zip(range[0::2], range[1::2]))
        edges = [_edges(points[:, d], count, *pair) for d, (count, pair) in enumerate(zip(bins, pairs))]
    weight = None if weight is None else weight.detach()
    return _HistogramDD(_counted(points, edges, weight, density, "histogramdd"), tuple(edges))


__getattr__ = _absent_names(__name__)

"""Pooling that has no op of its own: by norms, over random windows, adaptive in three dimensions, and undone."""

from .. import _C
from .arguments import each

_ops = _C._namespaces["nn.functional"]


# --- means and maxima of nearly equal windows


def _wanted_sizes(input, output_size, dims):
    """The size of each of the last `dims` dimensions; None keeps one."""
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(f"expected an input of {dims + 1} or {dims + 2} dimensions, got {input.dim()}")
    wanted = each(output_size, dims)
    return tuple([have if want is None else want for want, have in zip(wanted, input.shape[-dims:])])


def _as_batch(input, dims):
    """(N, C, ...), where an input without a batch becomes a batch of one."""
    return input.unsqueeze(0) if input.dim() == dims + 1 else input


@_C._overridable
def adaptive_avg_pool3d(input, output_size):
    """The means of nearly equal windows of the last three dimensions; None keeps a size."""
    depth, height, width = _wanted_sizes(input, output_size, 3)
    x = _as_batch(input, 3)
    n, c, d, h, w = x.shape
    # A window is a box: its mean is the mean over depth of the means of its layers.
    layers = _ops["adaptive_avg_pool2d"](x.reshape(n * c, d, h, w), (height, width))
    columns = layers.reshape(n * c, d, height * width).transpose(1, 2)
    result = _ops["adaptive_avg_pool1d"](columns, depth).transpose(1, 2).reshape(n, c, depth, height, width)
    return result if input.dim() == 5 else result.squeeze(0)


@_C._overridable
def adaptive_max_pool3d_with_indices(input, output_size, return_indices=False):
    """The largest values of nearly equal windows of the last three dimensions, and their positions in the volume."""
    depth, height, width = _wanted_sizes(input, output_size, 3)
    x = _as_batch(input, 3)
    n, c, d, h, w = x.shape
    layers, inner = _ops["adaptive_max_pool2d_with_indices"](x.reshape(n * c, d, h, w), (height, width))
    columns = layers.reshape(n * c, d, height * width).transpose(1, 2)
    largest, layer = _C.adaptive_max_pool1d(columns, depth)
    position = inner.reshape(n * c, d, height * width).transpose(1, 2).gather(2, layer) + layer * (h * w)
    shape = (n, c, depth, height, width)
    found = [each.transpose(1, 2).reshape(shape) for each in (largest, position)]
    return tuple(found if input.dim() == 5 else [each.squeeze(0) for each in found])


@_C._overridable
def adaptive_max_pool3d(input, output_size, return_indices=False):
    """The largest values of nearly equal windows of the last three dimensions, with their positions if asked for."""
    result = adaptive_max_pool3d_with_indices(input, output_size)
    return result if return_indices else result[0]


@_C._overridable
def adaptive_max_pool1d_with_indices(input, output_size, return_indices=False):
    """The largest values of nearly equal windows of the last dimension, and their positions."""
    return _C.adaptive_max_pool1d(input, output_size)


# --- norms


def _norms(means, count, norm_type):
    """(count * mean) ** (1 / norm_type), without roots of negative numbers."""
    return (means.sign() * means.abs().relu() * count) ** (1.0 / norm_type)


@_C._overridable
def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """(sum of x ** norm_type) ** (1 / norm_type) of every window of the last dimension."""
    size = kernel_size[0] if isinstance(kernel_size, (tuple, list)) else kernel_size
    means = _ops["avg_pool1d"](input**norm_type, size, size if stride is None else stride, 0, ceil_mode)
    return _norms(means, size, norm_type)


@_C._overridable
def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """(sum of x ** norm_type) ** (1 / norm_type) of every window of the last two dimensions."""
    height, width = each(kernel_size, 2)
    means = _ops["avg_pool2d"](
        input**norm_type, (height, width), (height, width) if stride is None else stride, 0, ceil_mode
    )
    return _norms(means, height * width, norm_type)


@_C._overridable
def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """(sum of x ** norm_type) ** (1 / norm_type) of every window of the last three dimensions."""
    depth, height, width = size = each(kernel_size, 3)
    means = _ops["avg_pool3d"](input**norm_type, size, size if stride is None else stride, 0, ceil_mode)
    return _norms(means, depth * height * width, norm_type)


# --- maxima put back


def _unpooled_size(input, dims, settings, output_size):
    kernel, stride, padding = settings
    usual = [
        (have - 1) * step + size - 2 * around
        for have, step, size, around in zip(input.shape[-dims:], stride, kernel, padding)
    ]
    if output_size is None:
        return usual
    wanted = list(output_size)[-dims:]
    if len(output_size) not in (dims, dims + 1, dims + 2):
        raise ValueError(f"output_size should have {dims} elements, or {dims + 2}, but it has {len(output_size)}")
    for want, have, step in zip(wanted, usual, stride):
        if not have - step < want < have + step:
            raise ValueError(f"output_size {wanted}: each has to be within less than the stride {stride} of {usual}")
    return wanted


def _max_unpool(input, indices, dims, kernel_size, stride, padding, output_size):
    kernel = each(kernel_size, dims)
    settings = kernel, kernel if stride is None else each(stride, dims), each(padding, dims)
    size = _unpooled_size(input, dims, settings, output_size)
    if indices.dtype != _C.int64:
        raise RuntimeError(f"max_unpool{dims}d: indices have to be int64, got {indices.dtype}")
    if indices.shape != input.shape:
        raise RuntimeError(
            f"max_unpool{dims}d: indices and input have to have one shape, got {list(indices.shape)} and "
            f"{list(input.shape)}"
        )
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(f"max_unpool{dims}d: expected {dims + 1} or {dims + 2} dimensions, got {input.dim()}")
    total = 1
    for each_size in size:
        total *= each_size
    outer = input.shape[:-dims]
    empty = _C.zeros((*outer, total), dtype=input.dtype, device=input.device)
    return empty.scatter(-1, indices.flatten(-dims), input.flatten(-dims)).view(*outer, *size)


@_C._overridable
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Zeros, and each value of `input` at the position max_pool1d(return_indices=True) gave for it.

    `output_size` chooses among the sizes that pool to the input's. RuntimeError for positions that are outside.
    """
    return _max_unpool(input, indices, 1, kernel_size, stride, padding, output_size)


@_C._overridable
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """max_unpool1d for two dimensions."""
    return _max_unpool(input, indices, 2, kernel_size, stride, padding, output_size)


@_C._overridable
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """max_unpool1d for three dimensions."""
    return _max_unpool(input, indices, 3, kernel_size, stride, padding, output_size)


# --- fractional pooling: windows at pseudo-random places (Graham 2014)


def _starts(draws, size, count, kernel):
    """Where the windows of one dimension begin, (..., count), for a draw of [0, 1) each: truncated multiples of the
    mean distance, and the last one at the end."""
    if count == 1:
        return _C.full((*draws.shape, 1), size - kernel, dtype=_C.int64, device=draws.device)
    distance = (size - kernel) / (count - 1)
    steps = _C.arange(count - 1, dtype=draws.dtype, device=draws.device)
    first = ((steps + draws.unsqueeze(-1)) * distance).to(_C.int64) - (draws * distance).to(_C.int64).unsqueeze(-1)
    last = _C.full((*draws.shape, 1), size - kernel, dtype=_C.int64, device=draws.device)
    return _C.cat([first, last], -1)


def _fractional_sizes(input, dims, kernel, output_size, output_ratio):
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name}: output_size or output_ratio has to be given")
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}: expected {dims + 1} or {dims + 2} dimensions, got {input.dim()}")
    have = input.shape[-dims:]
    if output_size is None:
        output_size = [int(n * ratio) for n, ratio in zip(have, each(output_ratio, dims))]
    wanted = each(output_size, dims)
    for size, count, window in zip(have, wanted, kernel):
        if count + window - 1 > size - (dims == 3):  # torch wants one more of volumes
            raise RuntimeError(f"{name}: {count} windows of {window} do not fit into {size}")
    return wanted


def _fractional(input, dims, kernel_size, output_size, output_ratio, draws):
    """(maxima, positions)."""
    kernel = each(kernel_size, dims)
    wanted = _fractional_sizes(input, dims, kernel, output_size, output_ratio)
    x = _as_batch(input, dims)
    sizes = x.shape[2:]
    if draws is None:
        draws = _C.rand(x.shape[0], x.shape[1], dims, dtype=x.dtype, device=x.device)
    # A draw belongs to each dimension; for two dimensions the first is that of the last dimension.
    order = [1, 0] if dims == 2 else [0, 1, 2]
    position = None
    for number in range(dims):
        starts = _starts(draws[..., order[number]], sizes[number], wanted[number], kernel[number])
        inside = _C.arange(kernel[number], device=x.device)
        places = starts.unsqueeze(-1) + inside  # (N, C, windows, kernel)
        shape = [*x.shape[:2], *[1] * (2 * dims)]
        shape[2 + number], shape[2 + dims + number] = wanted[number], kernel[number]
        places = places.reshape(shape)
        position = places if position is None else position * sizes[number] + places
    windows = position.flatten(-dims)  # (N, C, *wanted, elements of a window)
    values = x.flatten(2).gather(2, windows.flatten(2)).view(windows.shape)
    largest, which = values.max(-1)
    found = largest, windows.gather(-1, which.unsqueeze(-1)).squeeze(-1)
    return found if input.dim() == dims + 2 else tuple([each.squeeze(0) for each in found])


@_C._overridable
def fractional_max_pool2d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """The largest values of windows at pseudo-random places of the last two dimensions, and their positions.

    How many windows: `output_size`, or `output_ratio` times the size. `_random_samples` (N, C, 2) of [0, 1) decide.
    """
    return _fractional(input, 2, kernel_size, output_size, output_ratio, _random_samples)


@_C._overridable
def fractional_max_pool2d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """fractional_max_pool2d_with_indices, with the positions if asked for."""
    found = _fractional(input, 2, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


@_C._overridable
def fractional_max_pool3d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """The same for the last three dimensions; `_random_samples` is (N, C, 3)."""
    return _fractional(input, 3, kernel_size, output_size, output_ratio, _random_samples)


@_C._overridable
def fractional_max_pool3d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """fractional_max_pool3d_with_indices, with the positions if asked for."""
    found = _fractional(input, 3, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]

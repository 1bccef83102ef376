"""Functions over windows: maxima with or without their positions, and resizing."""

from .. import _C

_ops = _C._namespaces["nn.functional"]


@_C._overridable
def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value of every window of the last dimension, with its position if asked for."""
    if return_indices:
        return _ops["max_pool1d_with_indices"](input, kernel_size, stride, padding, dilation, ceil_mode)
    return _C.max_pool1d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


@_C._overridable
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value of every window of the last two dimensions, with its position if asked for."""
    if return_indices:
        return _ops["max_pool2d_with_indices"](input, kernel_size, stride, padding, dilation, ceil_mode)
    return _C.max_pool2d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


@_C._overridable
def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value of every window of the last three dimensions, with its position if asked for."""
    if return_indices:
        return _ops["max_pool3d_with_indices"](input, kernel_size, stride, padding, dilation, ceil_mode)
    return _C.max_pool3d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


@_C._overridable
def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The largest values of nearly equal windows of the last dimension, with their positions if asked for."""
    result = _C.adaptive_max_pool1d(input, output_size)
    return result if return_indices else result[0]


@_C._overridable
def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest values of nearly equal windows of the last two dimensions, with their positions if asked for."""
    result = _ops["adaptive_max_pool2d_with_indices"](input, output_size)
    return result if return_indices else result[0]


@_C._overridable
def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """The last 1, 2 or 3 dimensions of (N, C, ...) at other sizes: `size`, or `scale_factor` times theirs.

    Modes: "nearest", "nearest-exact", "area" for all, "linear" for one, "bilinear" and "bicubic" for two, "trilinear"
    for three. With `align_corners` the centres of the corner elements keep their place, else the corners of the
    elements. `recompute_scale_factor`: the factor is that of the sizes, rounding included. `antialias`, for "bilinear"
    and "bicubic": where it gets smaller, all elements under the widened kernel count.
    """
    if mode != "bicubic" and not antialias:
        return _ops["interpolate"](input, size, scale_factor, mode, align_corners, recompute_scale_factor)
    from .cubic_resampling import resampled

    return resampled(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """As interpolate."""
    return interpolate(input, size, scale_factor, mode, align_corners)

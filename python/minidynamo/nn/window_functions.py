"""Functions over windows with two kinds of results: maxima with or without their positions."""

from .. import _C

_ops = _C._namespaces["nn.functional"]


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value of every window of the last dimension, with its position if asked for."""
    if return_indices:
        return _ops["max_pool1d_with_indices"](input, kernel_size, stride, padding, dilation, ceil_mode)
    return _C.max_pool1d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value of every window of the last two dimensions, with its position if asked for."""
    if return_indices:
        return _ops["max_pool2d_with_indices"](input, kernel_size, stride, padding, dilation, ceil_mode)
    return _C.max_pool2d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value of every window of the last three dimensions, with its position if asked for."""
    if return_indices:
        return _ops["max_pool3d_with_indices"](input, kernel_size, stride, padding, dilation, ceil_mode)
    return _C.max_pool3d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The largest values of nearly equal windows of the last dimension, with their positions if asked for."""
    result = _C.adaptive_max_pool1d(input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest values of nearly equal windows of the last two dimensions, with their positions if asked for."""
    result = _ops["adaptive_max_pool2d_with_indices"](input, output_size)
    return result if return_indices else result[0]

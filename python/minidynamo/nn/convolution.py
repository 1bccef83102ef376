"""Layers of convolution, transposed or not."""

import math

from .. import _C
from . import functional, init
from .module import Module
from .parameter import Parameter

_PADDING_MODES = ("zeros",)


def _each(value, dims):
    return tuple(value) if isinstance(value, (list, tuple)) else (value,) * dims


class _ConvNd(Module):
    """Weight, bias and what all convolutions check."""

    def _set_up(self, dims, transposed, sizes, settings, groups, bias, padding_mode, device, dtype):
        in_channels, out_channels, kernel_size = sizes
        stride, padding, dilation, output_padding = settings
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of ('same', 'valid')")
            if padding == "same" and any(s != 1 for s in _each(stride, dims)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise NotImplementedError(f"{type(self).__name__}: padding_mode '{padding_mode}' is not part of minidynamo")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _each(kernel_size, dims)
        self.stride = _each(stride, dims)
        self.padding = padding if isinstance(padding, str) else _each(padding, dims)
        self.dilation = _each(dilation, dims)
        self.transposed = transposed
        self.output_padding = _each(output_padding, dims)
        self.groups = groups
        self.padding_mode = padding_mode
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        made = _C.empty((first, second // groups, *self.kernel_size), device=device, dtype=dtype)
        self.weight = Parameter(made)
        if bias:
            self.bias = Parameter(_C.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight.size(1) * math.prod(self.kernel_size)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        dims = len(self.kernel_size)
        if self.padding != (0,) * dims:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * dims:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * dims:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text if self.bias is not None else text + ", bias=False"


class Conv1d(_ConvNd):
    """Cross-correlation of (batch, channels, length), or without batch."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
        padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        sizes, settings = (in_channels, out_channels, kernel_size), (stride, padding, dilation, 0)
        self._set_up(1, False, sizes, settings, groups, bias, padding_mode, device, dtype)

    def forward(self, input):
        return functional.conv1d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d(_ConvNd):
    """Cross-correlation of (batch, channels, height, width), or without batch."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
        padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        sizes, settings = (in_channels, out_channels, kernel_size), (stride, padding, dilation, 0)
        self._set_up(2, False, sizes, settings, groups, bias, padding_mode, device, dtype)

    def forward(self, input):
        return functional.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv3d(_ConvNd):
    """Cross-correlation of (batch, channels, depth, height, width), or without batch."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
        padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        sizes, settings = (in_channels, out_channels, kernel_size), (stride, padding, dilation, 0)
        self._set_up(3, False, sizes, settings, groups, bias, padding_mode, device, dtype)

    def forward(self, input):
        return functional.conv3d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class ConvTranspose1d(_ConvNd):
    """The transpose of Conv1d as a linear map."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
        dilation=1, padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        sizes, settings = (in_channels, out_channels, kernel_size), (stride, padding, dilation, output_padding)
        self._set_up(1, True, sizes, settings, groups, bias, padding_mode, device, dtype)

    def forward(self, input):
        return functional.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )


class ConvTranspose2d(_ConvNd):
    """The transpose of Conv2d as a linear map."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
        dilation=1, padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        sizes, settings = (in_channels, out_channels, kernel_size), (stride, padding, dilation, output_padding)
        self._set_up(2, True, sizes, settings, groups, bias, padding_mode, device, dtype)

    def forward(self, input):
        return functional.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )

"""Layers of convolution, transposed or not."""

import math

from .. import _C
from . import functional, init
from .arguments import each
from .module import Module
from .parameter import Parameter

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


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
            if padding == "same" and any(s != 1 for s in each(stride, dims)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'")
        if transposed and padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = each(kernel_size, dims)
        self.stride = each(stride, dims)
        self.padding = padding if isinstance(padding, str) else each(padding, dims)
        self.dilation = each(dilation, dims)
        self.transposed = transposed
        self.output_padding = each(output_padding, dims)
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

    def _around(self):
        """How many elements to add before and after each dimension, as pad() takes them."""
        if not isinstance(self.padding, str):
            return [n for n in reversed(self.padding) for _ in range(2)]
        around = []
        for size, spread in zip(reversed(self.kernel_size), reversed(self.dilation)):
            total = spread * (size - 1) if self.padding == "same" else 0
            around += [total // 2, total - total // 2]
        return around

    def _convolve(self, convolution, input, weight, bias):
        """`convolution` of the input, behind what padding_mode puts around it."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = functional.pad(input, self._around(), self.padding_mode), 0
        return convolution(input, weight, bias, self.stride, padding, self.dilation, self.groups)

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
        text = text if self.bias is not None else text + ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


class _ConvTransposeNd(_ConvNd):
    def _output_padding(self, input, output_size):
        """`output_padding`, or what it has to be for an output of this size. ValueError if nothing will do."""
        if output_size is None:
            return self.output_padding
        dims = len(self.kernel_size)
        sizes = list(output_size)
        if len(sizes) == input.dim():
            sizes = sizes[-dims:]
        if len(sizes) != dims:
            raise ValueError(
                f"{type(self).__name__}: for {input.dim()}D input, output_size must have {dims} or {input.dim()} "
                f"elements (got {len(sizes)})"
            )
        found = []
        settings = zip(input.shape[-dims:], sizes, self.stride, self.padding, self.kernel_size, self.dilation)
        for have, want, step, around, size, spread in settings:
            least = (have - 1) * step - 2 * around + spread * (size - 1) + 1
            if not least <= want <= least + step - 1:
                raise ValueError(
                    f"requested an output size of {sizes}, but valid sizes range from {least} to {least + step - 1} "
                    f"where {want} is asked for (for an input of {list(input.shape[-dims:])})"
                )
            found.append(want - least)
        return tuple(found)


class Conv1d(_ConvNd):
    """Cross-correlation of (batch, channels, length), or without batch."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
        padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        sizes, settings = (in_channels, out_channels, kernel_size), (stride, padding, dilation, 0)
        self._set_up(1, False, sizes, settings, groups, bias, padding_mode, device, dtype)

    def _conv_forward(self, input, weight, bias):
        return self._convolve(functional.conv1d, input, weight, bias)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)


class Conv2d(_ConvNd):
    """Cross-correlation of (batch, channels, height, width), or without batch."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
        padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        sizes, settings = (in_channels, out_channels, kernel_size), (stride, padding, dilation, 0)
        self._set_up(2, False, sizes, settings, groups, bias, padding_mode, device, dtype)

    def _conv_forward(self, input, weight, bias):
        return self._convolve(functional.conv2d, input, weight, bias)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)


class Conv3d(_ConvNd):
    """Cross-correlation of (batch, channels, depth, height, width), or without batch."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
        padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        sizes, settings = (in_channels, out_channels, kernel_size), (stride, padding, dilation, 0)
        self._set_up(3, False, sizes, settings, groups, bias, padding_mode, device, dtype)

    def _conv_forward(self, input, weight, bias):
        return self._convolve(functional.conv3d, input, weight, bias)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of Conv1d as a linear map."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
        dilation=1, padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        sizes, settings = (in_channels, out_channels, kernel_size), (stride, padding, dilation, output_padding)
        self._set_up(1, True, sizes, settings, groups, bias, padding_mode, device, dtype)

    def forward(self, input, output_size=None):
        extra = self._output_padding(input, output_size)
        return functional.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of Conv2d as a linear map."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
        dilation=1, padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        sizes, settings = (in_channels, out_channels, kernel_size), (stride, padding, dilation, output_padding)
        self._set_up(2, True, sizes, settings, groups, bias, padding_mode, device, dtype)

    def forward(self, input, output_size=None):
        extra = self._output_padding(input, output_size)
        return functional.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of Conv3d as a linear map."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
        dilation=1, padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        sizes, settings = (in_channels, out_channels, kernel_size), (stride, padding, dilation, output_padding)
        self._set_up(3, True, sizes, settings, groups, bias, padding_mode, device, dtype)

    def forward(self, input, output_size=None):
        extra = self._output_padding(input, output_size)
        return functional.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )

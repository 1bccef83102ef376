"""Convolutions that have no op of their own: the transposed one of volumes, and that of (time, batch, channels)."""

from .. import _C
from .arguments import each, need_tensors

_ops = _C._namespaces["nn.functional"]


@_C._overridable
def conv_tbc(input, weight, bias, pad=0):
    """Convolution over time of (T, N, C_in) with weights (size, C_in, C_out): (T + 2 * pad - size + 1, N, C_out)."""
    need_tensors("conv_tbc", input=input, weight=weight, bias=bias)
    for name, given, dims in (("input", input, 3), ("weight", weight, 3), ("bias", bias, 1)):
        if given.dim() != dims:
            raise RuntimeError(f"conv_tbc: {name} has to have {dims} dimensions, got {given.dim()}")
    return _ops["conv1d"](input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)


def _check(input, weight, bias, stride, padding, output_padding, groups, dilation):
    if input.dim() not in (4, 5) or weight.dim() != 5:
        raise RuntimeError(
            "conv_transpose3d: expected an input of 4 or 5 dimensions and weights of 5, got "
            f"{input.dim()} and {weight.dim()}"
        )
    channels = input.shape[-4]
    if groups <= 0 or channels != weight.shape[0] or channels % groups:
        raise RuntimeError(
            f"conv_transpose3d: weights {list(weight.shape)} in {groups} groups do not go with {channels} channels"
        )
    if bias is not None and list(bias.shape) != [weight.shape[1] * groups]:
        raise RuntimeError(
            f"conv_transpose3d: bias has to be of {weight.shape[1] * groups} elements, got {list(bias.shape)}"
        )
    if min(stride) <= 0 or min(dilation) <= 0 or min(padding) < 0:
        raise RuntimeError("conv_transpose3d: stride and dilation have to be positive, padding not negative")
    for extra, step, spread in zip(output_padding, stride, dilation):
        if extra >= max(step, spread):
            raise RuntimeError(
                f"output padding must be smaller than either stride or dilation, but got output_padding: "
                f"{output_padding} stride: {stride} dilation: {dilation}"
            )


@_C._overridable
def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The transpose of conv3d as a linear map: (N, C_in, D, H, W), or without N, with weights
    (C_in, C_out / groups, kD, kH, kW). `output_padding` more elements at the end of each dimension.

    A layer of the weights takes each layer of the input to one of the output, by conv_transpose2d.
    """
    need_tensors("conv_transpose3d", input=input, weight=weight)
    stride, padding, dilation = each(stride, 3), each(padding, 3), each(dilation, 3)
    output_padding = each(output_padding, 3)
    _check(input, weight, bias, stride, padding, output_padding, groups, dilation)
    x = input if input.dim() == 5 else input.unsqueeze(0)
    n, channels, depth, height, width = x.shape
    kernel, step = weight.shape[2], stride[0]
    layers = x.transpose(1, 2).reshape(n * depth, channels, height, width)
    reach = (depth - 1) * step + (kernel - 1) * dilation[0] + 1
    total = None
    for k in range(kernel):
        moved = _ops["conv_transpose2d"](
            layers, weight[:, :, k], None, stride[1:], padding[1:], output_padding[1:], groups, dilation[1:]
        )
        moved = moved.view(n, depth, *moved.shape[1:]).transpose(1, 2)  # (N, C_out, D, H', W')
        start = k * dilation[0]
        placed = _spread(moved, step, start, reach + output_padding[0])
        total = placed if total is None else total + placed
    size = reach - 2 * padding[0] + output_padding[0]
    if size <= 0:
        raise RuntimeError(f"conv_transpose3d: the output would have a depth of {size}")
    result = total.narrow(2, padding[0], size)
    result = result if bias is None else result + bias.view(-1, 1, 1, 1)
    return result if input.dim() == 5 else result.squeeze(0)


def _spread(x, step, start, size):
    """Dimension 2 of `x` at start, start + step, ... of a dimension of `size`; zeros elsewhere."""
    apart = x.unsqueeze(3)
    if step > 1:
        shape = list(apart.shape)
        shape[3] = step - 1
        apart = _C.cat([apart, _C.zeros(shape, dtype=x.dtype, device=x.device)], 3)
    row = apart.flatten(2, 3)
    row = row.narrow(2, 0, (x.shape[2] - 1) * step + 1)
    ends = []
    for length in (start, size - start - row.shape[2]):
        shape = list(row.shape)
        shape[2] = length
        ends.append(_C.zeros(shape, dtype=x.dtype, device=x.device))
    return _C.cat([ends[0], row, ends[1]], 2)

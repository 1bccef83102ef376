"""Values brought to a common scale: over the batch, over each instance, over groups of channels, over neighbours.

Half precision is computed in float32 and rounded once, at the end.
"""

from .. import _C
from .arguments import in_format_of
from .padding_functions import pad

_ops = _C._namespaces["nn.functional"]
_HALVES = (_C.float16, _C.bfloat16)


def _wide(tensor):
    return tensor.float() if tensor.dtype in _HALVES else tensor


def _scaled(result, weight, bias, dtype):
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result if result.dtype == dtype else result.to(dtype)


@_C._overridable
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Mean 0 and variance 1 over each of the groups into which dimension 1 is cut."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    batch, channels = input.shape[:2]
    if channels % num_groups != 0:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    x = _wide(input).reshape(batch, num_groups, -1)
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred * centred).mean(-1, keepdim=True)
    result = (centred * _C.rsqrt(variance + eps)).view(input.shape)
    result = _scaled(result, _per_channel(weight, input), _per_channel(bias, input), input.dtype)
    return _C._as_one_call(in_format_of(input, result), "NativeGroupNorm", input, weight, bias)


def _per_channel(values, input):
    return None if values is None else values.view(-1, *[1] * (input.dim() - 2))


@_C._overridable
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Mean 0 and variance 1 per channel, by the batch when training (running values follow), else by running values."""
    channels = input.shape[1]
    given = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, tensor in given.items():
        if tensor is not None and tensor.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {tensor.numel()}")
        if tensor is None and not training and name.startswith("running"):
            raise RuntimeError(f"Expected {name} to be defined when training=False")
    x = _wide(input)
    if training:
        count = input.numel() // channels
        if count <= 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
        dims = [d for d in range(input.dim()) if d != 1]
        mean = x.mean(dims)
        centred = x - _per_channel(mean, input)
        variance = (centred * centred).mean(dims)
        if running_mean is not None:
            running_mean.copy_(running_mean * (1 - momentum) + mean.detach() * momentum)
        if running_var is not None:
            unbiased = variance.detach() * (count / (count - 1))
            running_var.copy_(running_var * (1 - momentum) + unbiased * momentum)
    else:
        centred = x - _per_channel(running_mean, input)
        variance = running_var
    result = centred * _C.rsqrt(_per_channel(variance, input) + eps)
    result = _scaled(result, _per_channel(weight, input), _per_channel(bias, input), input.dtype)
    return _C._as_one_call(result, "NativeBatchNorm", input, weight, bias)


def _running(running, of_batch, momentum):
    running.copy_(running * (1 - momentum) + of_batch.detach() * momentum)


@_C._overridable
def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """Mean 0 and variance 1 per channel of each instance (Ulyanov et al. 2016), or by running values without
    `use_input_stats`. With it running values, if given, follow: the means over the batch.

    `input` is (N, C, ...). ValueError where an instance has one value per channel only.
    """
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("instance_norm: without use_input_stats running_mean and running_var have to be given")
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    batch, channels = input.shape[:2]
    count = 1
    for size in input.shape[2:]:
        count *= size
    if count == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    x = _wide(input).reshape(batch, channels, -1)
    mean = x.mean(-1, keepdim=True)
    centred = x - mean
    variance = (centred * centred).mean(-1, keepdim=True)
    if running_mean is not None:
        _running(running_mean, mean.mean(0).squeeze(-1), momentum)
    if running_var is not None:
        _running(running_var, variance.mean(0).squeeze(-1) * (count / (count - 1)), momentum)
    result = (centred * _C.rsqrt(variance + eps)).reshape(input.shape)
    return _scaled(result, _per_channel(weight, input), _per_channel(bias, input), input.dtype).contiguous()


@_C._overridable
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """input / (k + alpha * mean of the squares of `size` channels around) ** beta (Krizhevsky et al. 2012), where
    channels outside count as 0. `input` is (N, C, ...) of 3 dimensions or more (ValueError)."""
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    squares = (input * input).flatten(2).unsqueeze(1)  # (N, 1, C, elements)
    padded = pad(squares, (0, 0, size // 2, (size - 1) // 2))
    means = _ops["avg_pool2d"](padded, (size, 1), 1).squeeze(1)
    return input / (means * alpha + k).view(input.shape) ** beta

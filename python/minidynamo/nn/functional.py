"""torch.nn.functional: activations from the op table; what has no op of its own is a function over ops here.

The functions are traced like a program's own. An in-place activation is the op's result copied over the input, which
comes back.
"""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from ..autograd.grad_mode import no_grad as _no_grad
from .arguments import need_tensors as _need_tensors
from .loss_functions import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from .window_functions import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    upsample,
)

_ops = _C._namespaces["nn.functional"]
_WITH_INPLACE = ("silu", "mish", "hardswish", "hardsigmoid", "relu6", "selu", "celu", "elu", "leaky_relu", "hardtanh",
                 "threshold")  # fmt: skip
globals().update({name: op for name, op in _ops.items() if name not in _WITH_INPLACE})
_INPLACE = ("relu_", "elu_", "selu_", "celu_", "leaky_relu_", "hardtanh_", "threshold_")
_LOSSES = (binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy, huber_loss, kl_div, l1_loss, mse_loss,
           nll_loss, smooth_l1_loss)  # fmt: skip
_WINDOWS = (adaptive_max_pool1d, adaptive_max_pool2d, max_pool1d, max_pool2d, max_pool3d, upsample)
_LAYERS = ("linear bilinear embedding dropout group_norm batch_norm normalize cosine_similarity "
           "pairwise_distance scaled_dot_product_attention pad").split()  # fmt: skip
__all__ = sorted(
    {*_ops, "relu", "sigmoid", "tanh", "softmin", *_INPLACE, *_LAYERS, *(f.__name__ for f in _LOSSES + _WINDOWS)}
)

sigmoid = _C.sigmoid
tanh = _C.tanh


def relu(input, inplace=False):
    """max(x, 0)."""
    return input.relu_() if inplace else _C.relu(input)


def relu6(input, inplace=False):
    """x limited to [0, 6]."""
    result = _ops["relu6"](input)
    return input.copy_(result) if inplace else result


def silu(input, inplace=False):
    """x * sigmoid(x)."""
    result = _ops["silu"](input)
    return input.copy_(result) if inplace else result


def mish(input, inplace=False):
    """x * tanh(log(1 + exp(x)))."""
    result = _ops["mish"](input)
    return input.copy_(result) if inplace else result


def hardswish(input, inplace=False):
    """x * min(max(x + 3, 0), 6) / 6."""
    result = _ops["hardswish"](input)
    return input.copy_(result) if inplace else result


def hardsigmoid(input, inplace=False):
    """min(max(x + 3, 0), 6) / 6."""
    result = _ops["hardsigmoid"](input)
    return input.copy_(result) if inplace else result


def selu(input, inplace=False):
    """elu with the scale and alpha of self-normalizing networks."""
    result = _ops["selu"](input)
    return input.copy_(result) if inplace else result


def elu(input, alpha=1.0, inplace=False):
    """x above 0, alpha * (exp(x) - 1) below."""
    result = _ops["elu"](input, alpha)
    return input.copy_(result) if inplace else result


def celu(input, alpha=1.0, inplace=False):
    """x above 0, alpha * (exp(x / alpha) - 1) below."""
    result = _ops["celu"](input, alpha)
    return input.copy_(result) if inplace else result


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x above 0, negative_slope * x below."""
    result = _ops["leaky_relu"](input, negative_slope)
    return input.copy_(result) if inplace else result


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    result = _ops["hardtanh"](input, min_val, max_val)
    return input.copy_(result) if inplace else result


def threshold(input, threshold, value, inplace=False):
    """x above `threshold`, else `value`."""
    result = _ops["threshold"](input, threshold, value)
    return input.copy_(result) if inplace else result


def elu_(input, alpha=1.0):
    """elu, written to `input`."""
    return elu(input, alpha, True)


def selu_(input):
    """selu, written to `input`."""
    return selu(input, True)


def celu_(input, alpha=1.0):
    """celu, written to `input`."""
    return celu(input, alpha, True)


def leaky_relu_(input, negative_slope=0.01):
    """leaky_relu, written to `input`."""
    return leaky_relu(input, negative_slope, True)


def hardtanh_(input, min_val=-1.0, max_val=1.0):
    """hardtanh, written to `input`."""
    return hardtanh(input, min_val, max_val, True)


def threshold_(input, threshold, value):
    """threshold, written to `input`."""
    result = _ops["threshold"](input, threshold, value)
    return input.copy_(result)


def relu_(input):
    """relu, written to `input`."""
    return input.relu_()


def _implied_dim(input, dim):
    if dim is not None:
        return dim
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x - max) divided by its sum along `dim`; without one 0 for 0, 1 or 3 dimensions, else 1."""
    return _ops["softmax"](input, _implied_dim(input, dim), dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """x - max - log(sum(exp(x - max))) along `dim`; without one as softmax."""
    return _ops["log_softmax"](input, _implied_dim(input, dim), dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x)."""
    return _ops["softmax"](-input, _implied_dim(input, dim), dtype)


def one_hot(input, num_classes=-1):
    """A new last dimension that is 1 at the position the value names, by default as long as the largest needs."""
    if num_classes == -1:
        if input.numel() == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(input.max()) + 1
    return _ops["one_hot"](input, num_classes)


# --- layers


def linear(input, weight, bias=None):
    """input @ weight.T + bias, for any number of leading dimensions."""
    _need_tensors("linear", input=input, weight=weight)
    if weight.dim() != 2:
        result = input.matmul(weight)
        return result if bias is None else result + bias
    rows = input.reshape(1, -1) if input.dim() == 1 else input.flatten(0, -2)
    result = rows.mm(weight.t()) if bias is None else _C.addmm(bias, rows, weight.t())
    return result if input.dim() == 2 else result.view(*input.shape[:-1], weight.shape[0])


def bilinear(input1, input2, weight, bias=None):
    """input1 @ weight[k] @ input2 + bias[k] as the k-th output."""
    _need_tensors("bilinear", input1=input1, input2=input2, weight=weight)
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} and {list(input2.shape)}"
        )
    for number, given, size in ((1, input1, weight.shape[1]), (2, input2, weight.shape[2])):
        if given.shape[-1] != size:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {given.shape[-1]} but expected {size}"
            )
    left = input1.unsqueeze(-2).unsqueeze(-2).matmul(weight).squeeze(-2)
    result = (left * input2.unsqueeze(-2)).sum(-1)
    return result if bias is None else result + bias


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The row of `weight` that each index names.

    With `max_norm`, rows that are named and have a larger `norm_type`-norm are first scaled to it, in `weight` itself:
    by max_norm / (norm + 1e-7), as in torch.
    """
    _need_tensors("embedding", weight=weight, indices=input)
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.dtype not in (_C.int64, _C.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; "
            f"but got {input.dtype} instead (while checking arguments for embedding)"
        )
    index = input.reshape(-1)
    if max_norm is not None:
        with _no_grad():
            rows = weight.index_select(0, index)
            norm = rows.norm(norm_type, 1, keepdim=True).double()
            factor = _C.where(norm > max_norm, max_norm / (norm + 1e-7), 1.0).to(rows.dtype)
            weight.index_copy_(0, index.long(), rows * factor)
    return weight.index_select(0, index).view(*input.shape, weight.shape[1])


def dropout(input, p=0.5, training=True, inplace=False):
    """Elements zeroed with probability p, the others scaled by 1 / (1 - p)."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    kept = (_C.rand_like(input) >= p).to(input.dtype)
    scale = kept if p == 1.0 else kept / (1.0 - p)
    return input.mul_(scale) if inplace else input * scale


# --- normalization. Half precision is computed in float32 and rounded once, at the end.

_HALVES = (_C.float16, _C.bfloat16)


def _wide(tensor):
    return tensor.float() if tensor.dtype in _HALVES else tensor


def _scaled(result, weight, bias, dtype):
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result if result.dtype == dtype else result.to(dtype)


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
    return _scaled(result, _per_channel(weight, input), _per_channel(bias, input), input.dtype)


def _per_channel(values, input):
    return None if values is None else values.view(-1, *[1] * (input.dim() - 2))


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
    return _scaled(result, _per_channel(weight, input), _per_channel(bias, input), input.dtype)


def normalize(input, p=2.0, dim=1, eps=1e-12):
    """Norm 1 along `dim`."""
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps)


# --- distances, attention, padding


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors along `dim`."""
    product = (x1 * x2).sum(dim)
    norms = [(x * x).sum(dim).sqrt().clamp_min(eps) for x in (x1, x2)]
    return product / (norms[0] * norms[1])


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The norm of x1 - x2 + eps along the last dimension."""
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """softmax(query @ key.T * scale + mask) @ value; a row with nothing to attend to gives 0."""
    _need_tensors("scaled_dot_product_attention", query=query, key=key, value=value)
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query.matmul(key.transpose(-2, -1)) * factor
    if is_causal:
        attn_mask = _C.ones(query.shape[-2], key.shape[-2], dtype=_C.bool, device=query.device).tril()
    if attn_mask is None:
        shares = scores.softmax(-1)
    else:
        if attn_mask.dtype == _C.bool:
            scores = scores.masked_fill(~attn_mask, -math.inf)
        else:
            scores = scores + attn_mask
        nothing = (scores == -math.inf).all(-1, keepdim=True)
        shares = scores.softmax(-1).masked_fill(nothing, 0.0)
    if dropout_p > 0.0:
        shares = dropout(shares, dropout_p)
    return shares.matmul(value)


def pad(input, pad, mode="constant", value=None):
    """Adds pad[0] and pad[1] elements before and after the last dimension, pad[2] and pad[3] for the one before, ...

    A negative number takes away.
    """
    if mode != "constant":
        raise NotImplementedError(f"pad: mode '{mode}' is not part of minidynamo")
    if len(pad) % 2 != 0:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > input.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.dim()}"
        )
    fill = 0 if value is None else value
    result = input
    for number in range(len(pad) // 2):
        dim = input.dim() - 1 - number
        before, after = pad[2 * number], pad[2 * number + 1]
        size = result.shape[dim]
        if size + before + after < 0:
            raise RuntimeError(
                f"The input size {size}, plus negative padding {before} and {after} resulted in a negative output "
                f"size, which is invalid. Check dimension {dim} of your input."
            )
        start, length = max(-before, 0), size + min(before, 0) + min(after, 0)
        parts = [result.narrow(dim, start, length)]
        for amount, place in ((before, 0), (after, len(parts) + (before > 0))):
            if amount > 0:
                shape = list(result.shape)
                shape[dim] = amount
                parts.insert(place, _C.full(shape, fill, dtype=input.dtype, device=input.device))
        result = parts[0] if len(parts) == 1 else _C.cat(parts, dim)
    return result.clone() if result is input or not any(n > 0 for n in pad) else result


__getattr__ = _absent_names(__name__)

"""torch._decomp.decompositions: what operators are made of, one function each.

Half precision is computed in float32 and converted once at the end, where torch does so.
"""

import functools
import math

from .. import _C
from .._absent import absent_names as _absent_names

RULES = {}  # {"gelu", "add.Tensor", ...: function}


def _rule(*names):
    def register(function):
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def _in_float32(function):
    """Half-precision operands as float32, the result in their dtype."""

    @functools.wraps(function)
    def wrapped(x, *args, **kwargs):
        if not isinstance(x, _C.Tensor) or x.dtype not in (_C.float16, _C.bfloat16):
            return function(x, *args, **kwargs)
        rest = [a.float() if isinstance(a, _C.Tensor) and a.dtype == x.dtype else a for a in args]
        return function(x.float(), *rest, **kwargs).to(x.dtype)

    return wrapped


@_rule("gelu")
@_in_float32
def gelu(x, *, approximate="none"):
    if approximate == "tanh":
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * (x * x * x))
        return 0.5 * x * (1.0 + _C.tanh(inner))
    return 0.5 * x * (1.0 + _C.erf(x * math.sqrt(0.5)))


@_rule("silu")
@_in_float32
def silu(x):
    return x * _C.sigmoid(x)


@_rule("mish")
@_in_float32
def mish(x):
    return x * _C.tanh(_C.log1p(_C.exp(x)))


@_rule("softplus")
@_in_float32
def softplus(x, beta=1, threshold=20):
    scaled = x * beta
    return _C.where(scaled > threshold, x, _C.log1p(_C.exp(scaled)) / beta)


@_rule("elu")
@_in_float32
def elu(x, alpha=1, scale=1, input_scale=1):
    return _C.where(x > 0, x * scale, (alpha * scale) * _C.expm1(x * input_scale))


@_rule("leaky_relu")
@_in_float32
def leaky_relu(x, negative_slope=0.01):
    return _C.where(x > 0, x, x * negative_slope)


@_rule("hardtanh")
@_in_float32
def hardtanh(x, min_val=-1, max_val=1):
    return _C.clamp(x, min_val, max_val)


@_rule("relu6")
def relu6(x):
    return _C.clamp(x, 0, 6)


@_rule("hardsigmoid")
@_in_float32
def hardsigmoid(x):
    return _C.clamp(_C.clamp(x + 3, min=0), max=6) / 6


@_rule("hardswish")
@_in_float32
def hardswish(x):
    return x * _C.clamp(_C.clamp(x + 3, min=0), max=6) / 6


@_rule("threshold")
def threshold(x, threshold, value):
    return _C.where(x <= threshold, value, x)


@_rule("log_sigmoid", "logsigmoid")
@_in_float32
def log_sigmoid(x):
    return _C.clamp(x, max=0) - _C.log1p(_C.exp(-_C.abs(x)))


@_rule("sigmoid_backward")
def sigmoid_backward(grad_output, output):
    return grad_output * (output * (1 - output))


@_rule("tanh_backward")
def tanh_backward(grad_output, y):
    return grad_output * (1 - y * y)


@_rule("threshold_backward")
def threshold_backward(grad_output, x, threshold):
    return _C.where(x <= threshold, 0, grad_output)


@_rule("_softmax", "softmax.int")
def softmax(x, dim, half_to_float=None):
    dtype = half_to_float if isinstance(half_to_float, _C.dtype) else x.dtype
    wide = x.float() if x.dtype in (_C.float16, _C.bfloat16) else x.to(dtype)
    powers = _C.exp(wide - _C.amax(wide, [dim], True)) if wide.numel() else _C.exp(wide)
    return (powers / _C.sum(powers, [dim], True)).to(_C.float32 if half_to_float is True else dtype)


@_rule("_log_softmax", "log_softmax.int")
def log_softmax(x, dim, half_to_float=None):
    dtype = half_to_float if isinstance(half_to_float, _C.dtype) else x.dtype
    wide = x.float() if x.dtype in (_C.float16, _C.bfloat16) else x.to(dtype)
    shifted = wide - _C.amax(wide, [dim], True) if wide.numel() else wide
    found = shifted - _C.log(_C.sum(_C.exp(shifted), [dim], True))
    return found.to(_C.float32 if half_to_float is True else dtype)


@_rule("logsumexp")
def logsumexp(x, dim, keepdim=False):
    dims = list(dim) if isinstance(dim, (list, tuple)) else [dim]
    largest = _C.amax(x, dims, True)
    largest = _C.where(_C.abs(largest) == math.inf, 0.0, largest)
    found = _C.log(_C.sum(_C.exp(x - largest), dims, True)) + largest
    return found if keepdim else found.squeeze(tuple(dims))


@_rule("addmm")
def addmm(x, mat1, mat2, *, beta=1, alpha=1):
    product = _C.mm(mat1, mat2)
    return (x if beta == 1 else beta * x) + (product if alpha == 1 else alpha * product)


@_rule("addmv")
def addmv(x, mat, vec, *, beta=1, alpha=1):
    product = _C.mv(mat, vec)
    return (x if beta == 1 else beta * x) + (product if alpha == 1 else alpha * product)


@_rule("baddbmm")
def baddbmm(x, batch1, batch2, *, beta=1, alpha=1):
    product = _C.bmm(batch1, batch2)
    return (x if beta == 1 else beta * x) + (product if alpha == 1 else alpha * product)


@_rule("addcmul")
def addcmul(x, tensor1, tensor2, *, value=1):
    return x + value * tensor1 * tensor2


@_rule("addcdiv")
def addcdiv(x, tensor1, tensor2, *, value=1):
    return x + value * (tensor1 / tensor2)


@_rule("lerp.Scalar", "lerp.Tensor")
def lerp(start, end, weight):
    near = abs(weight) < 0.5 if isinstance(weight, (int, float)) else _C.abs(weight) < 0.5
    if isinstance(near, bool):
        return start + weight * (end - start) if near else end - (end - start) * (1 - weight)
    return _C.where(near, start + weight * (end - start), end - (end - start) * (1 - weight))


@_rule("t")
def t(x):
    return x.transpose(0, 1) if x.dim() > 1 else x


@_rule("rsub.Tensor", "rsub.Scalar")
def rsub(x, other, alpha=1):
    return other - (x if alpha == 1 else alpha * x)


@_rule("stack")
def stack(tensors, dim=0):
    return _C.cat([each.unsqueeze(dim) for each in tensors], dim)


@_rule("unbind.int")
def unbind(x, dim=0):
    return [x.select(dim, k) for k in range(x.shape[dim])]


@_rule("trace")
def trace(x):
    return x.diagonal().sum()


def _with_reduction(loss, reduction):
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


@_rule("mse_loss")
@_in_float32
def mse_loss(x, target, reduction=1):
    return _with_reduction((x - target) * (x - target), reduction)


@_rule("smooth_l1_loss")
@_in_float32
def smooth_l1_loss(x, target, reduction=1, beta=1.0):
    apart = _C.abs(x - target)
    return _with_reduction(_C.where(apart < beta, 0.5 * apart * apart / beta, apart - 0.5 * beta), reduction)


@_rule("huber_loss")
@_in_float32
def huber_loss(x, target, reduction=1, delta=1.0):
    apart = _C.abs(x - target)
    return _with_reduction(_C.where(apart <= delta, 0.5 * apart * apart, delta * (apart - 0.5 * delta)), reduction)


@_rule("binary_cross_entropy")
@_in_float32
def binary_cross_entropy(x, target, weight=None, reduction=1):
    loss = (target - 1) * _C.clamp(_C.log1p(-x), min=-100) - target * _C.clamp(_C.log(x), min=-100)
    return _with_reduction(loss if weight is None else loss * weight, reduction)


@_rule("native_layer_norm")
def native_layer_norm(x, normalized_shape, weight, bias, eps):
    wide = x.float() if x.dtype in (_C.float16, _C.bfloat16) else x
    dims = list(range(-len(normalized_shape), 0))
    variance, mean = _C.var_mean(wide, dims, correction=0, keepdim=True)
    scale = _C.rsqrt(variance + eps)
    out = (wide - mean) * scale
    out = out if weight is None else out * weight
    return (out if bias is None else out + bias).to(x.dtype), mean, scale


@_rule("layer_norm")
def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    return native_layer_norm(x, normalized_shape, weight, bias, eps)[0]


@_rule("native_group_norm")
def native_group_norm(x, weight, bias, N, C, HxW, group, eps):
    rows = x.reshape(N, group, -1)
    rows = rows.float() if x.dtype in (_C.float16, _C.bfloat16) else rows
    variance, mean = _C.var_mean(rows, [-1], correction=0, keepdim=True)
    scale = _C.rsqrt(variance + eps)
    out, shape = ((rows - mean) * scale).reshape(x.shape), [1, C, *[1] * (x.dim() - 2)]
    out = out if weight is None else out * weight.reshape(shape)
    out = out if bias is None else out + bias.reshape(shape)
    return out.to(x.dtype), mean.squeeze(-1), scale.squeeze(-1)


@_rule("tril")
def tril(x, diagonal=0):
    rows, columns = _C.arange(x.shape[-2], device=x.device).unsqueeze(-1), _C.arange(x.shape[-1], device=x.device)
    return _C.where(columns - rows <= diagonal, x, 0)


@_rule("triu")
def triu(x, diagonal=0):
    rows, columns = _C.arange(x.shape[-2], device=x.device).unsqueeze(-1), _C.arange(x.shape[-1], device=x.device)
    return _C.where(columns - rows >= diagonal, x, 0)


@_rule("embedding")
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return weight.index_select(0, indices) if indices.dim() == 1 else weight[indices]


@_rule("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(x, mask, value):
    return _C.where(mask, value, x).to(x.dtype)


@_rule("logit")
@_in_float32
def logit(x, eps=None):
    x = x if eps is None else _C.clamp(x, eps, 1 - eps)
    return _C.log(x / (1 - x))


@_rule("sinc")
def sinc(x):
    turned = math.pi * x
    return _C.where(turned == 0, 1, _C.sin(turned) / turned)


@_rule("frac")
def frac(x):
    return x - _C.trunc(x)


@_rule("heaviside")
def heaviside(x, values):
    return _C.where(x == 0, values, _C.where(x < 0, 0, 1).to(x.dtype))


@_rule("square")
def square(x):
    return x * x


__getattr__ = _absent_names(__name__)

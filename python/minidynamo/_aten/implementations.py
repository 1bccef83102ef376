"""What torch's operators compute that are no function of this package under the same name and arguments."""

import builtins
import math
from importlib import import_module

from .. import _C


def _to_copy(x, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    return x.to(device=device, dtype=x.dtype if dtype is None else dtype, copy=True, memory_format=memory_format)


def _softmax(x, dim, half_to_float):
    return x.softmax(dim)


def _log_softmax(x, dim, half_to_float):
    return x.log_softmax(dim)


def _part(x, dim=0, start=None, end=None, step=1):
    if not -x.dim() <= dim < x.dim():
        raise IndexError(f"slice: there is no dimension {dim} in a tensor of {x.dim()} dimensions")
    index = [builtins.slice(None)] * x.dim()
    index[dim] = builtins.slice(start, end, step)
    return x[tuple(index)]


def _all_or(indices):
    return tuple(builtins.slice(None) if i is None else i for i in indices)


def _index(x, indices):
    return x[_all_or(indices)]


def _index_put(x, indices, values, accumulate=False):
    return _index_put_(x.clone(), indices, values, accumulate)


def _index_put_(x, indices, values, accumulate=False):
    if not any(i is None for i in indices):
        return x.index_put_(tuple(indices), values, accumulate)
    places = _C.arange(x.numel(), device=x.device).view(x.shape)[_all_or(indices)]
    flat = x.reshape(-1).index_put((places.reshape(-1),), values.expand(places.shape).reshape(-1), accumulate)
    return x.copy_(flat.view(x.shape))


def _view(x, shape):
    made = x.view(shape)
    return made if _C.is_grad_enabled() else made.detach()  # nobody else has the memory


def _alias(x):
    return x.view(x.shape)


def _itself(x):
    return x


def _empty_strided_like(x, size, stride, **kwargs):
    kwargs.setdefault("dtype", x.dtype)
    return _C.empty_strided(size, stride, **kwargs)


def _convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    if transposed:
        from ..nn import functional

        call = getattr(functional, f"conv_transpose{x.dim() - 2}d")
        return call(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(_C, f"conv{x.dim() - 2}d")(x, weight, bias, stride, padding, dilation, groups)


def _vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    from .. import linalg

    return linalg.vector_norm(x, ord, dim, keepdim, dtype=dtype)


def _layer_norm(x, shape, weight, bias, eps):
    from ..nn import functional

    over = list(range(x.dim() - len(shape), x.dim()))
    rest = _C.rsqrt(x.var(over, correction=0, keepdim=True) + eps)
    return functional.layer_norm(x, shape, weight, bias, eps), x.mean(over, keepdim=True), rest


def _functional():
    from ..nn import functional

    return functional


def _group_norm(x, weight, bias, n, channels, rest, groups, eps):
    made = _functional().group_norm(x, groups, weight, bias, eps)
    parts = x.reshape([n, groups, -1])
    return made, parts.mean(2), _C.rsqrt(parts.var(2, correction=0) + eps)


def _batch_norm(x, weight, bias, mean, var, training, momentum, eps):
    made = _functional().batch_norm(x, mean, var, weight, bias, training, momentum, eps)
    if not training:
        nothing = x.new_empty([0])
        return made, nothing, nothing.clone()
    over = [d for d in range(x.dim()) if d != 1]
    return made, x.mean(over), _C.rsqrt(x.var(over, correction=0) + eps)


_WORDS = ("none", "mean", "sum")


def _loss(name, *further):
    """The function of nn.functional, which takes the reduction as a word."""

    def compute(x, target, reduction=1, *rest):
        named = dict(zip(further, rest))
        return getattr(_functional(), name)(x, target, reduction=_WORDS[reduction], **named)

    return compute


def _binary_cross_entropy(x, target, weight=None, reduction=1):
    return _functional().binary_cross_entropy(x, target, weight, reduction=_WORDS[reduction])


def _binary_cross_entropy_with_logits(x, target, weight=None, pos_weight=None, reduction=1):
    with_logits = _functional().binary_cross_entropy_with_logits
    return with_logits(x, target, weight, reduction=_WORDS[reduction], pos_weight=pos_weight)


def _nll_loss(x, target, weight, reduction, ignore_index):
    made = _functional().nll_loss(x, target, weight, ignore_index=ignore_index, reduction=_WORDS[reduction])
    counted = target != ignore_index
    total = counted.to(x.dtype) if weight is None else weight[_C.where(counted, target, 0)] * counted
    return made, total.sum() if reduction else x.new_zeros([])


def _embedding(weight, ids, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    at = None if padding_idx < 0 else padding_idx
    return _functional().embedding(ids, weight, at, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def _padded(mode):
    return lambda x, sizes: _functional().pad(x, list(sizes), mode)


def _resampled(mode):
    def compute(x, sizes, *further):
        corners = None if mode == "nearest" else further[0]
        factors = [f for f in further[0 if mode == "nearest" else 1 :] if f is not None]
        if factors:
            return _functional().interpolate(x, scale_factor=factors, mode=mode, align_corners=corners)
        return _functional().interpolate(x, list(sizes), mode=mode, align_corners=corners)

    return compute


def _attention(q, k, v, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    made = _functional().scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal, scale)
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        scores = scores.masked_fill(
            _C.ones(scores.shape[-2:], dtype=_C.bool, device=scores.device).tril().logical_not(), -math.inf
        )
    return made, (scores if attn_mask is None else scores + attn_mask).logsumexp(-1)


def _elu(x, alpha=1, scale=1, input_scale=1):
    return _C.where(x > 0, x * scale, _C.expm1(x * input_scale) * (alpha * scale))


def _largest_in_windows(spread):
    return lambda x, size: getattr(_functional(), f"adaptive_max_pool{spread}d")(x, list(size), return_indices=True)


def _sampled(x, grid, mode, padding, corners):
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return _functional().grid_sample(x, grid, modes[mode], paddings[padding], corners)


def _multi_margin_loss(x, target, p=1, margin=1, weight=None, reduction=1):
    return _functional().multi_margin_loss(x, target, p, margin, weight, reduction=_WORDS[reduction])


def _trilinear(a, weight, b, *expand):
    """Of `bilinear`: the only one that torch makes."""
    return _C.einsum("ni,oij,nj->no", a, weight, b)


def _polygamma(n, x):
    from ..special import polygamma

    return polygamma(n, x)


def _cdist(x1, x2, p, compute_mode):
    return _C.cdist(x1, x2, p)


def _threshold_backward(grad, x, threshold):
    return _C.where(x > threshold, grad, 0)


def _softmax_backward(grad, out, dim, dtype):
    return out * (grad - (grad * out).sum(dim, keepdim=True))


def _log_softmax_backward(grad, out, dim, dtype):
    return grad - out.exp() * grad.sum(dim, keepdim=True)


def _pooled(spread):
    def adaptive(x, output_size):
        from ..nn import functional

        return getattr(functional, f"adaptive_avg_pool{spread}d")(x, output_size)

    return adaptive


def _scale(x, dims, normalization):
    count = math.prod(x.shape[d] for d in dims)
    return (1.0, 1 / math.sqrt(count or 1), 1 / (count or 1))[normalization]


def _fft_c2c(x, dim, normalization, forward):
    return _C._fourier(x, list(dim), not forward, _scale(x, dim, normalization))


def _fft_r2c(x, dim, normalization, onesided):
    made = _fft_c2c(x.to(x.dtype.to_complex()), dim, normalization, True)
    return made.narrow(dim[-1], 0, made.shape[dim[-1]] // 2 + 1) if onesided else made


def _fft_c2r(x, dim, normalization, last_dim_size):
    from .. import fft

    sizes = [x.shape[d] for d in dim[:-1]] + [last_dim_size]
    return fft.irfftn(x, sizes, dim, ("forward", "ortho", "backward")[normalization])


IMPLEMENTATIONS = {
    "_fft_c2c": _fft_c2c,
    "_fft_r2c": _fft_r2c,
    "_fft_c2r": _fft_c2r,
    "_to_copy": _to_copy,
    "_softmax": _softmax,
    "_log_softmax": _log_softmax,
    "slice": _part,
    "index": _index,
    "index_put": _index_put,
    "index_put_": _index_put_,
    "_unsafe_view": _view,
    "_reshape_alias": lambda x, size, stride: x.as_strided(size, stride),
    "alias": _alias,
    "lift": _itself,
    "lift_fresh": _itself,
    "lift_fresh_copy": lambda x: x.clone(),
    "_local_scalar_dense": lambda x: x.item(),
    "new_empty_strided": _empty_strided_like,
    "convolution": _convolution,
    "linalg_vector_norm": _vector_norm,
    "native_layer_norm": _layer_norm,
    "native_group_norm": _group_norm,
    "native_batch_norm": _batch_norm,
    "mse_loss": _loss("mse_loss"),
    "smooth_l1_loss": _loss("smooth_l1_loss", "beta"),
    "huber_loss": _loss("huber_loss", "delta"),
    "soft_margin_loss": _loss("soft_margin_loss"),
    "binary_cross_entropy": _binary_cross_entropy,
    "binary_cross_entropy_with_logits": _binary_cross_entropy_with_logits,
    "nll_loss_forward": _nll_loss,
    "nll_loss2d_forward": _nll_loss,
    "embedding": _embedding,
    "reflection_pad1d": _padded("reflect"),
    "reflection_pad2d": _padded("reflect"),
    "reflection_pad3d": _padded("reflect"),
    "replication_pad1d": _padded("replicate"),
    "replication_pad2d": _padded("replicate"),
    "replication_pad3d": _padded("replicate"),
    "upsample_nearest1d": _resampled("nearest"),
    "upsample_nearest2d": _resampled("nearest"),
    "upsample_nearest3d": _resampled("nearest"),
    "upsample_linear1d": _resampled("linear"),
    "upsample_bilinear2d": _resampled("bilinear"),
    "upsample_bicubic2d": _resampled("bicubic"),
    "upsample_trilinear3d": _resampled("trilinear"),
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_prelu_kernel": lambda x, weight: _C.where(x > 0, x, weight * x),
    "elu": _elu,
    "polygamma": _polygamma,
    "diagonal_copy": lambda x, offset=0, dim1=0, dim2=1: x.diagonal(offset, dim1, dim2).clone(),
    "__lshift__": _C.bitwise_left_shift,
    "__rshift__": _C.bitwise_right_shift,
    "adaptive_max_pool2d": _largest_in_windows(2),
    "adaptive_max_pool3d": _largest_in_windows(3),
    "grid_sampler_2d": _sampled,
    "grid_sampler_3d": _sampled,
    "affine_grid_generator": lambda theta, size, corners: _functional().affine_grid(theta, list(size), corners),
    "multi_margin_loss": _multi_margin_loss,
    "_trilinear": _trilinear,
    "_pdist_forward": lambda x, p=2: _functional().pdist(x, p),
    "split_with_sizes": lambda x, sizes, dim=0: x.split(list(sizes), dim),
    "_cdist_forward": _cdist,
    "_adaptive_avg_pool2d": _pooled(2),
    "_adaptive_avg_pool3d": _pooled(3),
    "threshold_backward": _threshold_backward,
    "_softmax_backward_data": _softmax_backward,
    "_log_softmax_backward_data": _log_softmax_backward,
    "sigmoid_backward": lambda grad, out: grad * out * (1 - out),
    "tanh_backward": lambda grad, out: grad * (1 - out * out),
}
_HOMES = ("", "nn.functional", "linalg", "special")
# Of losses.py, which is read when the first of them is asked for.
_LOSSES = """mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits nll_loss
    nll_loss_forward cross_entropy_loss kl_div soft_margin_loss hinge_embedding_loss margin_ranking_loss
    cosine_embedding_loss triplet_margin_loss multi_margin_loss multilabel_margin_loss poisson_nll_loss
    ctc_loss""".split()
IMPLEMENTATIONS |= {name: (lambda *args, _name=name, **kwargs: _loss(_name)(*args, **kwargs)) for name in _LOSSES}


# Of a file of their own.
_FURTHER = """elu_ hardtanh_ leaky_relu_ silu_ mish_ hardswish_ hardsigmoid_ celu_ selu_ relu6_ threshold_
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d _upsample_bilinear2d_aa
    _upsample_bicubic2d_aa _unique2 unique_consecutive _linalg_check_errors _linalg_det _linalg_slogdet _linalg_solve_ex
    _linalg_eigh _linalg_svd linalg_lu linalg_pinv
    fake_quantize_per_tensor_affine_cachemask max_unpool2d max_unpool3d conv_tbc multilabel_margin_loss_forward
    narrow_copy log_sigmoid_forward""".split()


def _loss(name):
    from .losses import LOSSES

    return LOSSES[name]


def is_implemented(base):
    """Whether the operator is computed by a function of ours, and is no op of the table as it is."""
    return base in IMPLEMENTATIONS or base in _FURTHER


def implementation(base):
    """The callable that computes the operator of this name; None if there is none here."""
    if base in _FURTHER:
        return import_module(".further_operators", __package__).OPERATORS[base]
    if base in IMPLEMENTATIONS:
        return IMPLEMENTATIONS[base]
    if base.endswith(("_backward", "_backward_data")):
        known = import_module(".backward_operators", __package__).BACKWARD_OPERATORS  # it looks up forward ones here
        if base in known:
            return known[base]
    found = getattr(_C, base, None)
    if callable(found) and not isinstance(found, type):
        return found
    if base.endswith("_") and not base.endswith("__"):
        return getattr(_C.Tensor, base, None)
    try:
        return _C._op_function(base)
    except KeyError:
        pass
    found = getattr(_C.Tensor, base, None)
    if callable(found):
        return found
    space, _, name = base.partition("_")
    if space in ("linalg", "special", "fft") and name:
        return getattr(import_module(f"{__package__.rpartition('.')[0]}.{space}"), name, None)
    root = __package__.rpartition(".")[0]
    for home in _HOMES:
        found = getattr(import_module(f"{root}.{home}" if home else root), base, None)
        if callable(found) and not isinstance(found, type):
            return found
    return None


_C._mark_callable(implementation, "constant")  # traces do not follow how it is found


def without_places(kwargs):
    """Keyword arguments without those that say nothing here."""
    return {
        name: value
        for name, value in kwargs.items()
        if not (name == "layout" or (name == "pin_memory" and not value) or (name == "non_blocking" and not value))
    }

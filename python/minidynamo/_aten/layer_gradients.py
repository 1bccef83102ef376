"""Formulas as in `gradient_formulas.py` for reductions, layers and losses."""

from .. import _C
from . import modes
from .derivatives import call as operator
from .gradient_formulas import _dims, _divided, _kind, _scaled, _sign, _unary, _unreduced, _zeroed

# --- Reductions ------------------------------------------------------------------------------------------------------


def _spread(grad, call, dim=None, keepdim=False):
    return _unreduced(grad, call, dim, keepdim).expand(call.shape("self"))


def _mean(grad, call, dim=None, keepdim=False):
    count = 1
    for d in _dims(call, dim) or range(call.rank("self")):
        count *= call.shape("self")[d]
    return _divided(_spread(grad, call, dim, keepdim), count)


def _variance(grad, self, call, dim=None, correction=1, keepdim=False):
    dims = _dims(call, dim)
    count = 1
    for d in dims or range(self.dim()):
        count *= self.shape[d]
    left = count - (1 if correction is None else correction)
    if left <= 0:
        return NotImplemented
    if dims:
        grad = _unreduced(grad, call, dim, keepdim)
    apart = self - (self.mean(dims, keepdim=True) if dims else self.mean())
    return _scaled(grad, 2.0 / left) * apart


def _deviation(grad, self, result, call, dim=None, correction=1, keepdim=False):
    share = grad / _scaled(result, 2)
    share = _zeroed(share, result == 0)
    return _variance(share, self, call, dim, correction, keepdim)


def _shared_among(grad, mask):
    return mask * (grad / mask.sum())


def _extreme(grad, self, result):
    """Of all elements: those that equal it share the gradient, and so do those that are no numbers."""
    both = _C.logical_and(self.isnan(), result.isnan())
    mask = operator("logical_or_", self == result, both)
    return _shared_among(grad, mask)


def _shaped(x, call, dim, keepdim):
    sizes = call.shape("self")
    for d in _dims(call, dim) or range(len(sizes)):
        sizes[d] = 1
    return x if keepdim else x.view(sizes)


def _extreme_along(grad, self, result, call, dim=(), keepdim=False):
    wide = _dims(call, dim)
    best = _shaped(result, call, dim, keepdim) if wide else result.view([])
    mask = best == self
    grad = _shaped(grad, call, dim, keepdim) if wide else grad.view([])
    return grad / mask.sum(wide or list(range(self.dim())), keepdim=True) * mask


def _at_positions(grad, result1, call, dim, keepdim=False):
    if call.rank("self") == 0:
        return NotImplemented
    if not keepdim:
        grad, result1 = grad.unsqueeze(dim), result1.unsqueeze(dim)
    zeros = grad.new_zeros(call.shape("self"))
    return operator("scatter", zeros, dim, result1, grad, overload="src")


def _sorted_back(grad, result1, call, dim):
    return _at_positions(grad, result1, call, dim, True)


def _norm(grad, self, result, call, ord=2, p=None, dim=None, keepdim=False):
    order = ord if p is None else p
    if call.rank("self") == 0:
        return NotImplemented
    if dim is not None and not keepdim:
        grad, result = _unreduced(grad, call, dim, False), _unreduced(result, call, dim, False)
    if order == 1:
        return _sign(self) * grad
    if order != 2:
        return NotImplemented
    return grad * _zeroed(self / result, result == 0)


def _log_sum(grad, self, result, call, dim, keepdim=False):
    if not keepdim:
        grad, result = _unreduced(grad, call, dim, False), _unreduced(result, call, dim, False)
    return grad * (self - result).exp()


def _summed_back(grad, call, dim):
    grad = grad.to(call.type_of("self").dtype)
    return grad.flip([dim]).cumsum(dim).flip([dim])


_REDUCTIONS = {
    "sum": _spread,
    "mean": _mean,
    "var": _variance,
    "var.unbiased": lambda grad, self, call, unbiased: _variance(grad, self, call, None, int(unbiased)),
    "std": _deviation,
    "max": _extreme,
    "min": _extreme,
    "nanmedian": _extreme,
    "amax": _extreme_along,
    "amin": _extreme_along,
    "max.dim": _at_positions,
    "min.dim": _at_positions,
    "median": _extreme,
    "median.dim": _at_positions,
    "nanmedian.dim": _at_positions,
    "kthvalue": _at_positions,
    "mode": _at_positions,
    "sort": _sorted_back,
    "topk": _sorted_back,
    "linalg_vector_norm": _norm,
    "logsumexp": _log_sum,
    "cumsum": _summed_back,
    "gather": lambda grad, call, dim, index: grad.new_zeros(call.shape("self")).scatter_add(dim, index, grad),
    "index_select": lambda grad, call, dim, index: operator(
        "index_add", grad.new_zeros(call.shape("self"), **_kind(grad)), dim, index, grad
    ),
    "_softmax": lambda grad, result, dim: operator("_softmax_backward_data", grad, result, dim, result.dtype),
    "_log_softmax": lambda grad, result, dim: operator("_log_softmax_backward_data", grad, result, dim, result.dtype),
}
_REDUCTIONS["softmax"] = _REDUCTIONS["_softmax"]
_REDUCTIONS["log_softmax"] = _REDUCTIONS["_log_softmax"]
_REDUCTIONS["norm"] = _norm

# --- Layers ----------------------------------------------------------------------------------------------------------


def _named(values, *names):
    """The gradients that were asked for; what an operator gives for the others is nothing."""
    return dict(zip(names, values))


def _layer_norm(grad, input, normalized_shape, weight, bias, result1, result2, call):
    mask = call.mask("input", "weight", "bias")
    made = operator(
        "native_layer_norm_backward", grad, input, list(normalized_shape), result1, result2, weight, bias, mask
    )
    return _named(made, "input", "weight", "bias")


def _group_norm(grad, input, weight, N, C, HxW, group, result1, result2, call):
    mask = call.mask("input", "weight", "bias")
    made = operator("native_group_norm_backward", grad, input, result1, result2, weight, N, C, HxW, group, mask)
    return _named(made, "input", "weight", "bias")


def _batch_norm(grad, input, weight, running_mean, running_var, training, eps, result1, result2, call):
    mask = call.mask("input", "weight", "bias")
    made = operator(
        "native_batch_norm_backward", grad, input, weight, running_mean, running_var, result1, result2, training, eps,
        mask,
    )  # fmt: skip
    return _named(made, "input", "weight", "bias")


def _convolution(
    grad, weight, stride, padding, dilation, groups, call, input=None, self=None, bias=None, transposed=False,
    output_padding=None,
):  # fmt: skip
    """Also of the op of this package without a bias."""
    first, x = ("input", input) if self is None else ("self", self)
    mask = call.mask(first, "weight", "bias")
    made = operator(
        "convolution_backward", grad, x, weight, [0] if bias is None else list(bias.shape), list(stride),
        list(padding), list(dilation), transposed, output_padding or [0] * (x.dim() - 2), groups, mask,
    )  # fmt: skip
    return _named(made, first, "weight", "bias")


def _pooled(base):
    def formula(grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        return operator(
            base, grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )  # fmt: skip

    return {"self": formula}


def _largest(base):
    def formula(grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1):
        return operator(base, grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1)

    return {"self": formula}


def _resampled(base, spread, corners):
    names = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}[spread]

    def back(grad, call, output_size, aligned, scales):
        return operator(base, grad, output_size, call.shape("self"), *aligned, *scales)

    if corners:
        return {
            1: lambda grad, call, output_size, align_corners, scales: back(
                grad, call, output_size, [align_corners], [scales]
            ),
            2: lambda grad, call, output_size, align_corners, scales_h, scales_w: back(
                grad, call, output_size, [align_corners], [scales_h, scales_w]
            ),
            3: lambda grad, call, output_size, align_corners, scales_d, scales_h, scales_w: back(
                grad, call, output_size, [align_corners], [scales_d, scales_h, scales_w]
            ),
        }[spread]
    return {
        1: lambda grad, call, output_size, scales: back(grad, call, output_size, [], [scales]),
        2: lambda grad, call, output_size, scales_h, scales_w: back(grad, call, output_size, [], [scales_h, scales_w]),
        3: lambda grad, call, output_size, scales_d, scales_h, scales_w: back(
            grad, call, output_size, [], [scales_d, scales_h, scales_w]
        ),
    }[len(names)]


def _attention(grad, query, key, value, result0, result1, dropout_p, is_causal, call, attn_mask=None, scale=None):
    named = {"attn_mask": attn_mask} | ({} if scale is None else {"scale": scale})
    made = operator(
        "_scaled_dot_product_flash_attention_for_cpu_backward", grad, query, key, value, result0, result1, dropout_p,
        is_causal, **named,
    )  # fmt: skip
    return _named(made, "query", "key", "value")


def _sampled(spread):
    def formula(grad, input, grid, interpolation_mode, padding_mode, align_corners, call):
        base = f"grid_sampler_{spread}d_backward"
        mask = call.mask("input", "grid")
        made = operator(base, grad, input, grid, interpolation_mode, padding_mode, align_corners, mask)
        return _named(made, "input", "grid")

    return {"*": formula}


def _distances(grad, x1, x2, p, result, call):
    found = {}
    if call.wanted.get("x1"):
        found["x1"] = operator("_cdist_backward", grad, x1, x2, p, result)
    if call.wanted.get("x2"):
        turned = [t.transpose(-2, -1).contiguous() for t in (grad, result)]
        found["x2"] = operator("_cdist_backward", turned[0], x2, x1, p, turned[1])
    return found


def _embedded(grad, indices, call, padding_idx, scale_grad_by_freq, sparse):
    if sparse:
        return NotImplemented
    rows = call.shape("weight")[0]
    return operator("embedding_dense_backward", grad, indices, rows, padding_idx, scale_grad_by_freq)


def _prelu(grad, self, weight):
    return _named(operator("_prelu_kernel_backward", grad, self, weight), "self", "weight")


def _wide(kept):
    """As torch has kept it: modes see nothing of it."""
    with modes.none_active():
        return kept.unsqueeze(-2)


def _of_windows(grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """One dimension is two, the first of which is 1."""
    spread = len(kernel_size)
    rest = [ceil_mode, count_include_pad, divisor_override]
    if spread > 1:
        return operator(f"avg_pool{spread}d_backward", grad, self, kernel_size, list(stride or ()), padding, *rest)
    front = [[1, *kernel_size], [1, *(stride or kernel_size)], [0, *padding]]
    made = operator("avg_pool2d_backward", grad.unsqueeze(-2), _wide(self), *front, *rest)
    return operator("squeeze", made, -2, overload="dim")


def _of_largest(grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1):
    spread = len(kernel_size)
    if spread > 1:
        base, sizes = f"max_pool{spread}d_with_indices_backward", [kernel_size, list(stride or ()), padding, dilation]
        return operator(base, grad, self, *sizes, ceil_mode, result1)
    front = [[1, *kernel_size], [1, *(stride or kernel_size)], [0, *padding], [1, *dilation]]
    wide = grad.unsqueeze(-2), _wide(self)
    made = operator("max_pool2d_with_indices_backward", *wide, *front, ceil_mode, _wide(result1))
    return operator("squeeze", made, -2, overload="dim")


def _of_parts(grad, self, output_size):
    spread = len(output_size)
    if spread == 1:
        made = operator("_adaptive_avg_pool2d_backward", grad.unsqueeze(-2), _wide(self))
        return operator("squeeze", made, -2, overload="dim")
    if spread == 2 and list(output_size) == [1, 1]:
        count = self.shape[-1] * self.shape[-2]
        return _divided(grad.expand(self.shape), count)
    return operator(f"_adaptive_avg_pool{spread}d_backward", grad, self)


def _largest_of_parts(grad, self, output_size, result1):
    spread = len(output_size)
    if spread > 1:
        return operator(f"adaptive_max_pool{spread}d_backward", grad, self, result1)
    made = operator("adaptive_max_pool2d_backward", grad.unsqueeze(-2), _wide(self), _wide(result1))
    return operator("squeeze", made, -2, overload="dim")


_LAYERS = {
    "avg_pool": _unary(_of_windows),
    "max_pool": _unary(_of_largest),
    "adaptive_avg_pool": _unary(_of_parts),
    "adaptive_max_pool": _unary(_largest_of_parts),
    "native_layer_norm": {"*": _layer_norm},
    "native_group_norm": {"*": _group_norm},
    "native_batch_norm": {"*": _batch_norm},
    "convolution": {"*": _convolution},
    "avg_pool2d": _pooled("avg_pool2d_backward"),
    "avg_pool3d": _pooled("avg_pool3d_backward"),
    "max_pool2d_with_indices": _largest("max_pool2d_with_indices_backward"),
    "max_pool3d_with_indices": _largest("max_pool3d_with_indices_backward"),
    "_adaptive_avg_pool2d": _unary(lambda grad, self: operator("_adaptive_avg_pool2d_backward", grad, self)),
    "_adaptive_avg_pool3d": _unary(lambda grad, self: operator("_adaptive_avg_pool3d_backward", grad, self)),
    "adaptive_max_pool2d": _unary(
        lambda grad, self, result1: operator("adaptive_max_pool2d_backward", grad, self, result1)
    ),
    "adaptive_max_pool3d": _unary(
        lambda grad, self, result1: operator("adaptive_max_pool3d_backward", grad, self, result1)
    ),
    "_scaled_dot_product_flash_attention_for_cpu": {"*": _attention},
    "grid_sampler_2d": _sampled(2),
    "grid_sampler_3d": _sampled(3),
    "_cdist_forward": {"*": _distances},
    "_pdist_forward": _unary(lambda grad, self, p, result: operator("_pdist_backward", grad, self, p, result)),
    "embedding": {"weight": _embedded},
    "_prelu_kernel": {"*": _prelu},
    "constant_pad_nd": _unary(lambda grad, pad: operator("constant_pad_nd", grad, [-n for n in pad])),
    "upsample_nearest1d": _unary(_resampled("upsample_nearest1d_backward", 1, False)),
    "upsample_nearest2d": _unary(_resampled("upsample_nearest2d_backward", 2, False)),
    "upsample_nearest3d": _unary(_resampled("upsample_nearest3d_backward", 3, False)),
    "upsample_linear1d": _unary(_resampled("upsample_linear1d_backward", 1, True)),
    "upsample_bilinear2d": _unary(_resampled("upsample_bilinear2d_backward", 2, True)),
    "upsample_bicubic2d": _unary(_resampled("upsample_bicubic2d_backward", 2, True)),
    "upsample_trilinear3d": _unary(_resampled("upsample_trilinear3d_backward", 3, True)),
}
for _kind_of_edge in ("reflection", "replication"):
    for _spread_of in (1, 2, 3):
        _base = f"{_kind_of_edge}_pad{_spread_of}d"
        _LAYERS[_base] = _unary(
            lambda grad, self, padding, _base=_base: operator(f"{_base}_backward", grad, self, padding)
        )

# --- Losses ----------------------------------------------------------------------------------------------------------


def _of_both(base, parameter=None):
    """A loss that is the same with its two tensors exchanged."""

    def back(grad, x, y, reduction, further):
        return operator(base, grad, x, y, reduction, *further)

    if parameter is None:
        return {
            "self": lambda grad, self, target, reduction: back(grad, self, target, reduction, []),
            "target": lambda grad, self, target, reduction: back(grad, target, self, reduction, []),
        }
    if parameter == "beta":
        return {
            "self": lambda grad, self, target, reduction, beta: back(grad, self, target, reduction, [beta]),
            "target": lambda grad, self, target, reduction, beta: back(grad, target, self, reduction, [beta]),
        }
    return {
        "self": lambda grad, self, target, reduction, delta: back(grad, self, target, reduction, [delta]),
        "target": lambda grad, self, target, reduction, delta: back(grad, target, self, reduction, [delta]),
    }


def _likelihood(base):
    def formula(grad, self, target, weight, reduction, ignore_index, result1):
        return operator(base, grad, self, target, weight, reduction, ignore_index, result1)

    return {"self": formula}


def _with_logits(grad, self, target, weight, pos_weight, reduction):
    if weight is not None or pos_weight is not None:
        return NotImplemented
    made = (self.sigmoid() - target) * grad
    if reduction != 1:
        return made
    if _C.is_grad_enabled():
        return _divided(made, self.numel())
    return operator("div_", made, self.numel(), overload="Scalar")


_LOSSES = {
    "mse_loss": _of_both("mse_loss_backward"),
    "smooth_l1_loss": _of_both("smooth_l1_loss_backward", "beta"),
    "huber_loss": _of_both("huber_loss_backward", "delta"),
    "soft_margin_loss": {
        "self": lambda grad, self, target, reduction: operator(
            "soft_margin_loss_backward", grad, self, target, reduction
        )
    },
    "binary_cross_entropy": {
        "self": lambda grad, self, target, weight, reduction: operator(
            "binary_cross_entropy_backward", grad, self, target, weight, reduction
        )
    },
    "binary_cross_entropy_with_logits": {"self": _with_logits},
    "nll_loss_forward": _likelihood("nll_loss_backward"),
    "nll_loss2d_forward": _likelihood("nll_loss2d_backward"),
    "multi_margin_loss": {
        "self": lambda grad, self, target, p, margin, weight, reduction: operator(
            "multi_margin_loss_backward", grad, self, target, p, margin, weight, reduction
        )
    },
}

LAYER_FORMULAS = {
    "vector_norm": {"x": _norm},
    **{name: _unary(formula) for name, formula in _REDUCTIONS.items()},
    **_LAYERS,
    **_LOSSES,
}

# Results that no gradient goes through: taken out, they are no others.
KEPT_APART = {
    "native_layer_norm": ("result1", "result2"),
    "native_batch_norm": ("result1", "result2"),
    "_scaled_dot_product_flash_attention_for_cpu": ("result1",),
} | dict.fromkeys(
    """log_sigmoid_forward nll_loss_forward nll_loss2d_forward adaptive_max_pool2d adaptive_max_pool3d
    adaptive_max_pool max_pool max_pool2d_with_indices max_pool3d_with_indices max.dim min.dim median.dim nanmedian.dim
    kthvalue mode sort topk""".split(),
    ("result1",),
)

"""What torch's operators for the way back compute: the derivative of the operator they belong to."""

import math

from .. import _C
from .._dynamo.eval_frame import is_compiling
from ..func import vjp


def _differentiated(forward, tensors, wanted, grad):
    """The gradients of forward(*tensors), or of its first result, for the wanted tensors; None for the others. They
    are differentiable themselves where that is asked for."""
    if is_compiling():
        return _differentiated_in_trace(forward, tensors, wanted, grad)
    from ..autograd import grad as gradients

    again = _C.is_grad_enabled()
    try:
        _C._set_grad_enabled(True)
        taken = [
            t if not w else t.view(t.shape) if again and t.requires_grad else t.detach().requires_grad_()
            for t, w in zip(tensors, wanted)
        ]
        made = forward(*taken)
        made = made if isinstance(made, _C.Tensor) else made[0]
        watched = [t for t, w in zip(taken, wanted) if w]
        found = iter(gradients(made, watched, grad, create_graph=again, allow_unused=True))
    finally:
        _C._set_grad_enabled(again)
    out = [next(found) if w else None for w in wanted]
    return [_C.zeros_like(t) if w and g is None else g for t, w, g in zip(tensors, wanted, out)]


def _differentiated_in_trace(forward, tensors, wanted, grad):
    """The same as a transform, which a graph can hold."""
    places = [k for k, w in enumerate(wanted) if w]

    def of_places(*leaves):
        given = list(tensors)
        for place, leaf in zip(places, leaves):
            given[place] = leaf
        made = forward(*given)
        return made if isinstance(made, _C.Tensor) else made[0]

    _, pull = vjp(of_places, *[tensors[k] for k in places])
    found = dict(zip(places, pull(grad)))
    return [found.get(k) for k in range(len(tensors))]


def _of(base):
    """grad, x, further: of the operator `base` of x and the rest."""

    def compute(grad, x, *further, **named):
        from .implementations import implementation

        forward = implementation(base)
        return _differentiated(lambda t: forward(t, *further, **named), [x], [True], grad)[0]

    return compute


def _of_sizes(base):
    """grad, sizes of the result, sizes of the operand, further."""

    def compute(grad, output_size, input_size, *further):
        from .implementations import implementation

        forward = implementation(base)
        x = grad.new_zeros(input_size)
        return _differentiated(lambda t: forward(t, output_size, *further), [x], [True], grad)[0]

    return compute


def _elu(grad, alpha, scale, input_scale, is_result, x):
    from .implementations import implementation

    if is_result:
        return grad * _C.where(x <= 0, (x + alpha * scale) * input_scale, scale)
    forward = implementation("elu")
    return _differentiated(lambda t: forward(t, alpha, scale, input_scale), [x], [True], grad)[0]


def _leaky_relu(grad, x, slope, is_result):
    return _C.where(x > 0, grad, grad * slope)


def _rrelu(grad, x, noise, lower, upper, training, is_result):
    if training and upper - lower > 1e-6:
        return grad * noise
    return _leaky_relu(grad, x, (lower + upper) / 2, is_result)


def _log_sigmoid(grad, x, buffer):
    return grad * (-x).sigmoid()


def _prelu(grad, x, weight):
    return _C.where(x > 0, grad, weight * grad), _C.where(x > 0, 0, x * grad)


def _written(base):
    """grad, sizes, place: into zeros."""

    def compute(grad, sizes, *place):
        from .implementations import implementation

        return implementation(base)(grad.new_zeros(sizes), grad, *place)

    return compute


def _unfold(grad, sizes, dim, size, step):
    return _differentiated(lambda t: t.unfold(dim, size, step), [grad.new_zeros(sizes)], [True], grad)[0]


def _largest(spread):
    """Each gradient goes to the place its largest value was found at, a number within the last dimensions."""

    def compute(grad, x, *further):
        indices = further[-1]
        kept = list(x.shape[: x.dim() - spread])
        zeros = grad.new_zeros([*kept, math.prod(x.shape[x.dim() - spread :])])
        return zeros.scatter_add(-1, indices.reshape([*kept, -1]), grad.reshape([*kept, -1])).view(x.shape)

    return compute


def _average(spread):
    def compute(grad, x):
        from ..nn import functional

        forward = getattr(functional, f"adaptive_avg_pool{spread}d")
        return _differentiated(lambda t: forward(t, list(grad.shape[-spread:])), [x], [True], grad)[0]

    return compute


def _convolution(grad, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask):
    from .implementations import implementation

    forward = implementation("convolution")
    further = stride, padding, dilation, transposed, output_padding, groups
    made = _differentiated(lambda a, b: forward(a, b, None, *further), [x, weight], mask[:2], grad)
    bias = grad.sum([d for d in range(grad.dim()) if d != 1]) if mask[2] else None
    return *(None if g is None else g.contiguous() for g in made), bias


def _statistics(x, over, mean, rstd):
    """As they were, or again as functions of x, where the gradient is differentiated itself."""
    if not _C.is_grad_enabled():
        return mean, rstd
    spread = x.var(over, correction=0, keepdim=True)
    eps = (rstd**-2 - spread).detach()
    return x.mean(over, keepdim=True), (spread + eps).rsqrt()


def _normalized(grad, x, over, mean, rstd):
    """(the gradient of x, x normalised) for the gradient of the normalised x."""
    mean, rstd = _statistics(x, over, mean, rstd)
    made = (x - mean) * rstd
    along = made * (grad * made).mean(over, keepdim=True)
    return rstd * (grad - grad.mean(over, keepdim=True) - along), made


def _of_mask(mask, *made):
    return tuple(f() if m else None for m, f in zip(mask, made))


def _layer_norm(grad, x, shape, mean, rstd, weight, bias, mask):
    over = list(range(x.dim() - len(shape), x.dim()))
    rows = list(range(x.dim() - len(shape)))
    back, made = _normalized(grad if weight is None else grad * weight, x, over, mean, rstd)
    return _of_mask(
        mask, lambda: back, lambda: (grad * made).sum(rows) if rows else grad * made,
        lambda: grad.sum(rows) if rows else grad,
    )  # fmt: skip


def _group_norm(grad, x, mean, rstd, weight, n, channels, rest, groups, mask):
    wide = [n, groups, -1]
    scaled = grad if weight is None else grad * weight.view([1, channels] + [1] * (x.dim() - 2))
    means = [t.reshape([n, groups, 1]) for t in (mean, rstd)]
    back, made = _normalized(scaled.reshape(wide), x.reshape(wide), [2], *means)
    over = [d for d in range(x.dim()) if d != 1]
    made = made.reshape(x.shape)
    return _of_mask(mask, lambda: back.reshape(x.shape), lambda: (grad * made).sum(over), lambda: grad.sum(over))


def _batch_norm(grad, x, weight, running_mean, running_var, mean, rstd, training, eps, mask):
    over, line = [d for d in range(x.dim()) if d != 1], [1, -1] + [1] * (x.dim() - 2)
    scaled = grad if weight is None else grad * weight.view(line)
    if training and mean is None:
        mean, rstd = x.mean(over), (x.var(over, unbiased=False) + eps).rsqrt()
    if training:
        back, made = _normalized(scaled, x, over, mean.view(line), rstd.view(line))
    else:
        scale = (running_var + eps).rsqrt().view(line)
        back, made = scaled * scale, (x - running_mean.view(line)) * scale
    return _of_mask(mask, lambda: back, lambda: (grad * made).sum(over), lambda: grad.sum(over))


def _attention(grad, q, k, v, out, total, dropout_p, is_causal, *, attn_mask=None, scale=None):
    from ..nn import functional

    def forward(q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, attn_mask, 0.0, is_causal, scale)

    return tuple(_differentiated(forward, [q, k, v], [True] * 3, grad))


def _sampled(grad, x, grid, mode, padding, corners, mask):
    from .implementations import implementation

    forward = implementation("grid_sampler_2d")
    made = _differentiated(lambda a, b: forward(a, b, mode, padding, corners), [x, grid], [True, True], grad)
    return tuple(g if m else None for g, m in zip(made, mask))


def _distances(grad, x1, x2, p, made):
    return _differentiated(lambda t: _C.cdist(t, x2, p), [x1], [True], grad)[0]


def _pairs(grad, x, p, made):
    from ..nn import functional

    return _differentiated(lambda t: functional.pdist(t, p), [x], [True], grad)[0]


def _embedding(grad, indices, rows, padding_idx, scale_grad_by_freq):
    from .implementations import implementation

    forward = implementation("embedding")
    weight = grad.new_zeros([rows, grad.shape[-1]])
    return _differentiated(lambda w: forward(w, indices, padding_idx, scale_grad_by_freq), [weight], [True], grad)[0]


def _likelihood(grad, x, target, weight, reduction, ignore_index, total):
    from .implementations import implementation

    forward = implementation("nll_loss_forward")
    return _differentiated(lambda t: forward(t, target, weight, reduction, ignore_index), [x], [True], grad)[0]


def _scattered(grad, mask, sizes):
    """The gradients of the places of a mask in a row, and zeros behind them."""
    taken = grad.masked_select(mask)
    count = math.prod(sizes)
    return _C.cat([taken, taken.new_zeros([count - taken.numel()])])[:count].view(sizes)


# Of an operator of the same name, with its further arguments.
_PLAIN = """silu gelu mish hardswish hardsigmoid hardtanh softplus softshrink hardshrink glu logit mse_loss
    smooth_l1_loss huber_loss soft_margin_loss binary_cross_entropy multi_margin_loss avg_pool2d avg_pool3d
    reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d""".split()
_RESAMPLED = """upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d
    upsample_bicubic2d upsample_trilinear3d _upsample_nearest_exact1d _upsample_nearest_exact2d
    _upsample_nearest_exact3d _upsample_bilinear2d_aa _upsample_bicubic2d_aa""".split()

BACKWARD_OPERATORS = {
    **{f"{base}_backward": _of(base) for base in _PLAIN},
    **{f"{base}_backward": _of_sizes(base) for base in _RESAMPLED},
    "elu_backward": _elu,
    "leaky_relu_backward": _leaky_relu,
    "rrelu_with_noise_backward": _rrelu,
    "log_sigmoid_backward": _log_sigmoid,
    "_prelu_kernel_backward": _prelu,
    "slice_backward": _written("slice_scatter"),
    "select_backward": _written("select_scatter"),
    "diagonal_backward": _written("diagonal_scatter"),
    "unfold_backward": _unfold,
    "max_pool2d_with_indices_backward": _largest(2),
    "max_pool3d_with_indices_backward": _largest(3),
    "adaptive_max_pool2d_backward": _largest(2),
    "adaptive_max_pool3d_backward": _largest(3),
    "_adaptive_avg_pool2d_backward": _average(2),
    "_adaptive_avg_pool3d_backward": _average(3),
    "convolution_backward": _convolution,
    "native_layer_norm_backward": _layer_norm,
    "native_group_norm_backward": _group_norm,
    "native_batch_norm_backward": _batch_norm,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _attention,
    "grid_sampler_2d_backward": _sampled,
    "grid_sampler_3d_backward": _sampled,
    "_cdist_backward": _distances,
    "_pdist_backward": _pairs,
    "embedding_dense_backward": _embedding,
    "nll_loss_backward": _likelihood,
    "nll_loss2d_backward": _likelihood,
    "masked_scatter_backward": _scattered,
}

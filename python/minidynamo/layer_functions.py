"""Layers and losses as torch's own namespace has them: as nn.functional's, with their arguments in another order.

`reduction` is a number here: 0 for "none", 1 for "mean", 2 for "sum". Without one nothing is reduced, as in torch.
"""

from . import _C
from ._absent import absent_names as _absent_names
from .func import functional_call
from .nn import Module
from .nn import functional as _layers
from .nn.dropout_functions import _check_probability, _feature_dropout
from .nn.embedding_functions import _limit_rows
from .nn.packed_sequence import PackedSequence
from .nn.recurrent import RNNBase
from .nn.recurrent_steps import MODES, activation_of

_REDUCTIONS = ("none", "mean", "sum")
_SAMPLING = ("bilinear", "nearest", "bicubic")
_PADDING = ("zeros", "border", "reflection")
_BAGS = ("sum", "mean", "max")


def _one_of(names, number, what):
    if not 0 <= number < len(names):
        raise ValueError(f"{number} is not a valid value for {what}: 0 to {len(names) - 1}")
    return names[number]


def _reduction(number):
    return _one_of(_REDUCTIONS, number, "reduction")


def _dropout_kind(name):
    function = getattr(_layers, name)

    def apart(input, p, train):
        return function(input, p, train)

    def in_place(input, p, train):
        return input.copy_(function(input.clone(), p, train)) if train else input

    apart.__name__ = apart.__qualname__ = name
    in_place.__name__ = in_place.__qualname__ = name + "_"
    apart.__doc__, in_place.__doc__ = f"As nn.functional.{name}.", f"nn.functional.{name}, written to `input`."
    return apart, in_place


_, dropout_ = _dropout_kind("dropout")
alpha_dropout, alpha_dropout_ = _dropout_kind("alpha_dropout")
feature_alpha_dropout, feature_alpha_dropout_ = _dropout_kind("feature_alpha_dropout")


def feature_dropout(input, p, train):
    """Whole channels, the second dimension, zeroed with probability p, the others scaled by 1 / (1 - p)."""
    _check_probability(p)
    return _feature_dropout(input, p, train, False)


def feature_dropout_(input, p, train):
    """feature_dropout(), written to `input`."""
    return input.copy_(feature_dropout(input.clone(), p, train)) if train else input


def native_dropout(input, p, train):
    """nn.functional.dropout and the mask of what was kept."""
    if train is not None and not train:
        return input.clone(), _C.ones_like(input, dtype=_C.bool)
    kept = _C.rand_like(input) >= p
    return input * (kept if p == 1.0 else kept.to(input.dtype) / (1.0 - p)), kept


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """As nn.functional.rrelu."""
    return _layers.rrelu(input, lower, upper, training)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """As nn.functional.rrelu_."""
    return _layers.rrelu_(input, lower, upper, training)


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    """As nn.functional.binary_cross_entropy_with_logits."""
    return _layers.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight
    )


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0):
    """As nn.functional.cosine_embedding_loss."""
    return _layers.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    """As nn.functional.ctc_loss."""
    return _layers.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity
    )


def hinge_embedding_loss(input, target, margin=1.0, reduction=0):
    """As nn.functional.hinge_embedding_loss."""
    return _layers.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def kl_div(input, target, reduction=0, *, log_target=False):
    """As nn.functional.kl_div."""
    loss = _layers.kl_div(input, target, reduction="none", log_target=log_target)
    return loss if reduction == 0 else loss.mean() if _reduction(reduction) == "mean" else loss.sum()


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0):
    """As nn.functional.margin_ranking_loss."""
    return _layers.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """As nn.functional.poisson_nll_loss."""
    return _layers.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_reduction(reduction))


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=0):
    """As nn.functional.triplet_margin_loss."""
    return _layers.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction)
    )


def conv_tbc(input, weight, bias, pad=0):
    """As nn.functional.conv_tbc."""
    return _layers.conv_tbc(input, weight, bias, pad)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """As nn.functional.conv_transpose3d."""
    return _layers.conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """The convolution, or with `transposed` its transpose, over as many dimensions as `weight` has but two."""
    dims = weight.dim() - 2
    if dims not in (1, 2, 3):
        raise RuntimeError(f"convolution: weight needs 3 to 5 dimensions, got {weight.dim()}")
    sizes = [each * dims if len(each) == 1 else each for each in map(tuple, (stride, padding, dilation))]
    if not transposed:
        return getattr(_layers, f"conv{dims}d")(input, weight, bias, *sizes, groups)
    function = globals()["conv_transpose3d"] if dims == 3 else getattr(_layers, f"conv_transpose{dims}d")
    return function(input, weight, bias, sizes[0], sizes[1], tuple(output_padding), groups, sizes[2])


def embedding_bag(
    weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
    include_last_offset=False, padding_idx=None,
):  # fmt: skip
    """nn.functional.embedding_bag and, for who takes its derivative by hand, the bag of each index, sizes and places.

    The last three are empty: bags are summed by operations that keep what their derivatives need.
    """
    out = _layers.embedding_bag(
        indices, weight, offsets, mode=_one_of(_BAGS, mode, "mode"), scale_grad_by_freq=scale_grad_by_freq,
        sparse=sparse, per_sample_weights=per_sample_weights, include_last_offset=include_last_offset,
        padding_idx=padding_idx,
    )  # fmt: skip
    return out, *[indices.new_empty(0) for _ in range(3)]


def embedding_renorm_(input, indices, max_norm, norm_type):
    """Rows of `input` that `indices` name and whose norm is above `max_norm` are scaled to it."""
    _limit_rows(input, indices, max_norm, norm_type)
    return input


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """As nn.functional.grid_sample."""
    mode, padding = (
        _one_of(_SAMPLING, interpolation_mode, "interpolation_mode"),
        _one_of(_PADDING, padding_mode, "padding_mode"),
    )
    return _layers.grid_sample(input, grid, mode, padding, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def affine_grid_generator(theta, size, align_corners):
    """As nn.functional.affine_grid."""
    return _layers.affine_grid(theta, tuple(size), align_corners)


def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=False):
    """As nn.functional.instance_norm."""
    return _layers.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """nn.functional.layer_norm, and the means and reciprocal standard deviations it goes by."""
    dims = list(range(-len(normalized_shape), 0))
    variance, mean = _C.var_mean(input, dims, correction=0, keepdim=True)
    return _layers.layer_norm(input, tuple(normalized_shape), weight, bias, eps), mean, (variance + eps).rsqrt()


def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """nn.functional.group_norm, and the means and reciprocal standard deviations it goes by, (N, group)."""
    variance, mean = _C.var_mean(input.reshape(N, group, -1), [-1], correction=0)
    return _layers.group_norm(input, group, weight, bias, eps), mean, (variance + eps).rsqrt()


def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """nn.functional.batch_norm, and of the batch the means and reciprocal standard deviations (empty in evaluation)."""
    out = _layers.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return out, input.new_empty(0), input.new_empty(0)
    dims = [d for d in range(input.dim()) if d != 1]
    variance, mean = _C.var_mean(input, dims, correction=0)
    return out, mean, (variance + eps).rsqrt()


def _cell(mode, input, states, w_ih, w_hh, b_ih, b_hh):
    gates_x, gates_h = _layers.linear(input, w_ih, b_ih), _layers.linear(states[0], w_hh, b_hh)
    return MODES[mode][2](gates_x, gates_h, states, activation_of(mode))


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of nn.LSTMCell: the next (h, c)."""
    return _cell("LSTM", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of nn.GRUCell: the next h."""
    return _cell("GRU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of nn.RNNCell: the next h."""
    return _cell("RNN_TANH", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of nn.RNNCell(nonlinearity="relu"): the next h."""
    return _cell("RNN_RELU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


class _Walk(Module):
    """A recurrent layer by its walk over steps, states given and given back as lists."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, data, states):
        return self.layer._walk(data, states)


def _whole(mode):
    def run(input, *args):
        packed = len(args) == 8 and isinstance(args[2], (list, tuple)) and isinstance(args[3], bool)
        packed = packed and isinstance(args[0], _C.Tensor) and not args[0].is_floating_point()
        if packed:
            return _run_layer(mode, input, *args, False)
        return _run_layer(mode, input, None, *args)

    run.__name__ = run.__qualname__ = mode.lower()
    run.__doc__ = """The recurrent layer of its weights, in the order of `_flat_weights`: (output, last states).

    Takes (input, states, weights, has_biases, num_layers, dropout, train, bidirectional, batch_first), or for packed
    steps (data, batch_sizes, states, weights, has_biases, num_layers, dropout, train, bidirectional).
    """
    return run


def _run_layer(mode, input, batch_sizes, states, weights, biases, layers, p, train, both, first):
    states = list(states) if mode == "LSTM" else [states]
    hidden = states[-1].shape[-1]
    projected = states[0].shape[-1] if states[0].shape[-1] != hidden else 0
    p = p if layers > 1 else 0.0
    layer = RNNBase(mode, input.shape[-1], hidden, layers, biases, first, p, both, projected, device="meta")
    data = input if batch_sizes is None else PackedSequence(input, batch_sizes, None, None)
    given = {f"layer.{name}": weight for name, weight in zip(layer._flat_weights_names, weights)}
    output, finals = functional_call(_Walk(layer.train(train)), given, (data, states))
    return (output if batch_sizes is None else output.data), *finals


lstm, gru, rnn_tanh, rnn_relu = map(_whole, ("LSTM", "GRU", "RNN_TANH", "RNN_RELU"))
_own = {name: made for name, made in vars().items() if callable(made) and name[0] != "_"}
_own = {name: made for name, made in _own.items() if made.__module__ == __name__}
globals().update({name: _C._overridable(made) for name, made in _own.items()})

__getattr__ = _absent_names(__name__)

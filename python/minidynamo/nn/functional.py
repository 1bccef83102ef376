"""torch.nn.functional: activations from the op table; what has no op of its own is a function over ops here.

The functions are traced like a program's own. An in-place activation is the op's result copied over the input, which
comes back; what the op's derivative needs of the input is kept in a copy.
"""

import warnings as _warnings
from importlib import import_module as _import_module

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import is_compiling as _is_compiling
from .attention_functions import multi_head_attention_forward, scaled_dot_product_attention
from .distance_functions import cosine_similarity, normalize, pairwise_distance, pdist
from .dropout_functions import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout
from .embedding_functions import embedding, embedding_bag
from .linear_functions import bilinear, linear_cross_entropy
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
from .normalization_functions import batch_norm, group_norm, instance_norm, local_response_norm
from .padding_functions import pad
from .window_functions import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    interpolate,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    upsample,
)

_ops = _C._namespaces["nn.functional"]
_WITH_INPLACE = ("silu", "mish", "hardswish", "hardsigmoid", "relu6", "selu", "celu", "elu", "leaky_relu", "hardtanh",
                 "threshold")  # fmt: skip
_INPLACE = ("relu_", "elu_", "selu_", "celu_", "leaky_relu_", "hardtanh_", "threshold_")
# Functions of other files, which are read when the first of theirs is asked for.
_FILES = {
    "activation_functions": "gumbel_softmax rrelu rrelu_",
    "convolution_functions": "conv_tbc conv_transpose3d",
    "ctc_functions": "ctc_loss",
    "margin_functions": "cosine_embedding_loss gaussian_nll_loss hinge_embedding_loss margin_ranking_loss "
    "multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss poisson_nll_loss soft_margin_loss "
    "triplet_margin_loss triplet_margin_with_distance_loss",
    "pooling_functions": "adaptive_avg_pool3d adaptive_max_pool1d_with_indices adaptive_max_pool3d "
    "adaptive_max_pool3d_with_indices fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d "
    "fractional_max_pool3d_with_indices lp_pool1d lp_pool2d lp_pool3d max_unpool1d max_unpool2d max_unpool3d",
    "sampling_functions": "affine_grid grid_sample upsample_bilinear upsample_nearest "
    "GRID_SAMPLE_INTERPOLATION_MODES GRID_SAMPLE_PADDING_MODES",
}
_HOMES = {name: file for file, names in _FILES.items() for name in names.split()}
globals().update({name: op for name, op in _ops.items() if name not in (*_WITH_INPLACE, "interpolate")})
_FROM_FILES = (
    adaptive_max_pool1d, adaptive_max_pool2d, alpha_dropout, batch_norm, bilinear, binary_cross_entropy,
    binary_cross_entropy_with_logits, cosine_similarity, cross_entropy, dropout, dropout1d, dropout2d, dropout3d,
    embedding, embedding_bag, feature_alpha_dropout, group_norm, huber_loss, instance_norm, interpolate, kl_div,
    l1_loss, linear_cross_entropy, local_response_norm, max_pool1d, max_pool2d, max_pool3d, mse_loss,
    multi_head_attention_forward, nll_loss, normalize, pad, pairwise_distance, pdist, scaled_dot_product_attention,
    smooth_l1_loss, upsample,
)  # fmt: skip
__all__ = sorted({*_ops, *_INPLACE, *_HOMES, *(f.__name__ for f in _FROM_FILES)})
__all__ += ["native_channel_shuffle", "relu", "sigmoid", "softmin", "tanh"]

native_channel_shuffle = _ops["channel_shuffle"]


def sigmoid(input):
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


def tanh(input):
    """The hyperbolic tangent."""
    return input.tanh()


def _written(op, input, *args):
    """What `op` gives, in the memory of `input`: its derivative, where there will be one, keeps what `input` was."""
    recorded = input.requires_grad and _C.is_grad_enabled()
    return input.copy_(op(input.clone() if recorded else input, *args))


@_C._overridable
def relu(input, inplace=False):
    """max(x, 0)."""
    return input.relu_() if inplace else _C.relu(input)


@_C._overridable
def relu6(input, inplace=False):
    """x limited to [0, 6]."""
    return _written(_ops["relu6"], input) if inplace else _ops["relu6"](input)


@_C._overridable
def silu(input, inplace=False):
    """x * sigmoid(x)."""
    return _written(_ops["silu"], input) if inplace else _ops["silu"](input)


@_C._overridable
def mish(input, inplace=False):
    """x * tanh(log(1 + exp(x)))."""
    return _written(_ops["mish"], input) if inplace else _ops["mish"](input)


@_C._overridable
def hardswish(input, inplace=False):
    """x * min(max(x + 3, 0), 6) / 6."""
    return _written(_ops["hardswish"], input) if inplace else _ops["hardswish"](input)


@_C._overridable
def hardsigmoid(input, inplace=False):
    """min(max(x + 3, 0), 6) / 6."""
    return _written(_ops["hardsigmoid"], input) if inplace else _ops["hardsigmoid"](input)


@_C._overridable
def selu(input, inplace=False):
    """elu with the scale and alpha of self-normalizing networks."""
    return _written(_ops["selu"], input) if inplace else _ops["selu"](input)


@_C._overridable
def elu(input, alpha=1.0, inplace=False):
    """x above 0, alpha * (exp(x) - 1) below."""
    return _written(_ops["elu"], input, alpha) if inplace else _ops["elu"](input, alpha)


@_C._overridable
def celu(input, alpha=1.0, inplace=False):
    """x above 0, alpha * (exp(x / alpha) - 1) below."""
    return _written(_ops["celu"], input, alpha) if inplace else _ops["celu"](input, alpha)


@_C._overridable
def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x above 0, negative_slope * x below."""
    return _written(_ops["leaky_relu"], input, negative_slope) if inplace else _ops["leaky_relu"](input, negative_slope)


@_C._overridable
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _written(_ops["hardtanh"], input, min_val, max_val) if inplace else _ops["hardtanh"](input, min_val, max_val)


@_C._overridable
def threshold(input, threshold, value, inplace=False):
    """x above `threshold`, else `value`."""
    return (
        _written(_ops["threshold"], input, threshold, value) if inplace else _ops["threshold"](input, threshold, value)
    )


@_C._overridable
def elu_(input, alpha=1.0):
    """elu, written to `input`."""
    return elu(input, alpha, True)


@_C._overridable
def selu_(input):
    """selu, written to `input`."""
    return selu(input, True)


@_C._overridable
def celu_(input, alpha=1.0):
    """celu, written to `input`."""
    return celu(input, alpha, True)


@_C._overridable
def leaky_relu_(input, negative_slope=0.01):
    """leaky_relu, written to `input`."""
    return leaky_relu(input, negative_slope, True)


@_C._overridable
def hardtanh_(input, min_val=-1.0, max_val=1.0):
    """hardtanh, written to `input`."""
    return hardtanh(input, min_val, max_val, True)


@_C._overridable
def threshold_(input, threshold, value):
    """threshold, written to `input`."""
    result = _ops["threshold"](input, threshold, value)
    return input.copy_(result)


@_C._overridable
def relu_(input):
    """relu, written to `input`."""
    return input.relu_()


def _implied_dim(function, input, dim, level):
    if dim is not None:
        return dim
    if not _is_compiling():  # a graph has no place for a warning
        _warnings.warn(
            f"{function}: the dimension is chosen by how many there are, as in older programs: please pass dim=X.",
            stacklevel=level,
        )
    return 0 if input.dim() in (0, 1, 3) else 1


@_C._overridable
def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x - max) divided by its sum along `dim`; without one 0 for 0, 1 or 3 dimensions, else 1."""
    return _ops["softmax"](input, _implied_dim("softmax", input, dim, _stacklevel), dtype)


@_C._overridable
def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """x - max - log(sum(exp(x - max))) along `dim`; without one as softmax."""
    return _ops["log_softmax"](input, _implied_dim("log_softmax", input, dim, _stacklevel), dtype)


@_C._overridable
def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x)."""
    return _ops["softmax"](-input, _implied_dim("softmin", input, dim, _stacklevel), dtype)


@_C._overridable
def one_hot(input, num_classes=-1):
    """A new last dimension that is 1 at the position the value names, by default as long as the largest needs."""
    if num_classes == -1:
        if input.numel() == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(input.max()) + 1
    return _ops["one_hot"](input, num_classes)


def _load(name, missing):
    if name not in _HOMES:
        return missing
    found = _import_module("." + _HOMES[name], __package__)
    names = _FILES[_HOMES[name]].split()
    globals().update({each: getattr(found, each) for each in names})
    return globals()[name]


def __dir__():
    return sorted({*globals(), *_HOMES})


__getattr__ = _absent_names(__name__, _load)

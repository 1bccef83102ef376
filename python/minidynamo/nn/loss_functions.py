"""The losses of torch.nn.functional, as functions over ops."""

import warnings

from .. import _C
from .._dynamo.eval_frame import is_compiling
from .._more_checks import fails_unless
from .arguments import need_tensors

_as_one_call = _C._as_one_call
_log_sigmoid = _C._namespaces["nn.functional"]["logsigmoid"]


_SMALLEST_PRODUCT = 9.999999960041972e-13  # 1e-12 as float32: p * (1 - p) counts as no less in a gradient of BCE


def _reduction(size_average, reduce, reduction):
    """The two arguments of older programs decide if one is given."""
    if size_average is None and reduce is None:
        if reduction not in ("none", "mean", "sum"):
            raise ValueError(f"{reduction} is not a valid value for reduction")
        return reduction
    how = "none" if reduce is False else "sum" if size_average is False else "mean"
    if not is_compiling():
        warnings.warn(
            f"size_average and reduce are arguments of older programs: please use reduction='{how}'.", stacklevel=3
        )
    return how


def _reduced(loss, reduction):
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


def _warn_about_sizes(input, target):
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def _elementwise(loss, weight, how):
    if weight is None:
        return _reduced(loss, how)
    if weight.shape != loss.shape:
        raise ValueError("Weights and input must have the same size.")
    return (loss * weight).sum() / weight.sum() if how == "mean" else _reduced(loss * weight, how)


@_C._overridable
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target)^2."""
    how = _reduction(size_average, reduce, reduction)
    _warn_about_sizes(input, target)
    difference = input - target
    loss = _elementwise(difference * difference, weight, how)
    return _as_one_call(loss, "MseLoss", input, target) if weight is None else loss


@_C._overridable
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """|input - target|."""
    how = _reduction(size_average, reduce, reduction)
    _warn_about_sizes(input, target)
    return _elementwise((input - target).abs(), weight, how)


@_C._overridable
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """|d| - beta / 2, and d^2 / (2 beta) where |d| < beta."""
    how = _reduction(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    _warn_about_sizes(input, target)
    difference = input - target
    distance = difference.abs()
    if beta == 0:
        return _reduced(distance, how)
    loss = _C.where(distance < beta, 0.5 * difference * difference / beta, distance - 0.5 * beta)
    return _as_one_call(_reduced(loss, how), "SmoothL1Loss", input, target)


@_C._overridable
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """delta * (|d| - delta / 2), and d^2 / 2 where |d| <= delta."""
    how = _reduction(None, None, reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _warn_about_sizes(input, target)
    difference = input - target
    distance = difference.abs()
    loss = _C.where(distance <= delta, 0.5 * difference * difference, delta * (distance - 0.5 * delta))
    loss = _elementwise(loss, weight, how)
    return _as_one_call(loss, "HuberLoss", input, target) if weight is None else loss


@_C._overridable
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log(target) - input); input, and target with `log_target`, are logarithms."""
    mean_of_batch = reduction == "batchmean" and size_average is None and reduce is None
    how = "sum" if mean_of_batch else _reduction(size_average, reduce, reduction)
    loss = target.exp() * (target - input) if log_target else _C.xlogy(target, target) - target * input
    loss = _reduced(loss, how)
    return loss / input.shape[0] if mean_of_batch and input.dim() > 0 else loss


def _check_probabilities(name, values):
    if values.is_meta or values.numel() == 0 or _C._batch_levels(values):
        return
    if is_compiling():
        return fails_unless(((values >= 0) & (values <= 1)).all())
    least, most = values.detach().aminmax()
    if not (least.item() >= 0 and most.item() <= 1):
        raise RuntimeError(f"all elements of {name} should be between 0 and 1")


@_C._overridable
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-(target * log(input) + (1 - target) * log(1 - input)), logarithms not below -100.

    The gradient of input is (input - target) / max(input * (1 - input), 1e-12), which is finite at 0 and 1 too.
    """
    how = _reduction(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    _check_probabilities("input", input)
    _check_probabilities("target", target)
    values = input.detach()
    edge = values * (1 - values) < _SMALLEST_PRODUCT
    inner = _C.where(edge, values, input)
    loss = (target - 1) * (-inner).log1p().clamp_min(-100) - target * inner.log().clamp_min(-100)
    if input.requires_grad:
        slope = _C.where(edge, (values - target.detach()) / _SMALLEST_PRODUCT, 0)
        loss = loss + slope * (input - values)
    loss = _reduced(loss if weight is None else loss * weight, how)
    return _as_one_call(loss, "BinaryCrossEntropy", input, target)


@_C._overridable
def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """binary_cross_entropy of sigmoid(input), without its loss of precision."""
    how = _reduction(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    rest = -_log_sigmoid(input)  # log(1 + exp(-input))
    factor = rest if pos_weight is None else rest * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input + factor
    loss = _reduced(loss if weight is None else loss * weight, how)
    return _as_one_call(loss, "BinaryCrossEntropyWithLogits", input, target)


def _class_dim(input):
    return 0 if input.dim() == 1 else 1


def _check_classes(input, target, weight):
    if input.dim() == 0:
        raise RuntimeError("input tensor should be 1D or 2D")
    dim = _class_dim(input)
    if input.dim() > 1 and target.dim() > 0 and input.shape[0] != target.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]})."
        )
    rest = [*input.shape[:dim], *input.shape[dim + 1 :]]
    if list(target.shape) != rest:
        raise RuntimeError(f"Expected target size {rest}, got {list(target.shape)}")
    if weight is not None and list(weight.shape) != [input.shape[dim]]:
        raise RuntimeError(
            "weight tensor should be defined either for all "
            f"{input.shape[dim]} classes or no classes but got weight tensor of shape: {list(weight.shape)}"
        )


def _at_targets(input, dim, target):
    places = target.unsqueeze(dim)
    if is_compiling():  # where a graph fails, plain code runs and tells
        return input.gather(dim, places).squeeze(dim)
    try:
        return input.gather(dim, places).squeeze(dim)
    except RuntimeError:
        outside = target[(target < 0) | (target >= input.shape[dim])]
        if outside.numel() == 0:
            raise
        raise IndexError(f"Target {outside[0].item()} is out of bounds.") from None


def _per_target(input, target, weight, ignore_index):
    """(-input at the target class, the weight of each target), both 0 where the target is ignored."""
    dim = _class_dim(input)
    target = target.to(_C.int64)
    counted = target != ignore_index
    safe = _C.where(counted, target, 0)
    picked = -_at_targets(input, dim, safe)
    share = counted.to(input.dtype)
    if weight is not None:
        share = share * weight.gather(0, safe.reshape(-1)).view(safe.shape)
    return _C.where(counted, picked, 0.0) * share, share


def _of_targets(loss, share, how, logs):
    loss = loss.sum() / share.sum() if how == "mean" else _reduced(loss, how)
    return _as_one_call(loss, "NllLoss" if logs.dim() < 3 else "NllLoss2D", logs)


@_C._overridable
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """-input[target] for logarithms of probabilities; the mean is weighted."""
    how = _reduction(size_average, reduce, reduction)
    need_tensors("nll_loss", input=input, target=target)
    _check_classes(input, target, weight)
    loss, share = _per_target(input, target, weight, ignore_index)
    return _of_targets(loss, share, how, input)


@_C._overridable
def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """nll_loss of log_softmax(input), for class numbers or, with a target of the input's shape, probabilities."""
    need_tensors("cross_entropy", input=input, target=target)
    how = _reduction(size_average, reduce, reduction)
    if label_smoothing < 0.0 or label_smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    dim = _class_dim(input)
    logs = input.log_softmax(dim)
    classes = input.shape[dim]
    spread = None if weight is None else weight.view(-1, *[1] * (input.dim() - dim - 1))
    weighted = logs if weight is None else logs * spread
    if target.is_floating_point():
        if target.shape != input.shape:
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, of shape {list(input.shape)}, "
                f"got {list(target.shape)}"
            )
        if label_smoothing > 0.0:
            target = target * (1 - label_smoothing) + label_smoothing / classes
        parts = weighted * target
        if how == "none":
            return -parts.sum(dim)
        return -parts.sum() / (input.numel() // classes) if how == "mean" else -parts.sum()
    _check_classes(input, target, weight)
    loss, share = _per_target(logs, target, weight, ignore_index)
    loss = _of_targets(loss, share, how, logs)
    if label_smoothing == 0.0:
        return loss
    smooth = -weighted.sum(dim).masked_fill(target == ignore_index, 0.0)
    smooth = smooth.sum() / share.sum() if how == "mean" else _reduced(smooth, how)
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / classes)

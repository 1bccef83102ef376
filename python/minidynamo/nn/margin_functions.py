"""Losses of margins, rankings and labels, of counts and of normal errors."""

import math

from .. import _C
from .._dynamo.eval_frame import is_compiling
from .._more_checks import fails_unless
from .distance_functions import pairwise_distance
from .loss_functions import _reduced, _reduction


@_C._overridable
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """x where the target is 1, max(0, margin - x) where it is -1."""
    how = _reduction(size_average, reduce, reduction)
    far = _C.where(target != 1, (margin - input).clamp_min(0), 0.0)
    return _reduced(far + _C.where(target != -1, input, 0.0), how)


@_C._overridable
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target * (input1 - input2) + margin); a target of 1 wants input1 to be larger, -1 input2."""
    how = _reduction(size_average, reduce, reduction)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss: input1, input2 and target have to have as many dimensions, got "
            f"{list(input1.shape)}, {list(input2.shape)} and {list(target.shape)}"
        )
    return _reduced((-target * (input1 - input2) + margin).clamp_min(0), how)


@_C._overridable
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * x)) for targets of 1 and -1."""
    how = _reduction(size_average, reduce, reduction)
    return _reduced((-target * input).exp().log1p(), how)


@_C._overridable
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1; cos is that of the last dimension.

    (N, D) with a target (N), or (D) with a single one; RuntimeError for others.
    """
    how = _reduction(size_average, reduce, reduction)
    if not 0 <= target.dim() <= 1 or input1.dim() != input2.dim() or input1.dim() != target.dim() + 1:
        raise RuntimeError(
            "cosine_embedding_loss: expected (N, D), (N, D) and (N), or (D), (D) and a single target, got "
            f"{list(input1.shape)}, {list(input2.shape)} and {list(target.shape)}"
        )
    tiny = 1e-12
    squares = [(x * x).sum(-1) + tiny for x in (input1, input2)]
    cos = (input1 * input2).sum(-1) / (squares[0] * squares[1]).sqrt()
    near = _C.where(target == 1, 1 - cos, 0.0)
    return _reduced(near + _C.where(target == -1, (cos - margin).clamp_min(0), 0.0), how)


@_C._overridable
def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) with distances of the `p`-norm (Balntas et al. 2016);
    `swap` takes d(positive, negative) where that is smaller. ValueError for a margin that is not positive."""
    how = _reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_loss: anchor, positive and negative have to have as many dimensions, got "
            f"{anchor.dim()}, {positive.dim()} and {negative.dim()}"
        )
    return _triplet(anchor, positive, negative, lambda a, b: pairwise_distance(a, b, p, eps), margin, swap, how)


def _triplet(anchor, positive, negative, distance, margin, swap, how):
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _C.minimum(far, distance(positive, negative))
    return _reduced((margin + near - far).clamp_min(0), how)


@_C._overridable
def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """triplet_margin_loss with any distance_function(x, y), by default pairwise_distance."""
    how = _reduction(None, None, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_with_distance_loss: anchor, positive and negative have to have as many dimensions, got "
            f"{anchor.dim()}, {positive.dim()} and {negative.dim()}"
        )
    return _triplet(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, how)


@_C._overridable
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes i other than the target y of max(0, margin - x[y] + x[i]) ** p, p 1 or 2; `weight` of y
    multiplies what is raised to p. (N, C) with targets (N), or (C) with a single one."""
    how = _reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    single = input.dim() <= 1
    if input.dim() > 2 or target.numel() != (1 if single else input.shape[0]) or target.dim() > 1:
        raise RuntimeError(
            f"multi_margin_loss: expected (N, C) and (N), or (C) and a single target, got {list(input.shape)} and "
            f"{list(target.shape)}"
        )
    rows = input.reshape(1, -1) if single else input
    classes = rows.shape[1]
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(f"multi_margin_loss: weight has to have {classes} elements, got {weight.numel()}")
    chosen = target.reshape(-1, 1)
    over = (margin - rows.gather(1, chosen) + rows).clamp_min(0)
    over = over if p == 1 else over * over
    if weight is not None:
        over = over * weight.gather(0, chosen.reshape(-1)).unsqueeze(1)
    others = _C.arange(classes, device=rows.device) != chosen
    loss = _C.where(others, over, 0.0).sum(1) / classes
    loss = _reduced(loss.squeeze(0) if single and target.dim() == 0 else loss, how)
    return _C._as_one_call(loss, "MultiMarginLoss", input)


@_C._overridable
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The sum of max(0, 1 - x[y] + x[i]) over labels y and classes i that are no labels, divided by the number of
    classes. `target`, of the input's shape (N, C) or (C), has the labels first, then -1."""
    how = _reduction(size_average, reduce, reduction)
    if target.shape != input.shape or input.dim() > 2:
        raise RuntimeError(
            "multilabel_margin_loss: input and target have to be (N, C) or (C) both, got "
            f"{list(input.shape)} and {list(target.shape)}"
        )
    rows = input.reshape(1, -1) if input.dim() < 2 else input
    labels = target.reshape(rows.shape)
    named = (labels < 0).long().cumsum(1) == 0  # before the first -1
    safe = _C.where(named, labels, 0)
    is_label = _C.zeros(rows.shape, dtype=_C.int64, device=rows.device).scatter_add(1, safe, named.long()) > 0
    over = (1 - rows.gather(1, safe).unsqueeze(2) + rows.unsqueeze(1)).clamp_min(0)
    counts = named.unsqueeze(2) & ~is_label.unsqueeze(1)
    loss = _C.where(counts, over, 0.0).sum((1, 2)) / rows.shape[1]
    loss = _reduced(loss if input.dim() == 2 else loss.squeeze(0), how)
    return _C._as_one_call(loss, "MultilabelMarginLoss", input)


@_C._overridable
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over the last dimension of -(t * log(sigmoid(x)) + (1 - t) * log(sigmoid(-x))) * weight."""
    how = _reduction(size_average, reduce, reduction)
    log_sigmoid = _C._namespaces["nn.functional"]["logsigmoid"]
    loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    loss = loss if weight is None else loss * weight
    return _reduced(loss.mean(-1), how)


@_C._overridable
def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
):
    """exp(x) - target * x, or x - target * log(x + eps) without `log_input`: what counts with the mean exp(x), or x,
    have for the negative logarithm of a probability; `full` adds Stirling's estimate of log(target!) above 1."""
    how = _reduction(size_average, reduce, reduction)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        large = _C.where(target > 1, target, 2.0).to(loss.dtype)
        stirling = large * large.log() - large + 0.5 * (2 * math.pi * large).log()
        loss = loss + _C.where(target > 1, stirling, 0.0)
    return _reduced(loss, how)


@_C._overridable
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """(log(var) + (input - target)^2 / var) / 2, with var no less than `eps`; `full` adds log(2 pi) / 2.

    `var`, not negative (ValueError), is a number, of the input's shape, or with 1 for the last dimension or without it.
    The gradient is that of the formula even where `eps` stands in for var.
    """
    if not isinstance(var, _C.Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * _C.ones_like(input)
    elif _C._batch_levels(var):
        pass  # one example may not fail alone
    elif is_compiling():
        fails_unless((var >= 0).all())
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif not (input.shape[:-1] == var.shape[:-1] and var.shape[-1] == 1):
            raise ValueError(f"gaussian_nll_loss: var is {list(var.shape)}, for an input of {list(input.shape)}")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if var.requires_grad:
        fixed = var.detach()
        var = fixed.clamp_min(eps) + (var - fixed)
    else:
        var = var.clamp_min(eps)
    difference = input - target
    loss = 0.5 * (var.log() + difference * difference / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)

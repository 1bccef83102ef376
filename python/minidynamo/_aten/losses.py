"""Losses as torch's operators: `reduction` is a number, 0 for "none", 1 for "mean", 2 for "sum"."""

from ..layer_functions import _reduction as _of
from ..nn import functional as F


def mse_loss(x, target, reduction=1):
    return F.mse_loss(x, target, reduction=_of(reduction))


def l1_loss(x, target, reduction=1):
    return F.l1_loss(x, target, reduction=_of(reduction))


def smooth_l1_loss(x, target, reduction=1, beta=1.0):
    return F.smooth_l1_loss(x, target, reduction=_of(reduction), beta=beta)


def huber_loss(x, target, reduction=1, delta=1.0):
    return F.huber_loss(x, target, reduction=_of(reduction), delta=delta)


def binary_cross_entropy(x, target, weight=None, reduction=1):
    return F.binary_cross_entropy(x, target, weight, reduction=_of(reduction))


def binary_cross_entropy_with_logits(x, target, weight=None, pos_weight=None, reduction=1):
    return F.binary_cross_entropy_with_logits(x, target, weight, reduction=_of(reduction), pos_weight=pos_weight)


def nll_loss(x, target, weight=None, reduction=1, ignore_index=-100):
    return F.nll_loss(x, target, weight, ignore_index=ignore_index, reduction=_of(reduction))


def nll_loss_forward(x, target, weight, reduction, ignore_index):
    """The loss, and the sum of the weights of the targets."""
    loss = nll_loss(x, target, weight, reduction, ignore_index)
    if reduction == 0:
        return loss, x.new_zeros(())
    counted = (target != ignore_index).to(x.dtype)
    if weight is not None:
        counted = counted * weight[target.clamp(min=0)]
    return loss, counted.sum()


def cross_entropy_loss(x, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    return F.cross_entropy(
        x, target, weight, ignore_index=ignore_index, reduction=_of(reduction), label_smoothing=label_smoothing
    )


def kl_div(x, target, reduction=1, *, log_target=False):
    loss = F.kl_div(x, target, reduction="none", log_target=log_target)
    return loss if reduction == 0 else loss.mean() if _of(reduction) == "mean" else loss.sum()


def soft_margin_loss(x, target, reduction=1):
    return F.soft_margin_loss(x, target, reduction=_of(reduction))


def hinge_embedding_loss(x, target, margin=1.0, reduction=1):
    return F.hinge_embedding_loss(x, target, margin, reduction=_of(reduction))


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_of(reduction))


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1):
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_of(reduction))


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=1):
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_of(reduction))


def multi_margin_loss(x, target, p=1, margin=1, weight=None, reduction=1):
    return F.multi_margin_loss(x, target, p, margin, weight, reduction=_of(reduction))


def multilabel_margin_loss(x, target, reduction=1):
    return F.multilabel_margin_loss(x, target, reduction=_of(reduction))


def poisson_nll_loss(x, target, log_input, full, eps, reduction):
    return F.poisson_nll_loss(x, target, log_input, full, eps=eps, reduction=_of(reduction))


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _of(reduction), zero_infinity)


LOSSES = {name: made for name, made in vars().items() if name[0] != "_" and getattr(made, "__module__", "") == __name__}

"""Connectionist temporal classification (Graves et al. 2006): the loss of a label sequence without an alignment."""

from .. import _C
from .._dynamo.eval_frame import is_compiling
from .._more_checks import fails_unless

_NEVER = -1e30  # the logarithm of 0: finite, so that sums and gradients of it are
_NO_PATH = 1e29  # what a loss is beyond if no path has the labels


def _lengths(given, device):
    if isinstance(given, _C.Tensor):
        if given.is_floating_point():
            raise RuntimeError("ctc_loss: lengths have to be integers")
        return given.reshape(-1).to(device, _C.int64)
    return _C.tensor(list(given), dtype=_C.int64, device=device)


def _padded(targets, lengths, device):
    """Labels one behind the other as a matrix, a sequence a row."""
    counts = lengths.tolist()
    starts, total = [], 0
    for count in counts:
        starts.append(total)
        total += count
    width = max(max(counts, default=0), 1)
    place = _C.tensor(starts, dtype=_C.int64, device=device).unsqueeze(1) + _C.arange(width, device=device)
    if targets.numel() == 0:
        return _C.zeros((len(counts), width), dtype=_C.int64, device=device)
    return targets.long().gather(0, place.clamp_max(targets.numel() - 1).reshape(-1)).view(place.shape)


def _check(log_probs, targets, input_lengths, target_lengths, blank):
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank has to be a class, from 0 to {classes - 1}, got {blank}")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if lengths.shape[0] != batch:
            raise RuntimeError(f"ctc_loss: {name} has to have {batch} elements, got {lengths.shape[0]}")
    if batch == 0:
        return
    widest = targets.shape[1] if targets.dim() == 2 else None
    limits = (("input_lengths", input_lengths, steps), ("target_lengths", target_lengths, widest))
    if is_compiling():
        for _, lengths, limit in limits:
            fails_unless((lengths >= 0).all() if limit is None else ((lengths >= 0) & (lengths <= limit)).all())
        if targets.dim() == 1:
            fails_unless(target_lengths.sum() == targets.numel())
        return
    for name, lengths, limit in limits:
        if int(lengths.min()) < 0 or (limit is not None and int(lengths.max()) > limit):
            raise RuntimeError(f"ctc_loss: {name} has to be within 0 and {limit}, got {lengths.tolist()}")
    if targets.dim() == 1 and targets.numel() != int(target_lengths.sum()):
        raise RuntimeError(f"ctc_loss: {targets.numel()} labels, but target_lengths say {int(target_lengths.sum())}")


def _log_likelihood(log_probs, labels, input_lengths, target_lengths, blank):
    """log P(labels) of each sequence: the forward variables of labels with blanks around and between them."""
    steps, batch, _ = log_probs.shape
    width = 2 * labels.shape[1] + 1
    blanks = _C.full((batch, labels.shape[1]), blank, dtype=_C.int64, device=labels.device)
    path = _C.cat([_C.stack([blanks, labels], 2).flatten(1), blanks.new_full((batch, 1), blank)], 1)
    place = _C.arange(width, device=labels.device)
    known = place < (2 * target_lengths + 1).unsqueeze(1)
    path = _C.where(known, path, blank)
    emitted = log_probs.gather(2, path.unsqueeze(0).expand(steps, batch, width))
    # A blank may be left out between two labels that differ.
    skips = (path[:, 2:] != blank) & (path[:, 2:] != path[:, :-2])
    skip_cost = _C.where(skips, 0.0, _NEVER).to(log_probs.dtype)
    never = log_probs.new_full((batch, 2), _NEVER)
    alpha = _C.where(place < 2, emitted[0], _NEVER)
    alpha = _C.where(known, alpha, _NEVER)
    for step in range(1, steps):
        before = _C.cat([never[:, :1], alpha[:, :-1]], 1)
        two_before = _C.cat([never, alpha[:, :-2] + skip_cost], 1)
        moved = _C.stack([alpha, before, two_before]).logsumexp(0) + emitted[step]
        moved = _C.where(known, moved, _NEVER).clamp_min(_NEVER)
        alpha = _C.where((step < input_lengths).unsqueeze(1), moved, alpha)
    last = alpha.gather(1, (2 * target_lengths).unsqueeze(1)).squeeze(1)
    but_one = alpha.gather(1, (2 * target_lengths - 1).clamp_min(0).unsqueeze(1)).squeeze(1)
    but_one = _C.where(target_lengths > 0, but_one, _NEVER)
    total = _C.logaddexp(last, but_one)
    # Without a step there is one path, that of no labels.
    nothing = _C.where(target_lengths == 0, 0.0, _NEVER).to(total.dtype)
    return _C.where(input_lengths > 0, total, nothing)


@_C._overridable
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """-log of the probability of label sequences, summed over all alignments.

    `log_probs` (T, N, C), or (T, C) of one sequence, are logarithms of probabilities; `targets` (N, S) or all labels
    one behind the other; lengths (N). "mean" divides by the target's length (1 if 0) first. `zero_infinity`: no loss,
    and no gradient, where the labels do not fit into the steps.

    As in torch the gradient is the one with respect to the logits below log_softmax, exp(log_probs) minus the posterior
    of the classes: behind log_softmax both come to the same.
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if not log_probs.is_floating_point() or log_probs.dim() not in (2, 3):
        raise RuntimeError(
            f"ctc_loss: log_probs has to be (T, N, C) or (T, C) of floating point, got {list(log_probs.shape)} of "
            f"{log_probs.dtype}"
        )
    if targets.is_floating_point():
        raise RuntimeError("ctc_loss: targets have to be integers")
    single = log_probs.dim() == 2
    probabilities = log_probs.unsqueeze(1) if single else log_probs
    device = log_probs.device
    targets = targets.to(device)
    input_lengths, target_lengths = _lengths(input_lengths, device), _lengths(target_lengths, device)
    _check(probabilities, targets, input_lengths, target_lengths, blank)
    labels = targets.long() if targets.dim() == 2 else _padded(targets, target_lengths, device)
    loss = -_log_likelihood(probabilities, labels, input_lengths, target_lengths, blank)
    counted = (_C.arange(probabilities.shape[0], device=device).unsqueeze(1) < input_lengths).unsqueeze(2)
    sums = _C.where(counted, probabilities.exp(), 0.0).sum((0, 2))
    loss = loss + (sums - sums.detach())
    infinite = loss.detach() > _NO_PATH
    loss = _C.where(infinite, 0.0 if zero_infinity else float("inf"), loss)
    if reduction == "mean":
        return (loss / target_lengths.clamp_min(1).to(loss.dtype)).mean()
    return loss.sum() if reduction == "sum" else loss.squeeze(0) if single else loss

"""torch.optim.swa_utils: averages of the weights of a model, and a learning rate for them."""

import math
from copy import deepcopy
from itertools import chain

from .. import _C
from .._absent import absent_names as _absent_names
from ..autograd.grad_mode import no_grad
from ..nn.batch_norm import _BatchNorm
from ..nn.module import Module
from .schedule_base import LRScheduler, _per_group

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"decay has to be between 0 and 1: {decay}")


def get_ema_multi_avg_fn(decay=0.999):
    """An exponential average for AveragedModel: avg = decay * avg + (1 - decay) * current, in place, of whole lists.

    Raises ValueError unless 0 <= decay <= 1.
    """
    _check_decay(decay)

    @no_grad()
    def update(averages, currents, num_averaged):
        for average, current in zip(averages, currents, strict=True):
            if average.is_floating_point():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return update


def get_swa_multi_avg_fn():
    """The mean for AveragedModel: avg += (current - avg) / (num_averaged + 1), in place, of whole lists."""

    @no_grad()
    def update(averages, currents, num_averaged):
        share = 1 / (num_averaged + 1)
        for average, current in zip(averages, currents, strict=True):
            if average.is_floating_point():
                average.lerp_(current, share.item() if isinstance(share, _C.Tensor) else share)
            else:
                average.copy_(average + (current - average) * share)

    return update


def get_ema_avg_fn(decay=0.999):
    """An exponential average for AveragedModel, of one tensor: gives decay * avg + (1 - decay) * current.

    Raises ValueError unless 0 <= decay <= 1.
    """
    _check_decay(decay)

    @no_grad()
    def averaged(average, current, num_averaged):
        return decay * average + (1 - decay) * current

    return averaged


def get_swa_avg_fn():
    """The mean for AveragedModel, of one tensor: gives avg + (current - avg) / (num_averaged + 1)."""

    @no_grad()
    def averaged(average, current, num_averaged):
        return average + (current - average) / (num_averaged + 1)

    return averaged


class AveragedModel(Module):
    """A copy of `model`, in `module`, whose parameters are averages of those it had at each `update_parameters`.

    Izmailov et al., "Averaging Weights Leads to Wider Optima and Better Generalization", 2018. The average is the mean,
    or `avg_fn(averaged tensor, current tensor, number averaged)`, which gives the new one, or `multi_avg_fn` with lists
    of tensors of one dtype, which it changes. Buffers are averaged too with `use_buffers`, else taken over.

    Raises AssertionError if both functions are given.
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("give either avg_fn or multi_avg_fn")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _C.tensor(0, dtype=_C.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Takes the parameters of `model` into the averages; the first time copies them."""
        averages, currents = self._tensors(self.module), self._tensors(model)
        if self.n_averaged == 0:
            for average, current in zip(averages, currents):
                average.copy_(current)
        elif self.multi_avg_fn is not None:
            by_dtype = {}
            for pair in zip(averages, currents):
                by_dtype.setdefault(pair[0].dtype, []).append(pair)
            for pairs in by_dtype.values():
                self.multi_avg_fn(*map(list, zip(*pairs)), self.n_averaged)
        else:
            average_of = self.avg_fn or get_swa_avg_fn()
            for average, current in zip(averages, currents):
                average.copy_(average_of(average, current, self.n_averaged.to(average.device)))
        if not self.use_buffers:
            for own, other in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(other.detach())
        self.n_averaged += 1

    def _tensors(self, model):
        tensors = chain(model.parameters(), model.buffers() if self.use_buffers else ())
        return [tensor.detach() for tensor in tensors]


@no_grad()
def update_bn(loader, model, device=None):
    """Computes the running mean and variance of all BatchNorm layers anew: the means over the batches of `loader`.

    Batches are tensors, or lists and tuples that start with one; `model` is called with it, in training mode.
    """
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # the mean of all batches
    was_training = model.training
    model.train()
    for batch in loader:
        if isinstance(batch, (list, tuple)):
            batch = batch[0]
        model(batch if device is None else batch.to(device))
    for layer, momentum in zip(layers, momenta):
        layer.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """lr goes to `swa_lr`, a number or a list with one per group, in `anneal_epochs` epochs and stays there.

    `anneal_strategy` is "cos" or "linear".

    Raises ValueError for other strategies, anneal_epochs that are no integer or negative, and lists that do not fit.
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for rate, group in zip(_per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy has to be 'cos' or 'linear', not {anneal_strategy!r}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs has to be an integer and not negative: {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t):
        """How much of the way is made at the share t of the time."""
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self):
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        done_before, done = (
            self.anneal_func(max(0, min(1, count / max(1, self.anneal_epochs)))) for count in (step - 1, step)
        )
        rates = []
        for group in self.optimizer.param_groups:
            rate, goal = group["lr"], group["swa_lr"]
            start = goal if done_before == 1 else (rate - done_before * goal) / (1 - done_before)
            rates.append(goal * done + start * (1 - done))
        return rates


__getattr__ = _absent_names(__name__)

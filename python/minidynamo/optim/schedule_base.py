"""Base of the learning rate schedules, and what they share."""

import functools
import math
import types
import warnings
import weakref

from .. import _C
from .optimizer import Optimizer
from .update_terms import to_scalar


def _copied(value):
    return value.clone() if isinstance(value, _C.Tensor) else value


def _per_group(name, optimizer, value):
    """One value for each parameter group: `value` itself, or those of a list."""
    groups = optimizer.param_groups
    if not isinstance(value, (list, tuple)):
        value = [value] * len(groups)
    if len(value) != len(groups):
        raise ValueError(f"{name} has {len(value)} values for {len(groups)} parameter groups")
    return [_copied(one) for one in value]


def _options(optimizer, name):
    return [_copied(group[name]) for group in optimizer.param_groups]


def _set_option(group, name, value):
    if isinstance(group[name], _C.Tensor):
        group[name].fill_(to_scalar(value))
    else:
        group[name] = value


def _check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"a schedule is of an Optimizer, not of {type(optimizer).__name__}")


def _warn_of_epoch():
    warnings.warn("step(epoch) is deprecated: call step() once per epoch", UserWarning, stacklevel=3)


def _attributes_of(function):
    """What a saved state keeps of a function: attributes of callable objects; None for plain functions."""
    return None if function is None or isinstance(function, types.FunctionType) else function.__dict__.copy()


class LRScheduler:
    """Base of the schedules: sets the "lr" of all parameter groups of `optimizer` at each `step()`.

    One of your own overrides `get_lr`, which gives a list with a rate for each group, from `last_epoch`, `base_lrs`
    and the groups. Making a schedule sets the rates of epoch 0; with `last_epoch` it goes on after that epoch.

    Raises TypeError for what is no Optimizer, KeyError if it goes on and a group has no "initial_lr".
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param_groups[{index}] has no 'initial_lr', which going on after epoch {last_epoch} needs: load "
                    f"the state of the optimizer first, or leave last_epoch out"
                )
        self.base_lrs = _options(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self):
        """All attributes but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave. The rates of the optimizer are part of its own state."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The rates that were set last, one per group."""
        return self._last_lr

    def get_lr(self):
        """The rates of `last_epoch`; it is called by step()."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr()")

    def step(self, epoch=None):
        """Sets the rates of the next epoch; to be called after the steps of the optimizer."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn("optimizer.step was replaced after the schedule was made", UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "the step() of the schedule was called before that of the optimizer: the first rate is skipped",
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            _warn_of_epoch()
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._set_rates(closed)

    def _set_rates(self, rates=None):
        self._get_lr_called_within_step = True
        try:
            values = (rates or self.get_lr)()
        finally:
            self._get_lr_called_within_step = False
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            _set_option(group, "lr", value)
        self._last_lr = _options(self.optimizer, "lr")

    def _warn_outside_step(self):
        if not self._get_lr_called_within_step:
            warnings.warn("get_lr() computes the next rates: call get_last_lr()", UserWarning, stacklevel=3)

    def _scaled(self, factor):
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _unchanged(self):
        return _options(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The name of LRScheduler before torch 2.0."""


def _watch_steps(optimizer):
    """Marks the optimizer once it has made a step: `_opt_called`."""
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return
    owner, function = weakref.ref(optimizer), step.__func__  # its own attribute: not a cycle

    @functools.wraps(function)
    def watched(*args, **kwargs):
        own = owner()
        own._opt_called = True
        return function(own, *args, **kwargs)

    watched._wrapped_by_lr_sched = True
    optimizer.step = watched


def _add_cycled_momentum(scheduler, base_momentum, max_momentum, last_epoch):
    """For schedules that move the momentum against the rate: its bounds, per group. Adam's momentum is betas[0]."""
    optimizer = scheduler.optimizer
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("cycle_momentum=True needs an optimizer with momentum or betas")
    scheduler.use_beta1 = "betas" in optimizer.defaults
    lowest = _per_group("base_momentum", optimizer, base_momentum)
    highest = _per_group("max_momentum", optimizer, max_momentum)
    if last_epoch == -1:
        for low, high, group in zip(lowest, highest, optimizer.param_groups):
            _set_momentum(scheduler, group, high)
            group["max_momentum"], group["base_momentum"] = high, low
    return lowest, highest


def _set_momentum(scheduler, group, value):
    if scheduler.use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


def _anneal_cos(start, end, part):
    return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _anneal_linear(start, end, part):
    return (end - start) * part + start

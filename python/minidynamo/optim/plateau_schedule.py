"""A learning rate schedule that waits until a metric gets no better: ReduceLROnPlateau."""

import math

from .schedule_base import LRScheduler, _check_optimizer, _options, _set_option, _warn_of_epoch


class ReduceLROnPlateau(LRScheduler):
    """lr is multiplied by `factor` when the metric has been no better for more than `patience` epochs.

    Better is lower (`mode` "min") or higher ("max") than the best one by more than `threshold`: a share of the best one
    (`threshold_mode` "rel") or a difference ("abs"). After a change no epochs are counted for `cooldown` epochs. lr
    does not fall below `min_lr`, a number or a list with one per group; changes of at most `eps` are not made.

    Raises ValueError for a factor of at least 1, other modes, and lists that do not fit the groups; TypeError for what
    is no Optimizer; `step` raises RuntimeError if groups were added and `min_lr` is a list.
    """

    def __init__(
        self,
        optimizer,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        eps=1e-8,
    ):
        if factor >= 1.0:
            raise ValueError(f"factor has to be less than 1: {factor}")
        _check_optimizer(optimizer)
        self.factor = factor
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = list(min_lr) if self.default_min_lr is None else [min_lr] * groups
        if len(self.min_lrs) != groups:
            raise ValueError(f"min_lr has {len(self.min_lrs)} values for {groups} parameter groups")
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = _options(optimizer, "lr")
        self._set_mode(mode, threshold, threshold_mode)
        self._reset()

    def _set_mode(self, mode, threshold, threshold_mode):
        if mode not in ("min", "max"):
            raise ValueError(f"mode has to be 'min' or 'max', not {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold_mode has to be 'rel' or 'abs', not {threshold_mode!r}")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _reset(self):
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self):
        """Whether bad epochs do not count now."""
        return self.cooldown_counter > 0

    def step(self, metrics, epoch=None):
        """Takes the metric of one more epoch, a number or a tensor of one element."""
        value = float(metrics)
        if epoch is not None:
            _warn_of_epoch()
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(value, self.best):
            self.best = value
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = _options(self.optimizer, "lr")

    def _reduce_lr(self, epoch):
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"min_lr was given for {len(self.min_lrs)} parameter groups, of which there are {len(groups)} now: "
                    f"put one for each into min_lrs"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, lowest in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, lowest)
            if old - new > self.eps:
                _set_option(group, "lr", new)

    def _is_better(self, value, best):
        if self.threshold_mode == "rel":
            limit = best * (1.0 - self.threshold if self.mode == "min" else 1.0 + self.threshold)
        else:
            limit = best - self.threshold if self.mode == "min" else best + self.threshold
        return value < limit if self.mode == "min" else value > limit

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave."""
        self.__dict__.update(state_dict)
        self._set_mode(self.mode, self.threshold, self.threshold_mode)

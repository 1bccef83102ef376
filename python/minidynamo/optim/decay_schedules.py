"""Learning rate schedules that follow a factor: by a function, in steps, linear, exponential, polynomial, cosine."""

import math
from bisect import bisect_right
from collections import Counter

from .schedule_base import LRScheduler, _attributes_of


class _ByFunction(LRScheduler):
    """A function per group, saved without the code."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"lr_lambda has {len(self.lr_lambdas)} functions for {groups} parameter groups")
        self._check_functions()
        super().__init__(optimizer, last_epoch)

    def _check_functions(self):
        pass

    def state_dict(self):
        """All attributes but the optimizer; of the functions, what callable objects have as attributes."""
        return super().state_dict() | {"lr_lambdas": [_attributes_of(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave."""
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_ByFunction):
    """lr = initial lr * lr_lambda(epoch); `lr_lambda` is a function or a list with one per group.

    Raises ValueError for a list of another length.
    """

    def get_lr(self):
        self._warn_outside_step()
        return [base * function(self.last_epoch) for function, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_ByFunction):
    """lr is multiplied by lr_lambda(epoch) at each epoch; `lr_lambda` is a function or a list with one per group.

    Raises ValueError for a list of another length, TypeError for what cannot be called.
    """

    def _check_functions(self):
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda has to be a function, not {type(function).__name__}")

    def get_lr(self):
        self._warn_outside_step()
        if self._is_initial:
            return self._unchanged()
        groups = self.optimizer.param_groups
        return [
            group["lr"] * function(self.last_epoch) for function, group in zip(self.lr_lambdas, groups, strict=True)
        ]


class StepLR(LRScheduler):
    """lr is multiplied by `gamma` every `step_size` epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._unchanged()
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """lr is multiplied by `gamma` at each of the epochs `milestones`, as often as it is named there."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self._unchanged()
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self):
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """lr = initial lr * `factor` before epoch `total_iters`, and the initial lr from there on.

    Raises ValueError unless 0 <= factor <= 1.
    """

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if factor > 1.0 or factor < 0:
            raise ValueError(f"factor has to be between 0 and 1: {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        if self.last_epoch == self.total_iters:
            return self._scaled(1.0 / self.factor)
        return self._unchanged()

    def _get_closed_form_lr(self):
        factor = self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The factor of the initial lr goes from `start_factor` to `end_factor` in `total_iters` epochs, on a line.

    Raises ValueError unless 0 < start_factor <= 1 and 0 <= end_factor <= 1.
    """

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(f"start_factor has to be above 0 and at most 1: {start_factor}")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError(f"end_factor has to be between 0 and 1: {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._unchanged()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._scaled(1.0 + rise / before)

    def _get_closed_form_lr(self):
        rise = self.end_factor - self.start_factor
        factor = self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * factor for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """lr = initial lr * gamma^epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        return self._unchanged() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self):
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """lr = initial lr * (1 - epoch / total_iters)^power, and 0 from `total_iters` on."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._unchanged()
        left, left_before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return self._scaled((left / left_before) ** self.power)

    def _get_closed_form_lr(self):
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """lr = eta_min + (initial lr - eta_min) * (1 + cos(pi * epoch / T_max)) / 2.

    Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2016, without the restarts: after
    `T_max` epochs it rises again. Each rate is computed from the one before, which may have been changed meanwhile.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self._is_initial:
            return self._unchanged()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the one before was eta_min
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            pairs = zip(self.base_lrs, self.optimizer.param_groups, strict=True)
            return [group["lr"] + (base - self.eta_min) * rise for base, group in pairs]
        height, height_before = (
            1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1)
        )
        groups = self.optimizer.param_groups
        return [height / height_before * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self):
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

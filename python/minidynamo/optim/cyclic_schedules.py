"""Learning rate schedules that rise and fall: CyclicLR, OneCycleLR, CosineAnnealingWarmRestarts."""

import math

from .schedule_base import (
    LRScheduler,
    _add_cycled_momentum,
    _anneal_cos,
    _anneal_linear,
    _attributes_of,
    _check_optimizer,
    _per_group,
    _set_momentum,
    _set_option,
)


class CyclicLR(LRScheduler):
    """lr goes from `base_lr` up to `max_lr` in `step_size_up` steps and back in `step_size_down`, again and again.

    Smith, "Cyclical Learning Rates for Training Neural Networks", 2015. The height of the cycles stays the same
    ("triangular"), halves each time ("triangular2"), is gamma^step ("exp_range"), or is `scale_fn(x)` where x is the
    number of the cycle or of the step, as `scale_mode` says: "cycle" or "iterations". With `cycle_momentum` the
    momentum, or betas[0], goes the other way, between `max_momentum` and `base_momentum`.

    Raises TypeError for what is no Optimizer; ValueError for another mode, lists that do not fit the parameter groups,
    and optimizers without momentum unless `cycle_momentum` is False.
    """

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up=2000,
        step_size_down=None,
        mode="triangular",
        gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        cycle_momentum=True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch=-1,
    ):
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        lowest = _per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(lowest, optimizer.param_groups):
                _set_option(group, "lr", rate)
        self.max_lrs = _per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"mode has to be triangular, triangular2 or exp_range, or scale_fn be given: {mode!r}")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            found = _add_cycled_momentum(self, base_momentum, max_momentum, last_epoch)
            self.base_momentums, self.max_momentums = found
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def scale_fn(self, x):
        """The height of a cycle, of 1."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return 1 / 2.0 ** (x - 1)
        return self.gamma**x if self.mode == "exp_range" else 1.0

    def get_lr(self):
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        part = 1.0 + self.last_epoch / self.total_size - cycle
        rise = part / self.step_ratio if part <= self.step_ratio else (part - 1) / (self.step_ratio - 1)
        counted = cycle if self.scale_mode == "cycle" else self.last_epoch
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True)
            for low, high, group in bounds:
                _set_momentum(self, group, high - (high - low) * rise * self.scale_fn(counted))
        rates = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * rise * self.scale_fn(counted) for low, high in rates]

    def state_dict(self):
        """All attributes but the optimizer; of `scale_fn`, what a callable object has as attributes."""
        return super().state_dict() | {"_scale_fn_custom": _attributes_of(self._scale_fn_custom)}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave."""
        attributes = state_dict["_scale_fn_custom"]
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_scale_fn_custom"})
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)


class CosineAnnealingWarmRestarts(LRScheduler):
    """lr = eta_min + (initial lr - eta_min) * (1 + cos(pi * T_cur / T_i)) / 2, where T_cur counts from 0 to T_i.

    Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2016. T_i is `T_0` at first and is
    multiplied by `T_mult` at each restart. `step(epoch)` takes fractions of epochs, too.

    Raises ValueError unless T_0 >= 1 and T_mult >= 1 are integers and eta_min a number, and for a negative epoch.
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"T_0 has to be a positive integer: {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"T_mult has to be a positive integer: {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"eta_min has to be a number, not {type(eta_min)}: {eta_min}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch=None):
        """Sets the rates of the next epoch, or of `epoch`, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._find_cycle(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_rates()

    def _find_cycle(self, epoch):
        if epoch < 0:
            raise ValueError(f"there is no epoch before 0: {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts


class OneCycleLR(LRScheduler):
    """lr rises from max_lr / `div_factor` to `max_lr` and falls to the first rate / `final_div_factor`.

    Smith and Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates", 2017. It
    takes `total_steps`, or `epochs` * `steps_per_epoch`, steps, of which the share `pct_start` rises. With
    `three_phase` it falls to the first rate as fast as it rose, and then on. `anneal_strategy` is "cos" or "linear".
    With `cycle_momentum` the momentum, or betas[0], goes from `max_momentum` to `base_momentum` and back.

    Raises TypeError for what is no Optimizer; ValueError for counts that are missing or no positive integers, other
    strategies, a pct_start that is no float in [0, 1], optimizers without momentum unless `cycle_momentum` is False,
    and a step after the last.
    """

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps=None,
        epochs=None,
        steps_per_epoch=None,
        pct_start=0.3,
        anneal_strategy="cos",
        cycle_momentum=True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor=25.0,
        final_div_factor=1e4,
        three_phase=False,
        last_epoch=-1,
    ):
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"pct_start has to be a float between 0 and 1: {pct_start}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy has to be 'cos' or 'linear', not {anneal_strategy!r}")
        self._anneal_func_type = anneal_strategy
        highest = _per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for rate, group in zip(highest, optimizer.param_groups):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            _add_cycled_momentum(self, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(f"this is step {self.last_epoch} of {self.total_steps}")
        start, phases = 0.0, self._schedule_phases
        for phase in phases:
            if self.last_epoch <= phase["end_step"] or phase is phases[-1]:
                break
            start = phase["end_step"]
        part = (self.last_epoch - start) / (phase["end_step"] - start)
        anneal = _anneal_cos if self._anneal_func_type == "cos" else _anneal_linear
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                _set_momentum(self, group, anneal(*ends, part))
        return rates


def _total_steps(total_steps, epochs, steps_per_epoch):
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("either total_steps has to be given, or epochs and steps_per_epoch")
    counts = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    if total_steps is not None:
        counts = {"total_steps": total_steps}
    for name, count in counts.items():
        if not isinstance(count, int) or count <= 0:
            raise ValueError(f"{name} has to be a positive integer: {count}")
    return math.prod(counts.values())


def _phases(total_steps, part, three):
    """Each phase by its last step and the names of the options of a group that it goes from and to."""
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    rows = [(float(part * total_steps) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
    if three:
        rows.append((float(2 * part * total_steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
        rows.append((total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
    else:
        rows.append((total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
    return [dict(zip(names, row)) for row in rows]

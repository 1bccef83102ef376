"""Learning rate schedules made of others: one after the other, and all at once."""

from bisect import bisect_right

from .plateau_schedule import ReduceLROnPlateau
from .schedule_base import LRScheduler, _options, _set_option


class _Combined(LRScheduler):
    """Checks and saves the schedules it is made of."""

    def _check_schedulers(self, schedulers, optimizer):
        name = type(self).__name__
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name}: schedulers[{index}] has no optimizer")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(f"{name}: schedulers[{index}] is a ReduceLROnPlateau, whose step() needs a metric")
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"{name}: schedulers[{index}] is a schedule of another optimizer")

    def state_dict(self):
        """All attributes but the optimizer; the states of the schedules under "_schedulers"."""
        return super().state_dict() | {"_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave."""
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)


class SequentialLR(_Combined):
    """The first of `schedulers` up to the first of `milestones`, then the second from its epoch 0 on, and so on.

    `milestones` are epochs, one less than schedules.

    Raises ValueError for no schedules, other numbers of milestones, schedules of other optimizers, and
    ReduceLROnPlateau; TypeError for what has no optimizer.
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if len(schedulers) < 1:
            raise ValueError("SequentialLR needs a schedule at least")
        self._check_schedulers(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"{len(schedulers)} schedules need {len(schedulers) - 1} milestones, not {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            _set_option(group, "lr", group["initial_lr"])
        self.recursive_undo()  # each has set the rates of its epoch 0
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched=None):
        """Takes back an epoch of all schedules, and of those they are made of."""
        sched = self if sched is None else sched
        if hasattr(sched, "_schedulers"):
            for inner in sched._schedulers:
                self.recursive_undo(inner)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1

    def step(self):
        """Sets the rates of the next epoch."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """All of `schedulers` at each step: the factors of those that compute a rate from the one before multiply.

    Raises ValueError for no schedules, schedules of other optimizers, and ReduceLROnPlateau; TypeError for what has no
    optimizer.
    """

    def __init__(self, schedulers, optimizer=None):
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler needs a schedule at least")
        optimizer = optimizer or schedulers[0].optimizer
        self._check_schedulers(schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = _options(optimizer, "lr")

    def step(self):
        """Sets the rates of the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = _options(self.optimizer, "lr")

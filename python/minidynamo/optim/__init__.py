"""torch.optim: optimisers, learning rate schedules in `lr_scheduler`, weight averages in `swa_utils`."""

from .._absent import absent_names as _absent_names
from .._absent import on_demand as _on_demand

_HOMES = {
    "ASGD": "asgd",
    "Adadelta": "adadelta",
    "Adafactor": "_adafactor",
    "Adagrad": "adagrad",
    "Adam": "adam",
    "AdamW": "adamw",
    "Adamax": "adamax",
    "LBFGS": "lbfgs",
    "Muon": "_muon",
    "NAdam": "nadam",
    "Optimizer": "optimizer",
    "RAdam": "radam",
    "RMSprop": "rmsprop",
    "Rprop": "rprop",
    "SGD": "sgd",
    "SparseAdam": "sparse_adam",
}
__all__ = ["lr_scheduler", "swa_utils", *_HOMES]  # noqa: F822  loaded when they are asked for
# Loaded when the first is asked for: programs that do not train need not wait for them.
__getattr__ = _absent_names(__name__, _on_demand(__name__, _HOMES))


def __dir__():
    return sorted({*globals(), *__all__})

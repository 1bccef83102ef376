"""torch.optim: optimisers, learning rate schedules in `lr_scheduler`, weight averages in `swa_utils`."""

from importlib import import_module

from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules

_HOMES = {
    "ASGD": "asgd",
    "Adadelta": "adadelta",
    "Adagrad": "adagrad",
    "Adam": "adam",
    "AdamW": "adamw",
    "Adamax": "adamax",
    "LBFGS": "lbfgs",
    "NAdam": "nadam",
    "Optimizer": "optimizer",
    "RAdam": "radam",
    "RMSprop": "rmsprop",
    "Rprop": "rprop",
    "SGD": "sgd",
    "SparseAdam": "sparse_adam",
}
__all__ = ["lr_scheduler", "swa_utils", *_HOMES]  # noqa: F822  loaded when they are asked for


def _load(name, missing):
    """Loaded when the first is asked for: programs that do not train need not wait for them."""
    if name in _submodules(__name__):
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        return missing
    found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


__getattr__ = _absent_names(__name__, _load)


def __dir__():
    return sorted({*globals(), *__all__})

"""torch.utils: submodules, loaded by name."""

from importlib import import_module

from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules


def _load(name, missing):
    if name not in _submodules(__name__):
        return missing
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {error}") from error


__getattr__ = _absent_names(__name__, _load)

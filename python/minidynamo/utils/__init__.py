"""torch.utils: submodules, loaded by name."""

from importlib import import_module

from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules


def set_module(obj, mod):
    """Sets `__module__` of an object. TypeError for names that are no text."""
    if not isinstance(mod, str):
        raise TypeError(f"the name of a module is a text, not {mod!r}")
    obj.__module__ = mod


def _load(name, missing):
    if name == "swap_tensors":
        return import_module(f"{__name__}.swapping").swap_tensors
    if name not in _submodules(__name__):
        return missing
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {error}") from error


__getattr__ = _absent_names(__name__, _load)

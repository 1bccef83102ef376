"""torch._functorch: functions as a forward and a backward graph, which compilers of one's own turn into code."""

from importlib import import_module

from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules


def _load(name, missing):
    return import_module(f"{__name__}.{name}") if name in _submodules(__name__) else missing


__getattr__ = _absent_names(__name__, _load)

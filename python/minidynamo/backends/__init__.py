"""torch.backends: settings of the libraries that torch computes with, and which of them there are.

The settings hold what they were set to. Nothing here reads them but the settings themselves: there are no kernels for
other devices, and float32 is always computed in float32.
"""

from importlib import import_module

from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules
from . import _settings


def disable_global_flags():
    """From here on the settings of cudnn and others change only within their flags()."""
    _settings.freeze()


def flags_frozen():
    """Whether disable_global_flags() was called."""
    return _settings.is_frozen()


def _load(name, missing):
    return import_module(f"{__name__}.{name}") if name in _submodules(__name__) else missing


_settings.hold_settings(__name__, fp32_precision=_settings.Setting("none", _settings.precision_of("generic")))
__getattr__ = _absent_names(__name__, _load)

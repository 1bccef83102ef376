"""torch.backends: settings of the libraries that torch computes with, and which of them there are.

The settings hold what they were set to. Those of products and convolutions say what GPUs may do; the CPU computes
float32 in float32.
"""

from importlib import import_module

from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules
from . import _matmul, _settings


def disable_global_flags():
    """From here on the settings of cudnn and others change only within their flags()."""
    _settings.freeze()


def flags_frozen():
    """Whether disable_global_flags() was called."""
    return _settings.is_frozen()


def _load(name, missing):
    return import_module(f"{__name__}.{name}") if name in _submodules(__name__) else missing


_settings.hold_settings(
    __name__,
    fp32_precision=_settings.Setting(
        "none", _settings.precision_of("generic"), then=lambda _, value: _matmul.set_generic_precision(value)
    ),
)
__getattr__ = _absent_names(__name__, _load)

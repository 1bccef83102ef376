"""torch.backends.opt_einsum: not used, einsum multiplies from left to right."""

import contextlib
import sys

from .._absent import absent_names as _absent_names
from . import _settings


def is_available():
    """False."""
    return False


def get_opt_einsum():
    """None: the package is not used, be it installed or not."""
    return None


def set_flags(_enabled=None, _strategy=None):
    """Sets what is not None; gives the values of before. RuntimeError for what cannot be had."""
    here = sys.modules[__name__]
    before = (here.enabled, here.strategy)
    for name, value in (("enabled", _enabled), ("strategy", _strategy)):
        if value is not None:
            setattr(here, name, value)
    return before


@contextlib.contextmanager
def flags(enabled=None, strategy=None):
    """The settings within a block."""
    before = set_flags(enabled, strategy)
    try:
        yield
    finally:
        set_flags(*before)


def _enabled(value, name):
    if value:
        raise ValueError("opt_einsum is not used here, so it cannot be enabled")


_settings.hold_settings(
    __name__,
    enabled=_settings.Setting(False, _enabled),
    strategy=_settings.Setting(None, _settings.anything),
)
__getattr__ = _absent_names(__name__)

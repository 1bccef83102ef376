"""torch.backends.mkldnn: oneDNN is not used; its settings hold what they are set to."""

import contextlib
import sys

from .._absent import absent_names as _absent_names
from . import _settings
from ._matmul import mkldnn_matmul as matmul

__all__ = ["conv", "flags", "is_available", "matmul", "rnn", "set_flags"]
conv = _settings.Precision("mkldnn", "conv")
rnn = _settings.Precision("mkldnn", "rnn")


def is_available():
    """False: kernels are compiled here, none come from oneDNN."""
    return False


def is_acl_available():
    """False: nor from Arm's library."""
    return False


def set_flags(_enabled=None, _deterministic=None, _allow_tf32=None, _fp32_precision="none"):
    """Sets what is not None; gives the values of before, in the order of the parameters."""
    here = sys.modules[__name__]
    given = {"enabled": _enabled, "deterministic": _deterministic, "fp32_precision": _fp32_precision}
    before = (here.enabled, here.deterministic, here.allow_tf32, here.fp32_precision)
    for name, value in given.items():
        if value is not None:
            setattr(here, name, value)
    return before


@contextlib.contextmanager
def flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """The settings within a block; also after disable_global_flags()."""
    with _settings.Thawed():
        before = set_flags(enabled, deterministic, allow_tf32, fp32_precision)
    try:
        yield
    finally:
        with _settings.Thawed():
            set_flags(*before)


_settings.hold_settings(
    __name__,
    enabled=_settings.Setting(True, _settings.is_bool),
    deterministic=_settings.Setting(False, _settings.is_bool),
    allow_tf32=_settings.Setting(None, _settings.anything),
    fp32_precision=_settings.Setting("none", _settings.precision_of("mkldnn")),
)
__getattr__ = _absent_names(__name__)

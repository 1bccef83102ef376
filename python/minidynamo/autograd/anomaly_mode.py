"""Anomaly mode: backward passes say which operation of the forward pass an error or a NaN comes from."""

from .. import _C
from .._absent import absent_names as _absent_names

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class _Restored:
    """A block at whose end the mode is what it was when the object was made."""

    def __enter__(self):
        return None

    def __exit__(self, *error):
        _C._set_anomaly(*self.prev)


def _mode():
    return _C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled()


class detect_anomaly(_Restored):
    """Within this block operations keep the Python stack they were called from, for errors of the backward pass.

    A backward pass within it that fails warns (UserWarning) with the stack of the operation it was at, and with
    `check_nan` it fails (RuntimeError) where an operation's gradients have a NaN. All threads are affected, and slow.
    """

    def __init__(self, check_nan=True):
        import warnings

        self.prev, self.check_nan = _mode(), check_nan
        warnings.warn("anomaly mode keeps a stack for each operation: use it to find errors only", UserWarning, 2)

    def __enter__(self):
        self.prev = _mode()
        _C._set_anomaly(True, self.check_nan)


class set_detect_anomaly(_Restored):
    """Switches anomaly mode on or off, at once; as a context manager for a block only. See detect_anomaly."""

    def __init__(self, mode, check_nan=True):
        self.prev = _mode()
        _C._set_anomaly(mode, check_nan)


__getattr__ = _absent_names(__name__)

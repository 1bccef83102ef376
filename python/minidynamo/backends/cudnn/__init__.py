"""torch.backends.cudnn: not available; its settings hold what they are set to.

Convolutions on GPUs are computed in tf32 once a program sets `allow_tf32`, or `conv.fp32_precision` to "tf32".
"""

import contextlib
import sys

from ..._absent import absent_names as _absent_names
from .. import _matmul, _settings
from .._settings import Setting

_NAMES = (
    "enabled",
    "benchmark",
    "benchmark_limit",
    "deterministic",
    "allow_tf32",
    "fp32_precision",
    "depthwise_kernel",
)


class _OfConvolutions(_settings.Precision):
    fp32_precision = Setting(
        "tf32",
        _settings.precision_of("cudnn", lacks=("bf16",)),
        freezes=False,
        then=lambda _, value: _matmul.allow_convolutions(value == "tf32"),
    )


conv = _OfConvolutions("cuda", "conv")
rnn = _settings.Precision("cuda", "rnn")
rnn.fp32_precision = "tf32"


def _allow_by_both(_, value):
    """`allow_tf32` is the older spelling of both precisions: what it forbids has no precision of its own."""
    conv.fp32_precision = rnn.fp32_precision = "tf32" if value else "none"
    _matmul.allow_convolutions(value)


def version():
    """None: there is no cuDNN."""
    return None


def is_available():
    """False."""
    return False


def is_acceptable(tensor):
    """False for every tensor: none lives on a CUDA device."""
    return False


def set_flags(
    _enabled=None,
    _benchmark=None,
    _benchmark_limit=None,
    _deterministic=None,
    _allow_tf32=None,
    _fp32_precision="none",
    _depthwise_kernel=None,
):
    """Sets what is not None; gives the values of before, in the order of the parameters."""
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32, _fp32_precision, _depthwise_kernel)
    here = sys.modules[__name__]
    before = tuple(getattr(here, name) for name in _NAMES)
    for name, value, old in zip(_NAMES, given, before):
        if value is not None and (name != "allow_tf32" or value is not old):  # which says something by being set
            setattr(here, name, value)
    return before


@contextlib.contextmanager
def flags(
    enabled=False,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
    depthwise_kernel="auto",
):
    """The settings within a block; also after disable_global_flags().

    A block may forbid tf32 for convolutions. As `allow_tf32` is True unless it is given, it does not allow it.
    """
    given = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision, depthwise_kernel)
    said, precisions = _matmul.convolutions, (conv.fp32_precision, rnn.fp32_precision)
    try:
        with _settings.Thawed():
            before = set_flags(*given)
    finally:
        _matmul.allow_convolutions(said)
    if not allow_tf32:
        _matmul.allow_convolutions(False)
    try:
        yield
    finally:
        with _settings.Thawed():
            set_flags(*before)
        conv.fp32_precision, rnn.fp32_precision = precisions
        _matmul.allow_convolutions(said)


_settings.hold_settings(
    __name__,
    enabled=Setting(True, _settings.is_bool),
    benchmark=Setting(False, _settings.is_bool),
    benchmark_limit=Setting(None, _settings.anything, freezes=False),
    deterministic=Setting(False, _settings.is_bool),
    allow_tf32=Setting(True, _settings.is_bool, then=_allow_by_both),
    fp32_precision=Setting("none", _settings.precision_of("cudnn", lacks=("bf16",))),
    depthwise_kernel=Setting("auto", _settings.one_of("auto", "cudnn", "native")),
)
__getattr__ = _absent_names(__name__)

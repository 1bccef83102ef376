"""torch.cuda.nvtx: marks for NVIDIA's profiler, which is not told of them. Without a CUDA device RuntimeError."""

import contextlib

from .._absent import absent_names as _absent_names
from .._no_device import is_present as _is_present

_depth = 0
_started = 0


def _expect_device():
    if not _is_present():
        raise RuntimeError("NVTX functions are not installed: minidynamo has no CUDA support")


def range_push(msg):
    """How many ranges are open around this one, which is marked nowhere."""
    global _depth
    _expect_device()
    _depth += 1
    return _depth - 1


def range_pop():
    """How many ranges were open around the one that ends."""
    global _depth
    _expect_device()
    _depth -= 1
    return _depth


def range_start(msg):
    """A number for range_end(); the range is marked nowhere."""
    global _started
    _expect_device()
    _started += 1
    return _started


def range_end(range_id):
    """Nothing: the range is marked nowhere."""
    _expect_device()


def mark(msg):
    """Nothing: there is no such profiler here."""
    _expect_device()


@contextlib.contextmanager
def range(msg, *args, **kwargs):
    """range_push() and range_pop() around a block."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()


__getattr__ = _absent_names(__name__)

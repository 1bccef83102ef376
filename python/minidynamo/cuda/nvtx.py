"""torch.cuda.nvtx: marks for NVIDIA's profiler, which needs a CUDA device."""

import contextlib

from .._absent import absent_names as _absent_names


def _refuse():
    raise RuntimeError("NVTX functions are not installed: minidynamo has no CUDA support")


def range_push(msg):
    """RuntimeError: there is no such profiler here."""
    _refuse()


def range_pop():
    """RuntimeError: there is no such profiler here."""
    _refuse()


def range_start(msg):
    """RuntimeError: there is no such profiler here."""
    _refuse()


def range_end(range_id):
    """RuntimeError: there is no such profiler here."""
    _refuse()


def mark(msg):
    """RuntimeError: there is no such profiler here."""
    _refuse()


@contextlib.contextmanager
def range(msg, *args, **kwargs):
    """RuntimeError when it is entered: there is no such profiler here."""
    range_push(msg.format(*args, **kwargs))
    yield


__getattr__ = _absent_names(__name__)

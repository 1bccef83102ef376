"""torch.cuda.memory: of no device, so nothing is allocated."""

import collections

from .._absent import absent_names as _absent_names
from .._no_device import refuse as _refuse


def empty_cache():
    """Nothing: there is no cache."""


def memory_allocated(device=None):
    """0 bytes."""
    return 0


def max_memory_allocated(device=None):
    """0 bytes."""
    return 0


def memory_reserved(device=None):
    """0 bytes."""
    return 0


def max_memory_reserved(device=None):
    """0 bytes."""
    return 0


def memory_cached(device=None):
    """0 bytes: the older name of memory_reserved, with a FutureWarning."""
    _renamed("memory_cached", "memory_reserved")
    return 0


def max_memory_cached(device=None):
    """0 bytes: the older name of max_memory_reserved, with a FutureWarning."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return 0


def memory_stats(device=None):
    """No statistics."""
    return collections.OrderedDict()


def memory_stats_as_nested_dict(device=None):
    """No statistics."""
    return {}


def memory_summary(device=None, abbreviated=False):
    """AssertionError: there is no device to tell of."""
    _refuse("CUDA")


def memory_snapshot(mempool_id=None, include_traces=True):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def reset_peak_memory_stats(device=None):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def reset_accumulated_memory_stats(device=None):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def reset_max_memory_allocated(device=None):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def reset_max_memory_cached(device=None):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def mem_get_info(device=None):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def set_per_process_memory_fraction(fraction, device=None):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def get_per_process_memory_fraction(device=None):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def _renamed(old, new):
    import warnings

    warnings.warn(f"torch.cuda.{old} is torch.cuda.{new} now", FutureWarning, stacklevel=3)


__getattr__ = _absent_names(__name__)

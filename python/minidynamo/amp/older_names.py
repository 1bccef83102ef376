"""Older names of the settings of autocast, for the CPU and for CUDA devices; each warns."""

import warnings

from . import autocast_mode as _mode


def _warn(old, new):
    warnings.warn(f"torch.{old} is torch.{new} now", DeprecationWarning, stacklevel=3)


def is_autocast_cpu_enabled():
    """is_autocast_enabled('cpu')."""
    _warn("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return _mode.is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """set_autocast_enabled('cpu', enabled)."""
    _warn("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    _mode.set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    """get_autocast_dtype('cpu')."""
    _warn("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return _mode.get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    """set_autocast_dtype('cpu', dtype)."""
    _warn("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    _mode.set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype():
    """get_autocast_dtype('cuda')."""
    _warn("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return _mode.get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype):
    """set_autocast_dtype('cuda', dtype)."""
    _warn("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    _mode.set_autocast_dtype("cuda", dtype)

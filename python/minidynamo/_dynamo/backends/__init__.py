"""Backends of the compiler by name, and what helps to write one."""

from importlib import import_module

from ..._absent import absent_names as _absent_names


def _load(name, missing):
    return import_module(f"{__name__}.{name}") if name in ("common", "debugging", "registry") else missing


__getattr__ = _absent_names(__name__, _load)

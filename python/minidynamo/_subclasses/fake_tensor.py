"""Errors by which a backend refuses a graph: the function is then run without it (graph break GB0219)."""

from .._absent import absent_names as _absent_names

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
]


class UnsupportedFakeTensorException(RuntimeError):
    """A kind of tensor the backend does not work with."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


class DynamicOutputShapeException(RuntimeError):
    """An operation whose result's size depends on data."""

    def __init__(self, func):
        super().__init__(func)
        self.func = func


class DataDependentOutputException(RuntimeError):
    """An operation whose result is a Python value that depends on data."""

    def __init__(self, func):
        super().__init__(func)
        self.func = func


class UnsupportedOperatorException(RuntimeError):
    """An operation the backend does not know."""

    def __init__(self, func):
        super().__init__(func)
        self.func = func


__getattr__ = _absent_names(__name__)

"""Functions of this package that are traced where compiled code calls them, as those of nn are.

The others are called as they are, at a graph break.
"""

from types import FunctionType

from . import _C


def traced(function):
    """The function, which the tracer enters."""
    _C._mark_callable(function, "dont_skip")
    return function


def trace_functions_of(namespace):
    """The same for all that a module, given by its globals(), defines."""
    for value in list(namespace.values()):
        if isinstance(value, FunctionType) and value.__module__ == namespace["__name__"]:
            traced(value)

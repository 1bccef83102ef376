"""The tracer's controls: graph_break, skip_frame, disable, reset, explain, config, exceptions, counters."""

from . import config, exc, report, utils
from .dynamic_marks import mark_dynamic, mark_static, maybe_mark_dynamic
from .eval_frame import (
    compile,
    disable,
    explain,
    graph_break,
    is_compiling,
    list_backends,
    lookup_backend,
    optimize,
    register_backend,
    reset,
    skip_frame,
)

__all__ = [
    "compile",
    "config",
    "disable",
    "exc",
    "explain",
    "graph_break",
    "is_compiling",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "maybe_mark_dynamic",
    "optimize",
    "register_backend",
    "report",
    "reset",
    "skip_frame",
    "utils",
]


def __getattr__(name):
    if name in ("comptime", "testing", "output"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

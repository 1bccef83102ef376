"""The tracer's controls: graph_break, skip_frame, disable, reset, explain, config, exceptions, counters."""

from .. import _C
from .._absent import absent_names as _absent_names
from . import config, exc, report, utils
from .dynamic_marks import mark_dynamic, mark_static, mark_static_address, maybe_mark_dynamic
from .eval_frame import (
    compile,
    disable,
    explain,
    graph_break,
    is_compiling,
    is_dynamo_disable_recursive,
    list_backends,
    lookup_backend,
    optimize,
    optimize_assert,
    register_backend,
    reset,
    reset_code_caches,
    reset_frame_count,
    skip_frame,
)
from .marked_callables import (
    allow_in_graph,
    assume_constant_result,
    disallow_in_graph,
    dont_skip_tracing,
    error_on_graph_break,
    forbid_in_graph,
    nonstrict_trace,
    substitute_in_graph,
)
from .stance import run, set_stance

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "disable",
    "disallow_in_graph",
    "dont_skip_tracing",
    "error_on_graph_break",
    "exc",
    "explain",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_disable_recursive",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "optimize",
    "optimize_assert",
    "register_backend",
    "report",
    "reset",
    "reset_code_caches",
    "reset_frame_count",
    "run",
    "set_stance",
    "skip_frame",
    "substitute_in_graph",
    "utils",
]


@dont_skip_tracing
def _get_tracing_state():
    """What torch.jit.trace keeps while it traces: there is no such tracing here."""


_C._get_tracing_state = _get_tracing_state


def _supported():
    """True: wherever the package can be imported, it compiles."""
    return True


def _load(name, missing):
    import importlib

    if name in (
        "testing",
        "output",
        "comptime",
        "compiled_autograd",
        "external_utils",
        "decorators",
        "callback",
        "backends",
    ):
        return importlib.import_module(f"{__name__}.{name}")
    if name == "OptimizedModule":
        return importlib.import_module(f"{__name__}.eval_frame").OptimizedModule
    if name in ("callback_handler", "on_compile_start", "on_compile_end"):
        return getattr(importlib.import_module(f"{__name__}.callback"), name)
    if name == "patch_dynamo_config":
        return importlib.import_module(f"{__name__}.config_patches").patch_dynamo_config
    if name in ("is_dynamo_supported", "is_inductor_supported"):
        return _supported
    if name == "export":
        return importlib.import_module(f"{__name__}.exporting").export
    return missing


__getattr__ = _absent_names(__name__, _load)

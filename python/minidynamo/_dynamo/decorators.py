"""Where torch keeps the marks of functions and sizes: all of them are names of torch._dynamo."""

from .._absent import absent_names as _absent_names
from .dynamic_marks import mark_dynamic, mark_static, mark_static_address, mark_unbacked, maybe_mark_dynamic
from .eval_frame import disable, graph_break, skip_frame
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
    "allow_in_graph", "assume_constant_result", "disable", "disallow_in_graph", "dont_skip_tracing",
    "error_on_graph_break", "forbid_in_graph", "graph_break", "mark_dynamic", "mark_static", "mark_static_address",
    "mark_unbacked", "maybe_mark_dynamic", "nonstrict_trace", "run", "set_stance", "skip_frame", "substitute_in_graph",
]  # fmt: skip

__getattr__ = _absent_names(__name__)

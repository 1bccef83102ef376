"""torch.fx: graphs of functions and modules, to look at, to change and to run."""

from importlib import import_module

from .._absent import absent_names as _absent_names
from .._absent import on_demand as _on_demand

_HOMES = {
    "Graph": "graph",
    "CodeGen": "graph",
    "GraphModule": "graph_module",
    "Interpreter": "interpreter",
    "Node": "node",
    "PH": "_symbolic_trace",
    "Proxy": "proxy",
    "Tracer": "_symbolic_trace",
    "Transformer": "interpreter",
    "has_side_effect": "node",
    "map_arg": "node",
    "replace_pattern": "subgraph_rewriter",
    "symbolic_trace": "_symbolic_trace",
    "table_text": "table",
    "wrap": "_symbolic_trace",
}
__all__ = [
    "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "has_side_effect", "map_arg",
    "replace_pattern", "symbolic_trace", "wrap",
]  # fmt: skip  # noqa: F822  loaded when they are asked for


def _module_of(native):
    """Called by the compiler for each captured graph that a backend in Python gets."""
    from .captured import CapturedModule

    globals()["_module_of"] = CapturedModule  # from now on without a detour
    return CapturedModule(native)


_load_usual = _on_demand(__name__, _HOMES)


def _load(name, missing):
    """Loaded when it is asked for: a program that only compiles need not wait for it."""
    if name == "experimental":
        import_module(f"{__name__}.experimental.symbolic_shapes")
    return _load_usual(name, missing)


__getattr__ = _absent_names(__name__, _load)


def __dir__():
    return sorted({*globals(), *__all__})

"""minidynamo.compiler: names of torch.compiler."""

from ._dynamo.eval_frame import compile, disable, is_compiling, list_backends, reset
from ._dynamo.hatches import allow_in_graph, assume_constant_result, substitute_in_graph
from ._dynamo.stance import set_stance

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_stance",
    "substitute_in_graph",
]

is_dynamo_compiling = is_compiling


def is_exporting():
    """True while traced, False in plain Python."""
    return False


def nested_compile_region(fn=None):
    """Marks a function that torch compiles once for all calls. Here each call is traced in place, as without the mark.

    Usable bare and called. TypeError for what cannot be called.
    """
    if fn is None:
        return nested_compile_region
    if not callable(fn):
        raise TypeError(f"nested_compile_region marks functions, not {fn!r}")
    return fn

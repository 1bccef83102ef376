"""minidynamo.compiler: names of torch.compiler."""

from ._absent import absent_names as _absent_names
from ._dynamo.eval_frame import compile, disable, is_compiling, list_backends, reset, wait_for_kernels
from ._dynamo.marked_callables import allow_in_graph, assume_constant_result, nested_compile_region, substitute_in_graph
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
    "wait_for_kernels",
]

is_dynamo_compiling = is_compiling


def is_exporting():
    """True while traced, False in plain Python."""
    return False


__getattr__ = _absent_names(__name__)

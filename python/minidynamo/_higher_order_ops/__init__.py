"""Operators over functions, as objects."""

from .. import _C
from .._absent import absent_names as _absent_names


class _InvokeSubgraph:
    """What torch.compiler.nested_compile_region stands for; its arguments are made by a tracer alone."""

    def __call__(self, *args, **kwargs):
        raise RuntimeError("invoke_subgraph takes graphs of the tracer; decorate with nested_compile_region instead")

    def __repr__(self):
        return "<invoke_subgraph>"


_C._mark_callable(_InvokeSubgraph, "region_operator")
invoke_subgraph = _InvokeSubgraph()

__getattr__ = _absent_names(__name__)

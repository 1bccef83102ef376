"""What stands behind torch.compiler.nested_compile_region."""

from .. import _C
from .._absent import absent_names as _absent_names


class InvokeSubgraphHOP:
    """The operator; its arguments are made by a tracer alone."""

    def __call__(self, *args, **kwargs):
        raise RuntimeError("invoke_subgraph takes graphs of the tracer; decorate with nested_compile_region instead")

    def __repr__(self):
        return "<invoke_subgraph>"


_C._mark_callable(InvokeSubgraphHOP, "region_operator")
invoke_subgraph = InvokeSubgraphHOP()

__getattr__ = _absent_names(__name__)

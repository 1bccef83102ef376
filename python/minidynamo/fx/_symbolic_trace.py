"""torch.fx._symbolic_trace: symbolic_trace(), wrap() and the Tracer."""

from .._absent import absent_names as _absent_names
from ..nn import Module
from .graph_module import GraphModule
from .patches import wrap
from .placeholders import PH, PHBase
from .tracer import Tracer, _assert_is_none, is_fx_tracing

__all__ = ["PH", "PHBase", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]
is_fx_symbolic_tracing = is_fx_tracing
_assert_is_none.__module__ = __name__


def symbolic_trace(root, concrete_args=None):
    """A GraphModule of what a Module's `forward`, or a function, does with its inputs.

    `concrete_args` maps names of inputs to constants for which the graph is specialised. Raises TraceError where what
    it does depends on the values of inputs.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


__getattr__ = _absent_names(__name__)

"""make_fx: what a function does to tensors, written down as a graph of operators of torch.ops.aten while it runs.

Below gradients and vmap, so that a function with torch.func.grad() or vmap() in it becomes the operators these run.
"""

import inspect
import operator

from ... import _C
from ..._absent import absent_names as _absent_names
from ...nn import Module, Parameter
from ...utils import _pytree
from ...utils._python_dispatch import TorchDispatchMode
from ..graph import Graph
from ..graph_module import GraphModule

_MODES = ("real", "fake", "symbolic")


class _Constants:
    """Tensors from outside, which the graph module holds."""

    def __init__(self):
        self.root = Module()
        self._counts = {"_param_constant": 0, "_tensor_constant": 0}

    def add(self, tensor):
        kind = "_param_constant" if isinstance(tensor, Parameter) else "_tensor_constant"
        name = f"{kind}{self._counts[kind]}"
        self._counts[kind] += 1
        setattr(self.root, name, tensor)
        return name


def _memory(tensor):
    if tensor.layout != _C.strided or tensor.numel() == 0 or tensor.device.type == "meta":
        return None
    return (tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """While active, each operator becomes a node of `graph`."""

    writes_graph = True  # what it is not shown is a constant of the graph

    def __init__(self, graph, decomposition_table=None):
        super().__init__()
        self.graph, self.constants = graph, _Constants()
        self._table = decomposition_table or {}
        self._nodes, self._seen, self._held = {}, {}, []

    def knows(self, tensor):
        return _C._tensor_id(tensor) in self._nodes or _memory(tensor) in self._seen

    def track(self, tensor, node):
        """The node gives this tensor, which is held: another one may not get its number."""
        self._held.append(tensor)
        self._nodes[_C._tensor_id(tensor)] = node
        if (memory := _memory(tensor)) is not None:
            self._seen[memory] = node
        node.meta["val"] = tensor.detach()

    def node_of(self, x):
        """What stands for a tensor: a node that gave it or shows the same elements, else a constant of the module."""
        if not isinstance(x, _C.Tensor):
            return x
        node = self._nodes.get(_C._tensor_id(x)) or self._seen.get(_memory(x))
        if node is None:
            node = self.graph.get_attr(self.constants.add(x))
            self.track(x, node)
        return node

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in self._table:
            with self:
                return self._table[func](*args, **kwargs)
        name = func.__name__.split(".")[0]
        tensors = [x for x in _pytree.tree_leaves((args, kwargs)) if isinstance(x, _C.Tensor)]
        if name == "_local_scalar_dense" and any(map(self.knows, tensors)):
            raise RuntimeError(
                "make_fx(): a Python value is wanted from a tensor that is traced (item(), float(), bool()); "
                "the graph would hold it for good. Trace a function that goes without, or pass the value as it is."
            )
        result = func(*args, **kwargs)
        if name != "_local_scalar_dense":
            self._note(func, name, args, kwargs, result)
        return result

    def _note(self, func, name, args, kwargs, result):
        args, kwargs = _pytree.tree_map(self.node_of, (args, kwargs))
        node = self.graph.call_function(func, tuple(args), dict(kwargs), name=name)
        if isinstance(result, _C.Tensor):
            self.track(result, node)
            return
        for place, part in enumerate(result if isinstance(result, (tuple, list)) else ()):
            if isinstance(part, _C.Tensor):
                self.track(part, self.graph.call_function(operator.getitem, (node, place)))


def _place_inputs(mode, node, value):
    """What is in tuples, lists and dicts is taken out of them in the graph."""
    if isinstance(value, _C.Tensor):
        mode.track(value, node)
    elif isinstance(value, (tuple, list)):
        for place, part in enumerate(value):
            _place_part(mode, node, place, part)
    elif isinstance(value, dict):
        for key, part in value.items():
            _place_part(mode, node, key, part)


def _place_part(mode, node, key, part):
    if any(isinstance(x, _C.Tensor) for x in _pytree.tree_leaves(part)):
        _place_inputs(mode, mode.graph.call_function(operator.getitem, (node, key)), part)


def _names(f, count):
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    single = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [f"{name}_1" for name in single[:count]] + [f"arg{k}_1" for k in range(len(single), count)]


def _writes(node):
    name = getattr(node.target, "__name__", "").split(".")[0]
    return (name.endswith("_") and not name.endswith("__")) or "out" in node.kwargs


def _traced(f, args, table):
    graph = Graph()
    mode = ProxyTorchDispatchMode(graph, table)
    inputs = [graph.placeholder(name) for name in _names(f, len(args))]
    args = _pytree.tree_map_only(_C.Tensor, lambda t: t.detach().clone().requires_grad_(t.requires_grad), args)
    for node, value in zip(inputs, args):
        _place_inputs(mode, node, value)
    with mode:
        result = f(*args)
    graph.output(_pytree.tree_map(mode.node_of, result))
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function" and not node.users and not _writes(node):
            graph.erase_node(node)
    return GraphModule(mode.constants.root, graph, f.__name__ if hasattr(f, "__name__") else type(f).__name__)


def make_fx(
    f, decomposition_table=None, tracing_mode="real", _allow_non_fake_inputs=False, *, pre_dispatch=False,
    record_module_stack=False, _allow_fake_constant=False, _error_on_data_dependent_ops=True, **unused,
):  # fmt: skip
    """A function of the arguments of `f` that gives a GraphModule of the operators `f` runs on them.

    `decomposition_table` has functions that are run in place of operators. Sizes are those of the arguments:
    NotImplementedError for tracing_mode="symbolic". RuntimeError where Python decides by elements of an argument.
    """
    if tracing_mode not in _MODES:
        raise AssertionError(f"tracing_mode is one of {', '.join(_MODES)}, not {tracing_mode!r}")
    if tracing_mode == "symbolic":
        raise NotImplementedError("make_fx(tracing_mode='symbolic'): sizes are those of the arguments here; use 'real'")

    def wrapped(*args):
        return _traced(f, args, decomposition_table)

    return wrapped


def get_proxy_mode():
    """The mode that writes operators down now; None if none does."""
    from ..._aten.modes import stack

    return next((mode for mode in reversed(stack()) if isinstance(mode, ProxyTorchDispatchMode)), None)


__getattr__ = _absent_names(__name__)

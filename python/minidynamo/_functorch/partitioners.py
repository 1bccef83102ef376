"""Where a joint graph of a function and its gradients is cut in two: the forward and the backward graph."""

from .. import _C
from .._absent import absent_names as _absent_names
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node


def _reached(nodes):
    """These nodes and all that they are computed from."""
    found, left = set(), list(nodes)
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left.extend(node.all_input_nodes)
    return found


def _memory(node):
    value = node.meta.get("val")
    return value.untyped_storage().data_ptr() if isinstance(value, _C.Tensor) and value.layout == _C.strided else None


def _after_tangents(graph):
    """What is computed from tangents, also through memory that tangents were written to."""
    found, written = set(), set()
    for node in graph.nodes:
        is_tangent = node.op == "placeholder" and node.name.startswith("tangents")
        inputs = node.all_input_nodes
        if not found.isdisjoint(inputs) or not written.isdisjoint(map(_memory, inputs)) or is_tangent:
            if node.op != "output":
                found.add(node)
                if _changes_something(node) and inputs and _memory(inputs[0]) is not None:
                    written.add(_memory(inputs[0]))
    return found


def _changes_something(node):
    name = getattr(node.target, "__name__", "").split(".")[0]
    is_random = node.op == "call_function" and name.startswith(
        ("rand", "bernoulli", "multinomial", "normal", "uniform")
    )
    return is_random or (name.endswith("_") and not name.endswith("__")) or name == "set_"


def _cut_out(module, inputs, wanted, among, name):
    """A graph module of the nodes of `among` that `wanted` is computed from; `inputs` are its placeholders."""
    graph, made = Graph(), {}
    for node in inputs:
        made[node] = graph.placeholder(node.name)
        made[node].meta.update(node.meta)
    for node in module.graph.nodes:
        if node not in made and node in among:
            made[node] = graph.node_copy(node, made.__getitem__)
    graph.output(tuple([made[n] if isinstance(n, Node) else n for n in wanted]))
    return GraphModule(module, graph, name)


def default_partition(joint_module, _joint_inputs, *, num_fwd_outputs, static_lifetime_input_indices=None):
    """(forward module, backward module). The forward computes what its results need and hands on what the backward uses
    of it; all that only gradients need is left to the backward."""
    graph = joint_module.graph
    inputs = [n for n in graph.nodes if n.op == "placeholder"]
    primals = [n for n in inputs if not n.name.startswith("tangents")]
    tangents = [n for n in inputs if n.name.startswith("tangents")]
    outputs = list(next(n for n in graph.nodes if n.op == "output").args[0])
    results, gradients = outputs[:num_fwd_outputs], outputs[num_fwd_outputs:]
    after = _after_tangents(graph)
    before = [n for n in graph.nodes if n.op != "output" and n not in after]
    written = [n for n in graph.nodes if n.op == "call_function" and _changes_something(n)]
    forward = _reached([n for n in results if isinstance(n, Node)] + [n for n in written if n not in after])
    backward = _reached([n for n in gradients if isinstance(n, Node)] + [n for n in written if n in after])
    later = {n for n in backward if n not in forward and n.op != "placeholder"}
    saved = []
    for node in [*primals, *before]:
        is_used = any(user in later for user in node.users) or node in gradients
        kept = node in forward or node.op == "placeholder"
        if kept and is_used and node.op != "get_attr" and node not in saved:
            saved.append(node)
    forward_module = _cut_out(joint_module, primals, [*results, *saved], forward, "GraphModule")
    constants = {n for n in backward if n.op == "get_attr"}
    backward_module = _cut_out(joint_module, [*saved, *tangents], gradients, later | constants, "GraphModule")
    return forward_module, backward_module


def min_cut_rematerialization_partition(joint_module, _joint_inputs, compiler="inductor", *, num_fwd_outputs,
                                        static_lifetime_input_indices=None):  # fmt: skip
    """The same cut: what is kept is a matter of memory, not of results. (The compiler of the package cuts its own
    graphs by what is cheapest to keep.)"""
    return default_partition(joint_module, _joint_inputs, num_fwd_outputs=num_fwd_outputs)


__getattr__ = _absent_names(__name__)

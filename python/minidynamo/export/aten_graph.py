"""A captured graph as one of operators of torch.ops.aten, whose inputs are parameters, buffers and the user's."""

import operator

from .. import fx
from .._ops import ops
from .composites import put_together

_OPERATORS = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "div", operator.matmul: "matmul",
    operator.neg: "neg", operator.pow: "pow", operator.eq: "eq", operator.ne: "ne", operator.lt: "lt",
    operator.le: "le", operator.gt: "gt", operator.ge: "ge", operator.and_: "bitwise_and", operator.or_: "bitwise_or",
    operator.xor: "bitwise_xor", operator.invert: "bitwise_not", operator.iadd: "add_", operator.imul: "mul_",
    operator.isub: "sub_", operator.itruediv: "div_",
}  # fmt: skip
_ARITHMETIC = "add sub mul div add_ sub_ mul_ div_ floor_divide remainder atan2 maximum minimum".split()
_COMPARED = "eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor".split()
_OVERLOADS = {"sum": "dim_IntList", "mean": "dim", "softmax": "int", "transpose": "int"}


def _overload(name, args, kwargs):
    if name in _ARITHMETIC:
        return "Tensor"
    if name in _COMPARED:
        return "Tensor" if len(args) > 1 and isinstance(args[1], fx.Node) else "Scalar"
    if name == "pow":
        return "Tensor_Tensor" if len(args) > 1 and isinstance(args[1], fx.Node) else "Tensor_Scalar"
    if name in _OVERLOADS and (len(args) > 1 or "dim" in kwargs):
        return _OVERLOADS[name]
    return "default"


def aten_target(node, args, kwargs):
    """(name, operator of torch.ops.aten) that does what a node does; the node's own function where there is none."""
    if node.op == "call_method":
        name = node.target
    else:
        name = _OPERATORS.get(node.target) or getattr(node.target, "__name__", "")
        if node.target is operator.getitem:
            return "getitem", operator.getitem
    try:
        return name, getattr(getattr(ops.aten, name), _overload(name, args, kwargs))
    except AttributeError:
        return name or node.name, None


def lifted(captured, input_names):
    """A graph with these names for its placeholders. Nodes without an operator of aten stay as they were captured."""
    graph, made = fx.Graph(), {}
    names = iter(input_names)
    for node in captured.nodes:
        if node.op == "placeholder":
            name = next(names)
            made[node] = graph.placeholder(name)
        elif node.op == "output":
            graph.output(fx.node.map_arg(node.args[0], lambda n: made[n]))
        else:
            args = fx.node.map_arg(node.args, lambda n: made[n])
            kwargs = fx.node.map_arg(node.kwargs, lambda n: made[n])
            name, target = aten_target(node, args, kwargs) if node.op != "get_attr" else (node.name, None)
            if target is None:
                made[node] = graph.create_node(node.op, node.target, args, kwargs, node.name)
            else:
                made[node] = graph.create_node("call_function", target, args, kwargs, name)
        if node.op != "output":
            made[node].meta.update(getattr(node, "meta", {}))
    put_together(graph)
    return graph, made

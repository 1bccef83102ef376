"""Graphs as users, backends and explain() see them: GraphModule, Graph, Node."""

import builtins
import operator
import sys

from .._absent import absent_names as _absent_names


class Node:
    """One step of a graph. `op` is placeholder, call_function, call_method, get_attr or output; `target` the function,
    method name or input name; `args`/`kwargs` hold nodes and constants."""

    def __init__(self, graph, op, target, name, meta):
        self.graph = graph
        self.op = op
        self.target = target
        self.name = name
        self.args = ()
        self.kwargs = {}
        self.meta = meta
        self.users = {}

    @property
    def stack_trace(self):
        return self.meta.get("stack_trace")

    def __repr__(self):
        return self.name


def _target(spelling, target):
    """The object a call_function node calls."""
    if spelling == "operator":
        return getattr(operator, target)
    if spelling == "attribute":
        return builtins.getattr
    found = sys.modules["minidynamo"]
    for part in target.split("."):
        found = getattr(found, part, None)
    return target if found is None else found


def _link(value, nodes):
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "%":
        return nodes[value[1]]
    if isinstance(value, (list, tuple)):
        return type(value)(_link(v, nodes) for v in value)
    if isinstance(value, slice):
        return slice(_link(value.start, nodes), _link(value.stop, nodes), _link(value.step, nodes))
    return value


def _nodes_in(value):
    if isinstance(value, Node):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _nodes_in(v)
    elif isinstance(value, dict):
        yield from _nodes_in(list(value.values()))
    elif isinstance(value, slice):
        yield from _nodes_in((value.start, value.stop, value.step))


class Graph:
    """The nodes of one captured graph, in execution order."""

    def __init__(self, native):
        self._native = native
        self._nodes = None

    @property
    def nodes(self):
        if self._nodes is None:
            self._nodes = self._build()
        return self._nodes

    def _build(self):
        rows = self._native.nodes()
        nodes = []
        for op, spelling, target, name, _, _, sizes, dtype, stack in rows:
            meta = {"stack_trace": stack}
            if sizes is not None:
                meta["tensor_meta"] = (tuple(sizes), dtype)
            called = _target(spelling, target) if op == "call_function" else target
            nodes.append(Node(self, op, called, name, meta))
        for node, row in zip(nodes, rows):
            node.args, node.kwargs = _link(row[4], nodes), {k: _link(v, nodes) for k, v in row[5].items()}
            for used in _nodes_in((node.args, node.kwargs)):
                used.users[node] = None
        return nodes

    def print_tabular(self):
        """Prints the nodes as a table: opcode, name, target, args, kwargs."""
        print(self._table())

    def _table(self):
        return table_text(self._native.rows())

    def __str__(self):
        return self._native.fx()


def table_text(rows):
    """Rows of five cells under their headings, in columns."""
    rows = [("opcode", "name", "target", "args", "kwargs"), *rows]
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


class GraphModule:
    """A captured graph that can be called with its inputs; returns the tuple of its outputs."""

    def __init__(self, native):
        self._native = native
        self.graph = Graph(native)

    @property
    def code(self):
        return self._native.code()

    def forward(self, *inputs):
        return self._native.run(*inputs)

    def __call__(self, *inputs):
        return self.forward(*inputs)

    def print_readable(self, print_output=True, include_stride=False, include_device=False):
        """The graph as commented code; returned, and printed unless told not to.

        Tensors are shown as "f32[2, 3]", with their strides "f32[2, 3][3, 1]", with their device "f32[2, 3]cpu".
        """
        text = self._native.readable(include_stride, include_device)
        if print_output:
            print(text)
        return text

    def named_parameters(self, *args, **kwargs):
        return iter(())

    def named_buffers(self, *args, **kwargs):
        return iter(())

    def parameters(self, *args, **kwargs):
        return iter(())

    def __repr__(self):
        return f"GraphModule()\n{self.code}\n# To see more debug info, please use `graph_module.print_readable()`"


def _module_of(native):
    """Called by the tracer for each graph a Python backend gets."""
    return GraphModule(native)


def _load(name, missing):
    if name != "experimental":
        return missing
    import importlib

    importlib.import_module(f"{__name__}.experimental.symbolic_shapes")
    return importlib.import_module(f"{__name__}.experimental")


__getattr__ = _absent_names(__name__, _load)

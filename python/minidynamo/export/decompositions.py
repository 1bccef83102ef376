"""An exported program with other operators in its graph."""

import copy
from types import SimpleNamespace

from .. import _C, fx
from ..fx.experimental.proxy_tensor import make_fx
from ..nn import Module


def default_decompositions():
    """The table run_decompositions() goes by without one: composites are replaced by their parts anyway."""
    return CustomDecompTable()


class CustomDecompTable(dict):
    """{operator: function}; a function is run in the place of the operator."""

    def materialize(self):
        """The table as a plain dict."""
        return dict(self)


def decomposed(program, table):
    """A program like this one with another graph. Without a table all composites are replaced by their parts, with one
    those operators that it has. The program itself where sizes are dynamic: a graph is written down for fixed ones."""
    if program.range_constraints or program._guards or program._forward is None:
        return program
    made = copy.copy(program)
    inputs = program._example_values()
    if table is None or isinstance(table, CustomDecompTable):
        graph_module = make_fx(lambda *given: tuple(program._forward(*given)), dict(table or {}))(*inputs)
    else:
        made._inputs = [program._inputs[k] for k in program._order]
        graph_module = _replaced(program.graph_module, table, [inputs[k] for k in program._order])
    made._forward, made.constants = graph_module.forward, dict(program.constants)
    made._build(SimpleNamespace(graphs=[graph_module]))
    return made


class _Values(fx.Interpreter):
    """A run that keeps what each node gave."""

    def __init__(self, module):
        super().__init__(module)
        self.values = {}

    def run_node(self, n):
        self.values[n] = super().run_node(n)
        return self.values[n]


def _replaced(module, table, inputs):
    """The graph with functions of the table in the place of operators, traced for the values these had."""
    run = _Values(module)
    run.run(*[x.detach().clone() if isinstance(x, _C.Tensor) else x for x in inputs])
    graph, made = fx.Graph(), {}
    root = Module()
    for node in module.graph.nodes:
        if node.op == "get_attr":
            setattr(root, node.target, getattr(module, node.target))
        if node.op != "call_function" or node.target not in table:
            made[node] = graph.node_copy(node, made.__getitem__)
            continue
        names = node.all_input_nodes

        def called(*tensors, node=node, names=names):
            of = dict(zip(names, tensors))
            args, kwargs = fx.node.map_arg((node.args, node.kwargs), of.__getitem__)
            return table[node.target](*args, **kwargs)

        inner = make_fx(called, table)(*[run.values[n] for n in names])
        places = {}
        for place, outer in zip([n for n in inner.graph.nodes if n.op == "placeholder"], names):
            places[place] = made[outer]
        made[node] = graph.graph_copy(inner.graph, places)
    return fx.GraphModule(root, graph)

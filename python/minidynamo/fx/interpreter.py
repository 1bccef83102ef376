"""torch.fx.interpreter: runs a graph node by node, with a method to override for each kind of node."""

import contextlib

from .._absent import absent_names as _absent_names
from .code_generation import last_uses
from .graph import _EMPTY, Graph
from .graph_module import GraphModule
from .node import map_aggregate, map_arg
from .proxy import Proxy
from .tracer import Tracer

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a GraphModule, or `graph` with the attributes of a Module.

    Every node goes through `run_node(n)`, which calls the method named like its `op` with (target, args, kwargs);
    values of nodes are in `env`. With `garbage_collect_values` they leave it after their last use.
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module = module
        self.submodules = dict(self.module.named_modules())
        self.graph = module.graph if graph is None else graph
        self.env = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self._with_sizes = None
        self.user_to_last_uses = last_uses(self.graph) if garbage_collect_values else {}

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """What the graph returns for these inputs. `initial_env` has values of nodes that are not to be computed."""
        self.env = dict(initial_env or {})
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self._with_sizes = _size_values(self.graph, args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    _name_node(error, node)
                raise
            for unused in self.user_to_last_uses.get(node, ()):
                self.env.pop(unused, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list):
        """As run(), with the inputs in a list that is emptied, so that they can be freed."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    @contextlib.contextmanager
    def _set_current_node(self, node):
        yield

    def run_node(self, n):
        """The value of a node."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    # --- one method for each kind of node

    def placeholder(self, target, args, kwargs):
        """The next input; the rest of them for "*args"; the default where there is none left. RuntimeError without."""
        if not isinstance(target, str):
            raise AssertionError(f"the target of a placeholder is a str, not a {type(target).__name__}")
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"run() needs a positional argument for the input {target}, and got none") from None

    def get_attr(self, target, args, kwargs):
        """The attribute of the module at that path."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """What the function gives."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """What the method of args[0] gives."""
        first, *rest = args
        return getattr(first, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        """What the submodule gives."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """What run() returns."""
        return args[0]

    # --- values

    def fetch_attr(self, target):
        """The attribute of the module at a path; RuntimeError naming the part that is missing."""
        found = self.module
        parts = target.split(".")
        for number, part in enumerate(parts):
            if not hasattr(found, part):
                raise RuntimeError(f"a node refers to '{target}', and there is no '{'.'.join(parts[: number + 1])}'")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n):
        """(args, kwargs) of a node with the values of the nodes in them."""
        args, kwargs = self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)
        return self._with_sizes((args, kwargs)) if self._with_sizes else (args, kwargs)

    def map_nodes_to_values(self, args, n):
        """Nested arguments of `n` with the values of the nodes in them; RuntimeError for one that has not run."""

        def value(node):
            if node not in self.env:
                raise RuntimeError(f"Node {n} uses Node {node}, which has no value yet: lint() the graph")
            return self.env[node]

        return map_arg(args, value)


def _size_values(graph, args):
    """Only captured graphs have arguments that depend on the sizes of inputs."""
    if not hasattr(graph._codegen, "sizes"):
        return None
    from .captured import size_values

    return size_values(graph, args)


def _name_node(error, node):
    """Says in an exception which node was run."""
    text = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}"
    error.args = (f"{error.args[0]}\n\n{text}" if error.args else text, *error.args[1:])
    if isinstance(error, KeyError):
        error.args = (_Plain(error.args[0]), *error.args[1:])


class _Plain(str):
    """A text that a KeyError shows with its line breaks."""

    def __repr__(self):
        return str(self)


class Transformer(Interpreter):
    """Runs a graph with proxies: `transform()` gives a GraphModule of what the overridden methods make of it."""

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph):
                super().__init__()
                self.graph = graph
                self.tensor_attrs = {}

            def is_leaf_module(self, m, module_qualified_name):
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target, args, kwargs):
        """A proxy of a new input."""
        return Proxy(self.new_graph.placeholder(target, default_value=next(iter(args), _EMPTY)), self.tracer)

    def get_attr(self, target, args, kwargs):
        """A proxy of the attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """A proxy of what the module gives."""
        if not isinstance(target, str):
            raise AssertionError(f"the target of a call_module node is a str, not a {type(target).__name__}")
        return self.tracer.call_module(self.fetch_attr(target), self.fetch_attr(target).forward, args, kwargs)

    def call_function(self, target, args, kwargs):
        """A proxy of what the function gives."""
        if not callable(target):
            raise AssertionError(f"the target of a call_function node is callable, and {target!r} is not")
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self):
        """The new GraphModule."""
        from .call_forms import recording_calls

        with recording_calls():
            result = super().run(enable_io_processing=False)
        if result is not None:

            def node_of(value):
                return value.node if isinstance(value, Proxy) else value

            output = self.new_graph.output(map_aggregate(result, node_of))
            for node in reversed(self.module.graph.nodes):
                if node.op == "output":
                    output.meta.update(node.meta)
                    output.type = node.type
                    break
        return GraphModule(self.module, self.new_graph)


__getattr__ = _absent_names(__name__)

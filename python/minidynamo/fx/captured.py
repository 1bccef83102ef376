"""Graphs that the compiler captured: native until somebody asks for their nodes, and editable then.

Texts are the native ones, and what runs is the native graph, until the graph has been changed and recompiled.
"""

import ast
import builtins
import copy
import functools
import operator
import re
import sys

from .. import _C
from ..nn.module import Module
from .code_generation import CodeGen
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate
from .table import table_text

PACKAGE = __package__.partition(".")[0]
_SIZED_INPUT = re.compile(r'(\w+): "[\w]+\[([^\]]*)\]"')
_SYMBOL = re.compile(r"\b[su]\d+\b")


class SizeValue(int):
    """A size that depends on those of inputs: the int it was captured with, `expression` in generated code."""

    def __new__(cls, value, expression):
        made = super().__new__(cls, value)
        made.expression = expression
        return made

    def _fx_code(self):
        return self.expression if self.expression.isidentifier() else f"({self.expression})"

    def __reduce__(self):
        return SizeValue, (int(self), self.expression)


def _called(spelling, target):
    """The object that a call_function node calls; its name where the compiler knows no more of it."""
    if spelling == "operator":
        return getattr(operator, target)
    if spelling == "attribute":
        return builtins.getattr
    if spelling == "name":
        return _function_named(target)
    found = sys.modules[PACKAGE]
    for part in target.split("."):
        found = getattr(found, part, None)
    return target if found is None else found


def _function_named(text):
    """The function of a module that "package_module_name" means: dots have become underscores there."""
    for module_name, module in list(sys.modules.items()):
        start = module_name.replace(".", "_") + "_"
        if text.startswith(start):
            found = getattr(module, text.removeprefix(start), None)
            if callable(found):
                return found
    return text


class _Sizes:
    """Finds the sizes in arguments by their text: ints that it shows as more than a number become SizeValues."""

    def __init__(self, text):
        self._text = text.encode()  # positions in a syntax tree are those of bytes
        self._tree = ast.parse(text, mode="eval").body
        self._found = set()

    def put_into(self, value, names):
        """The arguments with their sizes; ValueError if the text has one that they have not. `names` are nodes'."""
        made = self._put(value, self._tree)
        shown = {name.id for name in ast.walk(self._tree) if isinstance(name, ast.Name) and _SYMBOL.fullmatch(name.id)}
        if shown - self._found - names:
            raise ValueError("a size is not where the text shows it")
        return made

    def _put(self, value, tree):
        if isinstance(value, dict) and isinstance(tree, ast.Dict) and len(value) == len(tree.keys):
            return {key: self._put(item, t) for (key, item), t in zip(value.items(), tree.values)}
        if isinstance(value, (list, tuple)) and isinstance(tree, (ast.List, ast.Tuple)):
            if len(value) == len(tree.elts):
                return type(value)(self._put(v, t) for v, t in zip(value, tree.elts))
        if isinstance(value, slice) and isinstance(tree, ast.Call) and len(tree.args) == 3:
            parts = value.start, value.stop, value.step
            return slice(*(self._put(v, t) for v, t in zip(parts, tree.args)))
        is_size = isinstance(value, (int, str)) and not isinstance(value, bool)
        if not is_size or isinstance(tree, ast.Constant):
            return value
        expression = self._text[tree.col_offset : tree.end_col_offset].decode()
        symbols = _SYMBOL.findall(expression)
        if not symbols or (isinstance(value, str) and _SYMBOL.fullmatch(value) is None):
            return value
        self._found.update(symbols)
        return SizeValue(value if isinstance(value, int) else 0, expression)


class _CapturedCode(CodeGen):
    """Code that first finds the sizes of inputs which the rest of it mentions."""

    def __init__(self, native, inputs):
        self._native = native
        self._inputs = inputs

    @functools.cached_property
    def _sized(self):
        """Symbol -> (number of the input, dimension), of sizes that inputs have."""
        signature = self._native.readable(False, False).partition("\n")[2].partition("\n")[0]
        found = {}
        for name, dims in _SIZED_INPUT.findall(signature):
            for dim, size in enumerate(dims.split(", ")):
                if _SYMBOL.fullmatch(size) and size not in self._inputs and name in self._inputs:
                    found.setdefault(size, (self._inputs.index(name), dim))
        return found

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        inputs = [text.partition(":")[0].strip() for text in free_vars]
        start = super().gen_fn_def(free_vars, maybe_return_annotation)
        lines = [f"    {name} = {inputs[number]}.size({dim})" for name, (number, dim) in self._sized.items()]
        return "\n".join([start, *lines])

    def sizes(self, args):
        """Symbol to size, for these inputs."""
        return {name: args[number].size(dim) for name, (number, dim) in self._sized.items()}


class CapturedGraph(Graph):
    """A Graph whose nodes are made when they are first asked for."""

    def __init__(self, native):
        self._native = native
        self._text = native  # None once the graph has changed: its texts are made of the nodes then
        self._state = "native"

    def __getattr__(self, name):
        if name.startswith("__") or self.__dict__.get("_state") != "native":
            raise AttributeError(f"'Graph' object has no attribute {name!r}")
        self._build()
        return getattr(self, name)

    def _has_changed(self, what):
        if self._state == "built":
            self._text = None

    @property
    def nodes(self):
        if self._state == "native":
            self._build()
        return super().nodes

    def _build(self):
        self._state = "building"
        owner = self.__dict__.get("_owning_module")
        super().__init__()
        self._owning_module = owner
        self._unread = set()  # nodes with sizes that were not found in their texts
        rows, nodes = self._native.nodes(), []
        for (op, spelling, target, name, _, _, sizes, dtype, stack, function), texts in zip(rows, self._native.rows()):
            if op == "call_function":
                target = function if function is not None else _called(spelling, target)
            node = self._bare_node(op, target, name)
            if op == "output":
                node.__dict__["target"] = "output"
            node.meta["stack_trace"] = stack
            if sizes is not None:
                node.meta["tensor_meta"] = (tuple(sizes), dtype)
                if op == "placeholder":
                    node.__dict__["type"] = int if _SYMBOL.fullmatch(target) else _C.Tensor
            node.__dict__["_texts"] = texts[3:5]
            nodes.append(node)
        for node, row in zip(nodes, rows):
            _linked(node, row[4:6], nodes)
            del node.__dict__["_texts"]
        self._native_targets = {node.target for node in nodes if node.op == "get_attr"}
        self._codegen = _CapturedCode(self._native, [n.target for n in nodes if n.op == "placeholder"])
        self._state = "built"

    def _bare_node(self, op, target, name):
        """A node as the compiler made it, at the end: its name stays, and its target may be no more than a name."""
        node = Node.__new__(Node)
        node.__dict__.update(graph=self, name=name, op=op, target=target, type=None, users={}, meta=_Meta(node))
        node.__dict__.update(_args=(), _kwargs={}, _input_nodes={}, _prev=node, _next=node, _erased=False)
        self._graph_namespace._rename_object(node, name)
        self._root.prepend(node)
        self._len += 1
        return node

    def _is_elsewhere(self, node):
        """True for what the compiler made a constant or a branch: no attribute of a module."""
        return node.op == "get_attr" and node.target in self._native_targets

    def _table(self):
        return table_text(self._text.rows()) if self._text is not None else super()._table()

    def __str__(self):
        return self._text.fx() if self._text is not None else super().__str__()

    def __reduce__(self):
        plain = copy.deepcopy(self)
        return plain.__reduce_ex__(2)


@functools.cache
def _fakes():
    from .._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode()


def _fake(sizes, dtype):
    """A tensor without elements, to look at: what a node gives."""
    with _fakes():
        return _C.empty([int(n) if isinstance(n, int) else 1 for n in sizes], dtype=dtype)


class _Meta(dict):
    """The meta of a captured node: "example_value" is made when it is asked for, as most backends do not."""

    def __init__(self, node):
        super().__init__()
        self._node = node

    def __missing__(self, key):
        if key != "example_value" or not self._has_example():
            raise KeyError(key)
        self[key] = made = _fake(*dict.__getitem__(self, "tensor_meta"))
        return made

    def _has_example(self):
        """Not for what gives several tensors: what is known is the first one."""
        known = dict.get(self, "tensor_meta")
        parts = [user for user in self._node.users if user.target is operator.getitem and isinstance(user.args[1], int)]
        ranks = [len(part.meta["tensor_meta"][0]) for part in parts if "tensor_meta" in part.meta]
        return isinstance(known, tuple) and len(known) == 2 and len(known[0]) not in ranks

    def __contains__(self, key):
        return dict.__contains__(self, key) or (key == "example_value" and self._has_example())

    def get(self, key, default=None):
        return self[key] if key in self else default

    def __copy__(self):
        return dict(self)

    def __deepcopy__(self, memo):
        return copy.deepcopy(dict(self), memo)

    def __reduce__(self):
        return dict, (dict(self),)


def _linked(node, row, nodes):
    """Gives a node its arguments: nodes in the place of their numbers, and sizes as its texts show them."""
    made = []
    for value, text in zip(row, node._texts):
        if _SYMBOL.search(text):
            try:
                value = _Sizes(text).put_into(value, {n.name for n in nodes})
            except (SyntaxError, ValueError):
                node.graph._unread.add(node)
        made.append(_links(value, nodes))
    node._take(*made)


def _links(value, nodes):
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "%":
        return nodes[value[1]]
    if isinstance(value, (list, tuple)):
        return type(value)(_links(v, nodes) for v in value)
    if isinstance(value, dict):
        return {key: _links(item, nodes) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(_links(value.start, nodes), _links(value.stop, nodes), _links(value.step, nodes))
    return value


class CapturedModule(GraphModule):
    """A captured graph that can be called with its inputs; gives the tuple of its outputs."""

    def __new__(cls, *args, **kwargs):
        return object.__new__(cls)  # without a class of its own: there are many, and few are changed

    def __init__(self, native):
        self.__dict__["_native"] = native

    def __getattr__(self, name):
        """What is not there yet: one of these is made for every captured graph, and few are more than run."""
        if "_graph" in self.__dict__ or "_native" not in self.__dict__:
            return super().__getattr__(name)
        Module.__init__(self)
        graph = CapturedGraph(self._native)
        graph.__dict__["_owning_module"] = self
        self.__dict__.update(_graph=graph, _generated=None, meta={}, _tracer_cls=None)
        return getattr(self, name)

    def __setattr__(self, name, value):
        if "_graph" not in self.__dict__:
            _ = self._graph
        super().__setattr__(name, value)

    def forward(self, *inputs):
        native = self._native
        return self._generated(self, *inputs) if native is None else native.run(*inputs)

    @property
    def code(self):
        return self._code if self._native is None else self._native.code()

    def recompile(self):
        """Makes `forward` of the graph as it is now; nothing if it has not been changed.

        NotImplementedError where it uses what is in the compiler only: constants, branches of cond(), sizes that are
        read from tensors.
        """
        graph = self._graph
        if self._native is not None and isinstance(graph, CapturedGraph) and graph._text is not None:
            return None
        _check_that_python_can_run(self, graph)
        self.__dict__["_native"] = None
        return super().recompile()

    def _use(self, forward):
        self.__dict__["_generated"] = forward

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False, **more):
        """The graph as commented code; returned, and printed unless told not to.

        Tensors are shown as "f32[2, 3]", with their strides "f32[2, 3][3, 1]", with their device "f32[2, 3]cpu".
        """
        if self._native is None:
            return super().print_readable(print_output, include_stride, include_device, colored, **more)
        text = self._native.readable(include_stride, include_device)
        if print_output:
            print(text)
        return text

    def _get_name(self):
        return "GraphModule"

    def __repr__(self):
        return f"GraphModule()\n{self.code}\n# To see more debug info, please use `graph_module.print_readable()`"

    __str__ = __repr__

    def __deepcopy__(self, memo):
        if self._native is not None:
            return CapturedModule(self._native)
        return self._plain()

    def __reduce__(self):
        return self._plain().__reduce__()

    def _plain(self):
        """A GraphModule of the graph as it is now, which Python runs."""
        _check_that_python_can_run(self, self._graph)
        return GraphModule(self, copy.deepcopy(self._graph), "GraphModule")


def _check_that_python_can_run(module, graph):
    known = set(getattr(graph._codegen, "_sized", ())) | {n.name for n in graph.nodes}
    for node in graph.nodes:
        what = None
        if node.op == "get_attr" and not hasattr(module, node.target):
            what = f"the constant or branch '{node.target}', which is in the compiler only"
        elif node.op == "call_function" and not callable(node.target):
            what = f"the function {node.target}, which is not found under that name"
        elif node.op == "call_method" and node.target == "item":
            what = "a number that is read from a tensor, and is a 0-d tensor in the graph"
        elif node in getattr(graph, "_unread", ()):
            what = "a size that is known to the compiler only"
        missing = _symbols(node) - known
        if missing:
            what = f"the size {min(missing)}, which is read from a tensor"
        if what is not None:
            raise NotImplementedError(f"a captured graph that has been changed cannot run: Node {node} uses {what}")


def _symbols(node):
    found = set()

    def look(value):
        if isinstance(value, SizeValue):
            found.update(_SYMBOL.findall(value.expression))
        return value

    map_aggregate((node.args, node.kwargs), look)
    return found


def size_values(graph, args):
    """A function that gives arguments the sizes they have for these inputs; None for graphs without such."""
    sized = getattr(graph._codegen, "_sized", None)
    if not sized:
        return None
    names = {**vars(builtins), **graph._codegen.sizes(args)}
    inputs = [node.target for node in graph.nodes if node.op == "placeholder"]
    names.update(zip(inputs, args))

    def valued(value):
        return eval(value.expression, {}, names) if isinstance(value, SizeValue) else value  # arithmetic

    return lambda nested: map_aggregate(nested, valued)

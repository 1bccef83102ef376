"""torch.fx.graph: the nodes of a function, in the order in which they run, and every way to change them."""

import contextlib

from .._absent import absent_names as _absent_names
from .code_generation import CodeGen, PythonCode
from .function_names import is_from_torch, short_name
from .graph_check import lint as _lint
from .namespace import _Namespace, snake_case
from .node import Node, map_arg
from .table import table_text

__all__ = ["CodeGen", "Graph", "PythonCode"]
_EMPTY = object()


class _node_list:
    """`graph.nodes`: iterable in both directions, also while the graph changes; has a length."""

    def __init__(self, graph, direction="_next"):
        if direction not in ("_next", "_prev"):
            raise ValueError(f"direction is '_next' or '_prev', not {direction!r}")
        self.graph = graph
        self.direction = direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self):
        return iter(_node_list(self.graph, "_prev" if self.direction == "_next" else "_next"))

    def __getitem__(self, index):
        return list(self)[index]


class _InsertPoint:
    """`with` block: new nodes go there, then where they went before."""

    def __init__(self, graph, new_insert):
        self.graph = graph
        self._before, graph._insert = graph._insert, new_insert

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.graph._insert = self._before


class Graph:
    """The nodes of a function: placeholders for its inputs, calls and attributes, one output at the end."""

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._graph_namespace = _Namespace()
        self._root = Node.__new__(Node)
        self._root.__dict__.update(graph=self, name="", op="root", target="", type=None, users={}, meta={})
        self._root.__dict__.update(_args=(), _kwargs={}, _input_nodes={}, _erased=False)
        self._root.__dict__.update(_prev=self._root, _next=self._root)
        self._insert = self._root.prepend
        self._len = 0
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()

    def _has_changed(self, what):
        """Called after every change; graphs that have their text from elsewhere listen."""

    def _is_elsewhere(self, node):
        """True if what a node refers to need not be in the module; other kinds of graphs say so."""
        return False

    @property
    def owning_module(self):
        """The GraphModule that took this graph last; None if none did."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module):
        self._owning_module = module

    @property
    def nodes(self):
        """All nodes in order; reversed() works too."""
        return _node_list(self)

    def output_node(self):
        """The output node, which must be the last."""
        last = self._root._prev
        if last.op != "output":
            raise AssertionError(f"the graph has no output yet: its last node is {last.name or 'nothing'}")
        return last

    def find_nodes(self, *, op, target=None, sort=True):
        """Nodes of that kind and, for calls and attributes, of that target, in order."""
        if op == "call_function" and target is None:
            raise AssertionError("find_nodes() of call_function needs a target")
        by_target = target is not None and op in ("call_function", "call_method", "call_module", "get_attr")
        return [n for n in self.nodes if n.op == op and (not by_target or n.target == target)]

    # --- making nodes

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """Adds a node where nodes are inserted now; gives it a name like `name`, or else like its target."""
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args of a node are a tuple, not a {type(args).__name__}: {args!r}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs of a node are a dict, not a {type(kwargs).__name__}: {kwargs!r}")
        candidate = name if name is not None else self._target_to_str(target)
        name = self._graph_namespace.create_name(candidate, None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target):
        if callable(target):
            text = short_name(target)
            if text.startswith("__") and text.endswith("__") and not is_from_torch(target):
                text = text[2:-2]
        else:
            text = target
            if text.startswith("__") and text.endswith("__"):
                text = text[2:-2]
        return snake_case(text)

    def placeholder(self, name, type_expr=None, default_value=_EMPTY):
        """An input."""
        args = () if default_value is _EMPTY else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """A parameter, buffer or other attribute of the module, by its path; warns if the module has none."""
        owner = self.owning_module
        if owner is not None and not _has_path(owner, qualified_name):
            import warnings

            warnings.warn(
                f"a get_attr node reads '{qualified_name}', which the graph's module does not have: add it before "
                "the module runs",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A call of a submodule, by its path; warns if the module has none."""
        owner = self.owning_module
        if owner is not None and not _has_path(owner, module_name):
            import warnings

            warnings.warn(
                f"a call_module node calls '{module_name}', which the graph's module does not have: add it with "
                "add_submodule() before the module runs",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """A call of a method of args[0]."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result, type_expr=None):
        """What the function returns: nodes and constants in tuples, lists and dicts."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def node_copy(self, node, arg_transform=lambda x: x):
        """Adds a copy of a node, of another graph as a rule; `arg_transform(n)` gives what stands for each input."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, dict(kwargs), node.name, node.type)
        made.meta = dict(node.meta)
        return made

    def graph_copy(self, g, val_map, return_output_node=False):
        """Adds copies of the nodes of `g`; gives what `g` returns, in nodes of this graph.

        `val_map` maps nodes of `g` to nodes here, and afterwards holds the copies too; what is in it is not copied.
        With `return_output_node` the result is (value, output node of `g`).
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], val_map.__getitem__)
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    # --- changing

    def erase_node(self, to_erase):
        """Takes away a node that nobody uses; RuntimeError if somebody does."""
        if to_erase.users:
            raise RuntimeError(
                f"Node {to_erase} cannot be erased: it is used by {', '.join(n.name for n in to_erase.users)}"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Node {to_erase} cannot be erased: it belongs to another graph")
        if to_erase._erased:
            import warnings

            warnings.warn(f"Node {to_erase} has been erased already", stacklevel=2)
            return
        to_erase._unlink()
        to_erase.__dict__["_erased"] = True
        self._len -= 1
        to_erase._take((), {})

    def inserting_before(self, n=None):
        """`with` block: nodes are made before `n`; without it at the beginning."""
        return self.inserting_after(self._root) if n is None else self._inserting(n, n.prepend)

    def inserting_after(self, n=None):
        """`with` block: nodes are made right after `n`; without it at the end."""
        return self.inserting_before(self._root) if n is None else self._inserting(n, n.append)

    def _inserting(self, n, insert):
        if n.graph is not self:
            raise AssertionError(f"Node {n} belongs to another graph: nothing can be inserted next to it here")
        return _InsertPoint(self, insert)

    def eliminate_dead_code(self, is_impure_node=None):
        """Erases nodes that nobody uses and that do nothing else, the last first; True if there were some.

        `is_impure_node(node)` decides instead of Node.is_impure(). Side effects that nodes do not tell of, such as
        those of in-place methods, are lost with the nodes.
        """
        self.lint()
        is_impure = is_impure_node or (lambda node: node.is_impure())
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not is_impure(node) and node.op not in ("placeholder", "output"):
                self.erase_node(node)
                changed = True
        return changed

    def lint(self):
        """Checks that every node is in order: names differ, inputs come before, targets exist. RuntimeError if not."""
        _lint(self)

    # --- code

    def python_code(
        self, root_module, *, verbose=False, include_stride=False, include_device=False, colored=False,
        expanded_def=False, record_func=False, additional_meta=None,
    ):  # fmt: skip
        """The function as PythonCode: `src` is its text, `globals` what the text mentions. `root_module` is what the
        text calls the module: "self"."""
        asked = {"colored": colored, "expanded_def": expanded_def, "record_func": record_func}
        for name, given in {**asked, "additional_meta": additional_meta}.items():
            if given:
                raise NotImplementedError(f"python_code: {name} is not part of minidynamo")
        namespace = _Namespace()
        for node in self.nodes:
            namespace._rename_object(node, node.name)
        return self._codegen._gen_python_code(self, root_module, namespace, verbose, include_stride, include_device)

    def set_codegen(self, codegen):
        """Makes the code by another CodeGen from now on."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer):
        """`make_transformer(current)` gives a function from the code's lines to other lines, which is used from now
        on; `current` is the one before, or None. As a `with` block it is used within only."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def restoring():
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return restoring()

    def process_inputs(self, *args):
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        return self._codegen.process_outputs(out)

    def __str__(self):
        return "\n    ".join(["graph():", *(node.format_node() for node in self.nodes)])

    def print_tabular(self):
        """Prints the nodes as a table: opcode, name, target, args, kwargs."""
        print(self._table())

    def _table(self):
        return table_text([[n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in self.nodes])

    # --- copies

    def __deepcopy__(self, memo=None):
        copied = Graph(tracer_cls=self._tracer_cls)
        values = {}
        result = copied.graph_copy(self, values, return_output_node=True)
        copied._codegen = _copied_codegen(self._codegen)
        if result is not None:
            made = copied.output(result[0], type_expr=result[1].type)
            made.meta = dict(result[1].meta)
            made.__dict__["name"] = result[1].name
        return copied

    def __getstate__(self):
        state = dict(self.__dict__)
        state.update(_insert=None, _owning_module=None, _root=None, _graph_namespace=None)
        state["_nodes_in_order"] = list(self.nodes)
        return state

    def __setstate__(self, state):
        nodes = state.pop("_nodes_in_order")
        self.__init__(tracer_cls=state.get("_tracer_cls"))
        kept = self._root, self._insert, self._graph_namespace
        self.__dict__.update(state)
        self._root, self._insert, self._graph_namespace = kept
        for node in nodes:
            self._graph_namespace._rename_object(node, self._graph_namespace.create_name(node.name, None))
            self._insert(node)


def _copied_codegen(codegen):
    import copy

    return copy.copy(codegen)


def _has_path(module, path):
    found = module
    for part in path.split("."):
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


__getattr__ = _absent_names(__name__)

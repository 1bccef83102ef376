"""torch.fx.node: one step of a graph, its arguments, and who uses it."""

import builtins
import operator
import types
from collections.abc import Callable, Mapping, Sequence

from .. import _C, _checks
from .._absent import absent_names as _absent_names
from .function_names import qualified_name as _get_qualified_name
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]
OPCODES = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
base_types = (str, int, float, bool, complex, _C.dtype, _C.Tensor, _C.device, _C.memory_format)
BaseArgumentTypes = str | int | float | bool | complex | _C.dtype | _C.Tensor | _C.device | _C.memory_format
Target = Callable | str
_side_effectful_functions = set()


def has_side_effect(fn):
    """Marks a function so that calls of it stay although nobody uses what they return; gives it back."""
    _side_effectful_functions.add(fn)
    return fn


def map_arg(a, fn):
    """The same nested arguments, every Node `n` replaced by `fn(n)`."""
    if not callable(fn):
        raise AssertionError(f"map_arg() takes a function of a Node, not {fn!r}")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a, fn):
    """The same nested tuples, lists, dicts and slices, everything else `x` in them replaced by `fn(x)`.

    Lists and dicts come back as immutable ones; a tuple in which nothing changed is the same object.
    """
    if isinstance(a, tuple):
        made = [map_aggregate(x, fn) for x in a]
        if len(made) == len(a) and all(map(operator.is_, made, a)):
            return a
        return type(a)(*made) if hasattr(a, "_fields") else tuple(made)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(x, fn)) for key, x in a.items())
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def nodes_in(value):
    """Every Node in nested arguments, in order, as often as it is there."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from nodes_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from nodes_in(item)
    elif isinstance(value, slice):
        yield from nodes_in((value.start, value.stop, value.step))


def _type_repr(obj):
    """A type as annotations spell it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        module = obj.__module__
        home, dot, rest = module.partition(".")
        return f"{'torch' if home == __package__.partition('.')[0] else home}{dot}{rest}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj)


def _argument_text(value):
    """An argument as lines of a graph show it: nodes as "%name", strings without quotes."""
    if hasattr(value, "_fx_format_arg"):
        return value._fx_format_arg()
    if isinstance(value, Node):
        return "%" + value.name
    if isinstance(value, list):
        return "[" + ", ".join(map(_argument_text, value)) + "]"
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        inside = ", ".join(map(_argument_text, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_argument_text(item)}" for key, item in value.items()) + "}"
    return str(value)


class Node:
    """One step of a Graph.

    `op` is placeholder, get_attr, call_function, call_method, call_module or output; `target` the function, the name of
    the method, the path of the module or attribute, the name of the input; `args` and `kwargs` hold nodes and
    constants. `users` maps the nodes that use this one to None, in the order in which they began to. `meta` is the
    user's own.
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in OPCODES:
            raise AssertionError(f"{op!r} is no kind of node: those are {', '.join(OPCODES)}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"Node {name} calls {target!r} of type {type(target).__name__}: it cannot be called")
        elif not isinstance(target, str):
            raise ValueError(f"the target of a {op} node is a str, and that of {name} is a {type(target).__name__}")
        put = self.__dict__.update
        put(graph=graph, name=name, op=op, target=target, type=return_type, users={}, meta={})
        put(_args=(), _kwargs=immutable_dict(), _input_nodes={}, _prev=self, _next=self, _erased=False)
        self._take(args, kwargs)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name in ("op", "target", "name", "type"):
            self.graph._has_changed(name)

    # --- place in the graph

    @property
    def next(self):
        """The node after this one; after the last comes the graph's root."""
        return self._next

    @property
    def prev(self):
        """The node before this one; before the first comes the graph's root."""
        return self._prev

    def prepend(self, x):
        """Moves the node `x` of the same graph to before this one."""
        if x.graph is not self.graph:
            raise AssertionError(f"Node {x} belongs to another graph: it cannot be moved next to {self}")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before.__dict__["_next"], x.__dict__["_prev"] = x, before
        x.__dict__["_next"], self.__dict__["_prev"] = self, x
        self.graph._has_changed("order")

    def append(self, x):
        """Moves the node `x` of the same graph to after this one."""
        if x is not self:
            self._next.prepend(x)

    def _unlink(self):
        before, after = self._prev, self._next
        before.__dict__["_next"], after.__dict__["_prev"] = after, before

    # --- arguments

    @property
    def args(self):
        """Positional arguments; assigning a tuple keeps `users` in step."""
        return self._args

    @args.setter
    def args(self, args):
        self._take(args, self._kwargs)

    @property
    def kwargs(self):
        """Keyword arguments; assigning a dict keeps `users` in step."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs):
        self._take(self._args, kwargs)

    def _take(self, args, kwargs):
        for used in self._input_nodes:
            used.users.pop(self, None)
        inputs = {}

        def noted(node):
            inputs.setdefault(node)
            return node

        self.__dict__.update(_args=map_arg(tuple(args), noted), _kwargs=map_arg(dict(kwargs), noted))
        self.__dict__["_input_nodes"] = inputs
        for used in inputs:
            used.users.setdefault(self)
        self.graph._has_changed("arguments")

    @property
    def all_input_nodes(self):
        """The nodes among the arguments, each once, in order."""
        return list(self._input_nodes)

    def update_arg(self, idx, arg):
        """Replaces one positional argument; behind the last one it is added, with None in between."""
        args = list(self._args)
        args += [None] * (idx + 1 - len(args))
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """Puts a positional argument before position `idx`, which may be the number of arguments."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError(f"insert_arg() takes a position from 0 to {len(self._args)}, not {idx}")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key, arg):
        """Replaces or adds one keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input, new_input):
        """Uses `new_input` wherever this node uses `old_input`."""

        def swapped(node):
            return new_input if node is old_input else node

        self._take(map_arg(self._args, swapped), map_arg(self._kwargs, swapped))

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        """Makes all users of this node use `replace_with`; gives the list of the users that were there.

        Users for which `delete_user_cb(user)` is false stay. `propagate_meta` copies `meta` to the other node, which
        must have none.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(f"propagate_meta would overwrite the meta that {replace_with} has")
            replace_with.meta.update(self.meta)
        keep_asking = delete_user_cb or (lambda user: True)
        changed = []
        for user in list(self.users):
            if keep_asking(user):
                changed.append(user)
                user.replace_input_with(self, replace_with)
        return changed

    # --- what it does

    @property
    def stack_trace(self):
        """Where the program made this node, as text; None if that was not recorded."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random=True):
        """True if it does more than compute its result, so that it stays although nobody uses it.

        So do inputs, outputs, functions marked by has_side_effect(), and calls that draw random numbers unless
        `impure_random` is False; modules only where they say so (`_is_impure`).
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            effect = self.target in _side_effectful_functions or getattr(self.target, "_has_side_effect", False)
            return effect or (impure_random and self.target in _random_functions())
        if self.op == "call_module":
            owner = self.graph.owning_module
            return owner is None or bool(getattr(owner.get_submodule(self.target), "_is_impure", False))
        return False

    def normalized_arguments(self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
        """(args, kwargs) with defaults filled in, or None where the signature is not known; see operator_schemas."""
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(
                self.target, self._args, self._kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return normalize_module(root, self.target, self._args, self._kwargs, normalize_to_only_use_kwargs)
        return None

    def _rename(self, candidate):
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    # --- text

    def __repr__(self):
        return self.name

    @staticmethod
    def _pretty_print_target(target):
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) == "_operator":
            return f"operator.{target.__name__}"
        if getattr(builtins, getattr(target, "__name__", ""), None) is target:
            return f"builtins.{target.__name__}"
        return _get_qualified_name(target)

    def format_node(self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False):
        """The line of a graph's text that shows it.

        With a list `placeholder_names` that is not empty, a placeholder goes there and has no line (None); the return
        type becomes the first item of `maybe_return_typename`. `include_tensor_metadata` is not part of minidynamo.
        """
        if include_tensor_metadata:
            raise NotImplementedError("format_node: include_tensor_metadata is not part of minidynamo")
        kind = f"{_type_repr(self.type)} " if self.type is not None else ""
        start = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(f"{self.target}: {_type_repr(self.type)}" if self.type else self.target)
                return None
            default = f"(default={self._args[0]})" if self._args else ""
            return f"{start}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"{start}[target={self._pretty_print_target(self.target)}]"
        if self.op == "output":
            if self.type is not None and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self._args[0]}"
        texts = _argument_text(self._args), _argument_text(self._kwargs)
        return f"{start}[target={self._pretty_print_target(self.target)}](args = {texts[0]}, kwargs = {texts[1]})"

    # --- copies: nodes are copied by their graph

    def __getstate__(self):
        left_out = ("_erased", "_prev", "_next", "_input_nodes")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state):
        self.__dict__.update(state, _prev=self, _next=self, _erased=False)
        self.__dict__["_input_nodes"] = dict.fromkeys(nodes_in((self._args, self._kwargs)))


def _random_functions():
    names = "rand randn randint randperm bernoulli multinomial normal poisson rand_like randn_like randint_like".split()
    return {getattr(_C, name) for name in names if hasattr(_C, name)}


for _function in (_checks._assert, _C._set_grad_enabled, _C._switch_inference, operator.setitem):
    has_side_effect(_function)
Argument = tuple | Sequence | Mapping | slice | range | Node | BaseArgumentTypes | None
__getattr__ = _absent_names(__name__)

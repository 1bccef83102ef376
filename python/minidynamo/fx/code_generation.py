"""The Python function a graph stands for: as text, with the objects that the text mentions."""

import enum
import sys
import types
from collections import namedtuple

from .. import _C
from . import _pytree
from .function_names import METHODS, install_native_spaces, is_from_torch, qualified_name
from .namespace import CONSTANTS
from .node import Node, _type_repr, nodes_in
from .readable import comments_of, type_comment

PythonCode = namedtuple("PythonCode", "src globals")

_BINARY = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "div": "/", "mod": "%", "pow": "**",
           "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "matmul": "@", "eq": "==", "ne": "!=",
           "lt": "<", "gt": ">", "le": "<=", "ge": ">="}  # fmt: skip
magic_methods = {name: f"{{}} {sign} {{}}" for name, sign in _BINARY.items()}
magic_methods |= {"pos": "+{}", "neg": "-{}", "invert": "~{}", "getitem": "{}[{}]"}
_UPDATING = "add sub mul floordiv truediv mod pow lshift rshift and or xor matmul".split()
inplace_methods = {f"i{name}": f"{{}} {_BINARY.get(name) or _BINARY[name + '_']}= {{}}" for name in _UPDATING}
inplace_methods["setitem"] = "{}[{}] = {}"


def _package():
    """What generated code calls `torch`."""
    install_native_spaces()
    return sys.modules[__package__.partition(".")[0]]


def attribute_path(start, path):
    """`start.a.b` for the path "a.b"; parts that are no identifiers are asked for by getattr()."""
    text = start
    for part in path.split("."):
        text = f"{text}.{part}" if part.isidentifier() else f'getattr({text}, "{part}")'
    return text


class CodeGen:
    """Makes the code of a graph. Subclasses set by Graph.set_codegen() may change its signature and its return."""

    _body_transformer = None
    _func_name = "forward"

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        """The line that starts the function; `free_vars` are its parameters as text."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args):
        """The statement that returns."""
        return f"return {output_args!r}"

    def process_inputs(self, *args):
        """The values of the placeholders, of what the function is called with."""
        return args

    def process_outputs(self, outputs):
        """What the function returns, of the value of the output node."""
        return outputs

    def additional_globals(self):
        """(name, object) pairs that the code mentions besides what the nodes do."""
        return []

    def _gen_python_code(
        self, graph, root_module, namespace, verbose=False, include_stride=False, include_device=False
    ):
        body = _Body(self, root_module, namespace, verbose, (include_stride, include_device))
        for node in graph.nodes:
            body.emit(node)
        lines = body.lines or ["pass\n"]
        if self._body_transformer is not None:
            lines = self._body_transformer(lines)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in body.wrapped)
        start = self.gen_fn_def(body.free_vars, body.return_annotation)
        inside = "\n".join("    " + line for line in "".join(lines).lstrip("\n").split("\n"))
        return PythonCode(f"\n{wraps}\n\n{start}\n{inside}", body.globals)


class _PyTreeCodeGen(CodeGen):
    """Code for functions that take and return nested values: placeholders and outputs are the leaves."""

    def __init__(self, names, in_spec):
        self.names = names
        self.in_spec = in_spec
        self.out_spec = None

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        leaves = [text.partition(":")[0].partition("=")[0].strip() for text in free_vars]
        start = super().gen_fn_def(list(self.names), maybe_return_annotation)
        given = ", ".join(self.names)
        return f"{start}\n    {', '.join(leaves)}, = fx_pytree.tree_flatten_spec([{given}], self._in_spec)"

    def generate_output(self, output_args):
        if self.out_spec is None:
            return super().generate_output(output_args)
        return f"return pytree.tree_unflatten({output_args!r}, self._out_spec)"

    def process_inputs(self, *args):
        return _pytree.tree_flatten_spec(list(args), self.in_spec)

    def process_outputs(self, outputs):
        return outputs if self.out_spec is None else _pytree.tree_unflatten(outputs, self.out_spec)

    def additional_globals(self):
        return [("fx_pytree", _pytree), ("pytree", _pytree)]


class _Body:
    """The statements of a function while they are made."""

    def __init__(self, codegen, root_module, namespace, verbose, shown):
        self._codegen = codegen
        self._root = root_module
        self._namespace = namespace
        self._verbose = verbose
        self._shown = shown
        self._stack_trace = None
        self.lines = []
        self.free_vars = []
        self.wrapped = {}
        self.return_annotation = ""
        self.globals = {**CONSTANTS, "torch": _package(), **dict(codegen.additional_globals())}
        self._last_uses = None

    def add_global(self, hint, value):
        """The name code calls `value` by."""
        if is_from_torch(value) and not isinstance(value, METHODS):
            return qualified_name(value) if callable(value) and not isinstance(value, type) else _type_repr(value)
        name = self._namespace.create_name(hint.replace(".", "_"), value)
        self.globals[name] = value
        return name

    # --- text of values

    def type_text(self, value):
        """An annotation."""
        import typing

        if value == ():
            return "()"
        if isinstance(value, types.UnionType):
            return "|".join(map(self.type_text, value.__args__))
        origin = getattr(value, "__origin__", None)
        if origin is None or not getattr(value, "__args__", None):
            if isinstance(value, (list, tuple)):
                return "[" + ", ".join(map(self.type_text, value)) + "]"
            return self.add_global(_type_repr(value), value)
        inside = ",".join(self.type_text(part) for part in typing.get_args(value))
        if isinstance(value, types.GenericAlias):
            return f"{self.type_text(origin)}[{inside}]"
        named = "Union" if origin is typing.Union else value._name
        return f"{self.add_global('typing.' + named, getattr(typing, named))}[{inside}]"

    def text(self, value):
        """An expression whose value is `value`."""
        if isinstance(value, Node):
            return repr(value)
        if hasattr(value, "_fx_code"):
            return value._fx_code()
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            inside = ", ".join(f"{name} = {self.text(item)}" for name, item in zip(value._fields, value))
            return f"{self.add_global(_type_repr(type(value)), type(value))}({inside})"
        if isinstance(value, tuple):
            inside = ", ".join(map(self.text, value))
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        if isinstance(value, list):
            return "[" + ", ".join(map(self.text, value)) + "]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.text(key)}: {self.text(item)}" for key, item in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        if isinstance(value, enum.Enum):
            return f"{self.add_global(type(value).__name__, type(value))}.{value.name}"
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, type(_C.add))):
            return self.add_global(_type_repr(value) if isinstance(value, type) else qualified_name(value), value)
        if isinstance(value, _C.Tensor):  # its elements have no place in a program's text
            return f"torch.Tensor(size={list(value.shape)}, dtype={str(value.dtype).removeprefix('torch.')})"
        return repr(value)

    def call_text(self, args, kwargs):
        return ", ".join([*map(self.text, args), *(f"{key} = {self.text(item)}" for key, item in kwargs.items())])

    # --- statements

    def emit(self, node):
        if self._last_uses is None:
            self._last_uses = last_uses(node.graph)
        if self._verbose:
            comment, self._stack_trace = comments_of(node, self._stack_trace)
            self.lines.append(comment)
        if node.op == "placeholder":
            return self._emit_placeholder(node)
        if node.op == "output":
            if node.type is not None:
                self.return_annotation = f" -> {self.type_text(node.type)}"
            self.lines.append(self._codegen.generate_output(_Spelled(self, node.args[0])))
            self.lines.append("\n")
            return None
        unused = [*self._last_uses.get(node, ()), *(() if node.users else (node,))]
        release = f";  {' = '.join(map(repr, unused))} = None\n" if unused else "\n"
        self.lines.append(self._statement(node) + release)
        return None

    def _emit_placeholder(self, node):
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.free_vars.append(f"{node.target}{self._type_of(node)}{default}")
        name = node.target.replace("*", "")
        if name != repr(node):
            self.lines.append(f"{node!r} = {name}\n")

    def _type_of(self, node):
        comment = type_comment(node, *self._shown) if self._verbose else None
        if comment is not None:
            return f': "{comment}"'
        return "" if node.type is None else f" : {self.type_text(node.type)}"

    def _statement(self, node):
        left = f"{node!r}{self._type_of(node)}"
        args, kwargs = node.args, node.kwargs
        if node.op == "get_attr":
            return f"{left} = {attribute_path(self._root, node.target)}"
        if node.op == "call_module":
            return f"{left} = {attribute_path(self._root, node.target)}({self.call_text(args, kwargs)})"
        if node.op == "call_method":
            return f"{left} = {attribute_path(self.text(args[0]), node.target)}({self.call_text(args[1:], kwargs)})"
        name = getattr(node.target, "__name__", "")
        if getattr(node.target, "__module__", None) == "_operator" and not kwargs:
            if name in magic_methods and len(args) == magic_methods[name].count("{}"):
                return f"{left} = {magic_methods[name].format(*map(self.text, args))}"
            if name in inplace_methods:
                changed = self.text(args[0])
                return f"{inplace_methods[name].format(*map(self.text, args))};  {left} = {changed}"
        called = self.add_global(qualified_name(node.target), node.target)
        if node.target is getattr and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return f"{left} = {attribute_path(self.text(args[0]), args[1])}"
        if node.meta.get("is_wrapped", False):
            self.wrapped[called] = None
        return f"{left} = {called}({self.call_text(args, kwargs)})"


class _Spelled:
    """A value whose repr() is the expression for it."""

    def __init__(self, body, value):
        self.value = value
        self._text = body.text(value)

    def __repr__(self):
        return self._text


def last_uses(graph):
    """Node to the nodes that nothing after it uses."""
    last = {}
    seen = set()
    for user in reversed(graph.nodes):
        for used in nodes_in((user.args, user.kwargs)):
            if used not in seen:
                seen.add(used)
                last.setdefault(user, []).append(used)
    return last

"""torch.fx.proxy: what stands for values while a function is traced, and writes down what is done with it."""

import dataclasses
import dis
import enum
import operator
import sys

from .. import _C
from .._absent import absent_names as _absent_names
from .call_forms import recorded_call, recording_calls
from .code_generation import magic_methods
from .function_names import METHODS
from .node import Node, base_types, nodes_in
from .node import map_aggregate as _map_aggregate
from .stack_text import user_frame, user_stack

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "TraceError", "TracerBase"]
reflectable_magic_methods = {name: magic_methods[name] for name in (
    "add sub mul floordiv truediv div mod pow lshift rshift and_ or_ xor getitem matmul").split()}  # fmt: skip
_MATCHED_CONSTANTS = (type(None), type(...), range, enum.Enum, _C.layout)


class TraceError(ValueError):
    """A function does something with a traced value that no graph can hold."""


class TracerBase:
    """What proxies ask to write nodes down; Tracer and GraphAppendingTracer are made of it."""

    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    graph = None

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """Adds a node to the graph; override it to see all of them."""
        if kind == "call_function" and self.check_mutable_operations:
            from .operator_schemas import check_for_mutable_operation

            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.record_stack_traces and node.stack_trace is None and kind not in ("placeholder", "output"):
            node.stack_trace = user_stack(self.traced_func_name)
        return node

    def proxy(self, node):
        """The proxy of a node."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """Adds a node whose arguments may hold proxies; gives its proxy."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise AssertionError("create_arg() has to turn tuples into tuples and dicts into dicts")
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a):
        """The argument of a node that a value is: proxies become their nodes.

        NotImplementedError for values that no graph can hold.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            made = [self.create_arg(item) for item in a]
            if not hasattr(a, "_fields"):
                return tuple(made)
            if any(True for _ in nodes_in(made)):
                return self.create_node("call_function", type(a), tuple(made), {})
            return type(a)(*made)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(item) for key, item in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, (Node, *base_types, *_MATCHED_CONSTANTS)) or hasattr(a, "_graph_target"):
            return a
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {field.name: self.create_arg(getattr(a, field.name)) for field in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        raise NotImplementedError(f"argument of type: {type(a)}; a graph cannot hold {a!r}")

    def _key(self, key):
        made = self.create_arg(key)
        if any(True for _ in nodes_in(made)):
            raise RuntimeError(f"a key of a dict in an argument must not be traced, and {key!r} is")
        return made

    def to_bool(self, obj):
        """Called where the program decides by a traced value; may give the answer."""
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow: what is traced has no value "
            f"yet{_place()}. Make the condition one of constants (concrete_args), or a function that is wrapped (wrap)"
        )

    def iter(self, obj):
        """Called where the program iterates over a traced value; may give an iterator."""
        raise TraceError(
            "Proxy object cannot be iterated: what is traced has no length yet (a loop over it, *value, or more names "
            f"than an unpacking can tell){_place()}"
        )

    def keys(self, obj):
        """Called for **value; may give an iterable of keys."""
        return Attribute(obj, "keys")()


def _place():
    found = user_frame(sys._getframe(1))
    return f" ({found})" if found else ""


class GraphAppendingTracer(TracerBase):
    """Writes down what is done with the proxies of nodes at a graph's insertion point."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph
        self._recording = recording_calls()
        self._recording.__enter__()

    def __del__(self, ending=sys.is_finalizing):
        recording = self.__dict__.pop("_recording", None)
        if recording is not None and not ending():
            recording.__exit__(None, None, None)

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        return super().create_node(kind, target, args, kwargs, name, type_expr)


class Proxy:
    """Stands for a value; whatever is done with it becomes a node, and the result is a Proxy again."""

    def __init__(self, node, tracer=None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        if k in ("node", "tracer") or (k.startswith("__") and k.endswith("__")):
            raise AttributeError(f"a Proxy has no attribute {k!r}")
        return Attribute(self, k)

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        count = _unpacked_count(sys._getframe(1))
        return self.tracer.iter(self) if count is None else (self[k] for k in range(count))

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self):
        return self.tracer.to_bool(self)

    def keys(self):
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError(
            f"'len' is not supported in symbolic tracing by default{_place()}. To have calls of len() recorded, say "
            "torch.fx.wrap('len') at module scope"
        )

    def __deepcopy__(self, memo):
        import copy

        made = type(self).__new__(type(self))
        made.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return made

    @classmethod
    def __torch_function__(cls, orig_method, types, args=None, kwargs=None):
        args, kwargs = args or (), kwargs or {}
        tracers = {}
        _map_aggregate((args, kwargs), lambda a: tracers.setdefault(a.tracer) if isinstance(a, Proxy) else None)
        if len(tracers) != 1:
            raise RuntimeError(
                f"a call of {orig_method} has {len(tracers) or 'no'} tracers among its arguments: values of "
                "different traces cannot be used together"
            )
        (tracer,) = tracers
        if orig_method is _C.is_tensor:
            return False
        if isinstance(orig_method, METHODS):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        args, kwargs = recorded_call(orig_method, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


def _unpacked_count(frame):
    """How many names `a, b = value` has, where `frame` is about to iterate; None for anything else."""
    code, offset = frame.f_code, frame.f_lasti
    for instruction in dis.get_instructions(code):
        if instruction.offset == offset:
            return instruction.argval if instruction.opname == "UNPACK_SEQUENCE" else None
    return None


class Attribute(Proxy):
    """An attribute of a traced value: its node is made only if it is more than called."""

    def __init__(self, root, attr):
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node = None

    @property
    def node(self):
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter whose sizes are those of now: `shape`, `size()`, `dim()`, `ndim`, `numel()` are constants."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        if not isinstance(param, _C.Tensor):
            raise AssertionError(f"a ParameterProxy stands for a parameter, not for a {type(param).__name__}")
        self.param = param
        self.name = name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        return self.param.shape

    def size(self):
        return self.param.size()

    def dim(self):
        return self.param.dim()

    @property
    def ndim(self):
        return self.param.ndim

    def numel(self):
        return self.param.numel()

    def nelement(self):
        return self.param.nelement()


class Scope:
    """The module that is being called: its path and its class."""

    def __init__(self, module_path, module_type):
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """Within it, `scope` is another one."""

    def __init__(self, scope, current_scope):
        self._scope = scope
        self._before = dict(vars(scope))
        scope.__dict__.update(vars(current_scope))

    def __enter__(self):
        return self._scope

    def __exit__(self, *error):
        self._scope.__dict__.update(self._before)


def _operation(function):
    def impl(*args, **kwargs):
        tracer = next(a for a in args if isinstance(a, Proxy)).tracer
        return tracer.create_proxy("call_function", function, args, kwargs)

    return impl


def _reflected(function):
    def impl(self, rhs):
        return self.tracer.create_proxy("call_function", function, (rhs, self), {})

    return impl


def _define_operations():
    for name in magic_methods:
        if name == "div":
            continue
        setattr(Proxy, f"__{name.strip('_')}__", _operation(getattr(operator, name)))
    for name in reflectable_magic_methods:
        if name not in ("div", "getitem"):
            setattr(Proxy, f"__r{name.strip('_')}__", _reflected(getattr(operator, name)))
    Proxy.__hash__ = object.__hash__


_define_operations()
__getattr__ = _absent_names(__name__)

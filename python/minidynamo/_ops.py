"""torch.ops: operators by name. `ops.<namespace>.<operator>`, `.default` being its one overload.

`ops.aten` holds the ops of this package under their own names; other namespaces are filled by minidynamo.library.
"""

import enum

from . import _C
from ._absent import absent_names as _absent_names
from ._lock import process_lock


class Tag(enum.Enum):
    """What an operator declares of itself."""

    core = 0
    data_dependent_output = 1
    dynamic_output_shape = 2
    flexible_layout = 3
    generated = 4
    inplace_view = 5
    needs_fixed_stride_order = 6
    nondeterministic_bitwise = 7
    nondeterministic_seeded = 8
    pointwise = 9
    pt2_compliant_tag = 10
    view_copy = 11


over_functions = {}  # ops.higher_order, filled by _higher_order_ops

_lock = process_lock()
_operators = {}  # "ns::name" -> minidynamo.library.Operator


def register(operator):
    """Adds an operator; RuntimeError if its name is taken."""
    with _lock:
        if _operators.setdefault(operator.name, operator) is not operator:
            raise RuntimeError(
                f"the operator {operator.name} is defined already; an operator can be defined once in a process"
            )


def replace(operator):
    """Adds an operator, or puts it in the place of an earlier one: a cell of a notebook is run again."""
    with _lock:
        _operators[operator.name] = operator


def find(qualified_name):
    """The operator of that name ("ns::name", also "ns::name.default"), or None."""
    return _operators.get(qualified_name.removesuffix(".default"))


class _Overload:
    """`ops.ns.name.default`, or `ops.ns.name`, which means the same: what can be called and put into graphs."""

    def __init__(self, operator, suffix):
        self._operator = operator
        self._suffix = suffix
        namespace, self.__name__ = operator.name.split("::")
        self.__qualname__ = f"{operator.name}{suffix}"
        self.__module__ = f"minidynamo.ops.{namespace}"
        self._graph_target = f"ops.{namespace}.{self.__name__}{suffix}"
        self._graph_name = self.__name__ + suffix.replace(".", "_")

    @property
    def _name(self):
        return self._operator.name

    @property
    def _schema(self):
        return self._operator.schema

    @property
    def _pt2_compliant(self):
        return Tag.pt2_compliant_tag in self._operator.tags

    @property
    def _fake_function(self):
        return self._operator.fake_function()

    @property
    def _gives_nothing(self):
        return self._operator.fake is None and not self._operator.schema.returns

    @property
    def tags(self):
        return sorted(self._operator.tags, key=lambda tag: tag.value)

    def _fake(self, *args, **kwargs):
        return self._operator.run_fake(args, kwargs)

    def _written(self, counts, named):
        return self._operator.schema.written(counts, named)

    def __call__(self, *args, **kwargs):
        return self._operator(*args, **kwargs)


class OpOverload(_Overload):
    def __repr__(self):
        namespace, name = self._operator.name.split("::")
        return f"<OpOverload(op='{namespace}.{name}', overload='default')>"


class OpOverloadPacket(_Overload):
    def __init__(self, operator):
        super().__init__(operator, "")
        self.default = OpOverload(operator, ".default")

    def overloads(self):
        """Names of the overloads."""
        return ["default"]

    def __repr__(self):
        namespace, name = self._operator.name.split("::")
        return f"<OpOverloadPacket(op='{namespace}.{name}')>"


class _OwnOp:
    """An op of this package under its name in `ops.aten`."""

    def __init__(self, name, overload=""):
        self.__name__ = name
        self._own_name = name
        self._name = f"aten::{name}"
        self._overload = overload
        self._graph_target = f"ops.aten.{name}{overload}"
        self._function = _function_of(name, overload)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        made = self.__dict__[name] = _OwnOp(self._own_name, f".{name}")
        return made

    def __call__(self, *args, **kwargs):
        try:
            return self._function(*args, **kwargs)
        except TypeError as error:
            raise RuntimeError(f"{self._name}: no overload takes these arguments: {error}") from None

    def __repr__(self):
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"


def is_packet(op):
    """Whether `op` stands for all overloads of its name."""
    return isinstance(op, OpOverloadPacket) or (isinstance(op, _OwnOp) and not op._overload)


class _Function:
    """A function of this package under the name that it has among torch's operators, called for what it does."""

    _has_side_effect = True

    def __init__(self, namespace, function):
        self.__name__ = function.__name__
        self._name = f"{namespace}::{self.__name__}"
        self._graph_target = f"ops.{namespace}.{self.__name__}"
        self._function = function

    def __call__(self, *args, **kwargs):
        for given in (*args, *kwargs.values()):
            if hasattr(type(given), "__torch_function__") and not isinstance(given, _C.Tensor):
                return type(given).__torch_function__(self, (type(given),), args, kwargs)
        return self._function(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._name.replace('::', '.')}')>"


def _function_of(name, overload):
    """That overload's own function where the table has one of this name, else the function for all of them."""
    try:
        return _C._op_function(name if overload == ".default" else name + overload)
    except KeyError:
        return getattr(_C, name)


def op_named(name):
    """The op that the table calls so, and no other overload: `ops.aten.sum.dim`, `ops.aten.add.default`."""
    name, _, overload = name.partition(".")
    return getattr(ops.aten._own(name), overload or "default")


class _Namespace:
    """`ops.<namespace>`."""

    def __init__(self, name):
        self._namespace = name
        self._packets = {}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        operator = find(f"{self._namespace}::{name}")
        if operator is not None:
            packet = self._packets.get(name)
            if packet is None or packet._operator is not operator:
                packet = self._packets[name] = OpOverloadPacket(operator)
            return packet
        if self._namespace == "aten" and not name.startswith("_") and _is_own(name):
            return self._own(name)
        if self._namespace == "higher_order" and name in over_functions:
            return over_functions[name]
        if self._namespace == "profiler" and name in ("_record_function_enter", "_record_function_exit"):
            from .autograd import profiler

            made = self.__dict__[name] = _Function("profiler", getattr(profiler, name))
            return made
        raise AttributeError(f"'_OpNamespace' '{self._namespace}' object has no attribute '{name}'")

    def _own(self, name):
        return self._packets.get(name) or self._packets.setdefault(name, _OwnOp(name))

    def _key(self, name):
        """Where the operator `name` is registered."""
        return f"{self._namespace}::{name}"

    def __repr__(self):
        return f"<module 'torch.ops.{self._namespace}'>"


class _Operators:
    def __init__(self):
        self._namespaces = {}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._namespaces.setdefault(name, _Namespace(name))

    def _key(self, name):
        return None

    def __repr__(self):
        return "<module 'torch.ops'>"


_OP_FUNCTION = type(_C.add)


def _is_own(name):
    """True for a public function of the table, and for an op that has one name and no public function."""
    if isinstance(getattr(_C, name, None), _OP_FUNCTION):
        return True
    try:
        return _C._op_function(name) is not None
    except KeyError:
        return False


for _kind in (OpOverload, OpOverloadPacket):
    _C._mark_callable(_kind, "custom_op")
_C._mark_callable(_OwnOp, "own_op")
for _kind in (_Namespace, _Operators):
    _C._mark_callable(_kind, "namespace")
ops = _Operators()

__getattr__ = _absent_names(__name__)

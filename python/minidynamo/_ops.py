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


def forget(operators):
    """Takes operators away, those of them that no others have taken the place of. Finalisers call it: no lock."""
    while operators:
        operator = operators.pop()
        if _operators.get(operator.name) is operator:
            _operators.pop(operator.name, None)


def find(qualified_name):
    """The operator of that name ("ns::name", also "ns::name.default"), or None."""
    return _operators.get(qualified_name.removesuffix(".default"))


def _asked(args, kwargs):
    """The values whose modes and classes are asked about a call with them, also in lists; None: nobody is."""
    given = [*args, *kwargs.values()]
    for value in given[:]:
        if isinstance(value, (list, tuple)):
            given += value
    return tuple(given) if _C._has_torch_function_variadic(*given) else None


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
        asked = _asked(args, kwargs)
        if asked is not None:
            return _C._handle_torch_function(self._as_asked(), asked, args, kwargs)
        return self._operator(*args, **kwargs)

    def _as_asked(self):
        """What overrides are asked about when this is called."""
        return self

    def __str__(self):
        return f"{self._operator.name.replace('::', '.')}{self._suffix}"


class _Kind(type):
    """Operators of torch's own that are ops of this package are of the same kinds."""

    def __instancecheck__(cls, o):
        return type.__instancecheck__(cls, o) or (isinstance(o, _OwnOp) and bool(o._overload) is cls._is_overload)


class OpOverload(_Overload, metaclass=_Kind):
    _is_overload = True

    def __repr__(self):
        namespace, name = self._operator.name.split("::")
        return f"<OpOverload(op='{namespace}.{name}', overload='default')>"


class OpOverloadPacket(_Overload, metaclass=_Kind):
    _is_overload = False

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
    """An op of this package under its name in `ops.aten`; with an overload ("Tensor"), of that signature alone."""

    namespace = "aten"
    _in_python = False  # computed by `_function`, whatever the table has under the name

    def __init__(self, name, overload="", function=None, packet=None, exact=False):
        self.__name__ = self.__qualname__ = f"{name}{overload}"
        self.__module__ = "torch._ops.aten"
        self._own_name = self._opname = name
        self._name = f"aten::{name}"
        self._overload = overload
        self._overloadname = overload.removeprefix(".")
        self._qualified_op_name = f"aten::{name}"
        self._graph_target = f"ops.aten.{name}{overload}"
        self._graph_name = f"{name}{overload.replace('.', '_')}"
        self._exact = exact
        self._function = function or _function_of(name, overload, exact)
        if packet is not None:
            self.overloadpacket = self._overloadpacket = packet

    namespace = "aten"

    def __getattr__(self, name):
        if name == "_schema" and self._overload:
            return self.__dict__.setdefault("_schema", self._signature())
        if name.startswith("_") or name == "overloadpacket" or self._overload:
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        if not self._has_overload(name):
            raise AttributeError(f"the operator aten::{self._own_name} has no overload {name!r}")
        made = self.__dict__[name] = self._made_overload(f".{name}")
        return made

    def _made_overload(self, suffix):
        return _OwnOp(self._own_name, suffix, packet=self, exact=self._exact)

    def _has_overload(self, name):
        from ._aten.schema import overload_names

        if name == "default" or name in overload_names(self._own_name):
            return True
        try:
            return _C._op_function(f"{self._own_name}.{name}") is not None
        except KeyError:
            return False

    def _signature(self):
        from ._aten.schema import schema_of

        found = schema_of(self._own_name, self._overloadname)
        if found is None:
            raise AttributeError(f"{self!r} has no signature")
        return found

    def overloads(self):
        """Names of the overloads: those of the signatures, and the one that every operator has here."""
        from ._aten.schema import overload_names

        return list(dict.fromkeys([*overload_names(self._own_name), "default"]))

    def name(self):
        """ "aten::add.Tensor"; the overload called default goes without."""
        return f"{self._name}{'' if self._overload == '.default' else self._overload}"

    @property
    def is_view(self):
        returns = self._schema.returns
        return bool(returns) and returns[0].alias_info is not None and not returns[0].is_write

    @property
    def tags(self):
        return []

    def has_kernel_for_dispatch_key(self, key):
        """False: there are no kernels by key here."""
        return False

    def __call__(self, *args, **kwargs):
        if _C._has_torch_function_variadic(*args, *kwargs.values()):
            return _C._handle_torch_function(self, (*args, *kwargs.values()), args, kwargs)
        if kwargs:
            from ._aten.implementations import without_places

            kwargs = without_places(kwargs)
        try:
            return self._function(*args, **kwargs)
        except TypeError as error:
            raise RuntimeError(f"{self._name}: no overload takes these arguments: {error}") from None

    def __str__(self):
        return f"aten.{self._own_name}{self._overload}"

    def __repr__(self):
        if self._overload:
            return f"<OpOverload(op='aten.{self._own_name}', overload='{self._overloadname}')>"
        return f"<OpOverloadPacket(op='aten.{self._own_name}')>"

    def __reduce__(self):
        return _own_op, (self._own_name, self._overloadname)

    def __deepcopy__(self, memo):
        return self


class _OperatorOfTorch(_OwnOp):
    """One that is no op of the table: a function in Python computes it, which is traced like the program."""

    _in_python = True

    def _made_overload(self, suffix):
        return _OperatorOfTorch(self._own_name, suffix, self._function, self)

    def __call__(self, *args, **kwargs):
        if _C._asks_handlers((*args, *kwargs.values())):
            from importlib import import_module

            return import_module("._aten.handlers", __package__).ask(
                self if self._overload else self._for(args), args, kwargs
            )
        return super().__call__(*args, **kwargs)

    def _for(self, args):
        from ._aten.schema import overload_names

        names = overload_names(self._own_name)
        return getattr(self, "default" if "default" in names else names[0])


# Whose functions torch has as operators of the same names.
_HOMES_OF_OPERATORS = """
    copied_views histograms layer_functions linalg.older_names numerical_functions real_tensors scatter_functions
    shape_functions spectrograms
""".split()


def _has_public_name(name):
    """Whether an operator without a signature here is computed by a public function."""
    from importlib import import_module

    space, _, rest = name.partition("_")
    if space in ("linalg", "special", "fft") and rest:
        return rest in getattr(import_module(f".{space}", __package__), "__all__", ())
    return import_module("._on_demand", __package__).home_of(name) in _HOMES_OF_OPERATORS


def _own_op(name, overload):
    packet = getattr(ops.aten, name)
    return getattr(packet, overload) if overload else packet


def aten_overload(name, overload):
    """`ops.aten.<name>.<overload>`, also where this package has no op of that name: then it cannot be called."""
    return getattr(ops.aten._packet(name) or ops.aten._named_only(name), overload)


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


def _function_of(name, overload, exact):
    """That overload's own function where the table has one of this name, else the function for all of them."""
    if not exact and overload in ("", ".default") and hasattr(_C, name):
        return getattr(_C, name)
    try:
        return _C._op_function(name if overload == ".default" else name + overload)
    except KeyError:
        return getattr(_C, name, None) or _C._op_function(name)


def op_named(name):
    """The op that the table calls so, and no other overload: `ops.aten.sum.dim`, `ops.aten.add.default`."""
    name, _, overload = name.partition(".")
    return getattr(ops.aten._own(name), overload or "default")


class _Namespace:
    """`ops.<namespace>`."""

    def __init__(self, name):
        self._namespace = name
        self._packets = {}
        self._of_table = {}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        operator = find(f"{self._namespace}::{name}")
        if operator is not None:
            packet = self._packets.get(name)
            if getattr(packet, "_operator", None) is not operator:
                packet = self._packets[name] = OpOverloadPacket(operator)
            return packet
        if self._namespace == "aten" and (packet := self._packet(name)) is not None:
            return packet
        if self._namespace == "higher_order" and name in over_functions:
            return over_functions[name]
        if self._namespace == "profiler" and name in ("_record_function_enter", "_record_function_exit"):
            from .autograd import profiler

            made = self.__dict__[name] = _Function("profiler", getattr(profiler, name))
            return made
        raise AttributeError(f"'_OpNamespace' '{self._namespace}' object has no attribute '{name}'")

    def _own(self, name):
        """The op of the table; its `.default` is the one that the table calls so."""
        return self._of_table.get(name) or self._of_table.setdefault(name, _OwnOp(name, exact=True))

    def _packet(self, name):
        """Torch's operator of that name; None if it is not here."""
        if name in self._packets:
            return self._packets[name]
        from ._aten.implementations import implementation, is_implemented
        from ._aten.schema import is_known

        if not name.startswith("_") and not is_implemented(name) and _is_own(name):
            made = _OwnOp(name)
        elif (is_known(name) or _has_public_name(name)) and (function := implementation(name)) is not None:
            made = _OperatorOfTorch(name, "", function)
        else:
            return None
        return self._packets.setdefault(name, made)

    def _named_only(self, name):
        def missing(*args, **kwargs):
            raise NotImplementedError(f"aten::{name} is no operator that can be called here")

        return _OperatorOfTorch(name, "", missing)

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
_C._mark_callable(_OperatorOfTorch, "own_op")
for _kind in (_Namespace, _Operators):
    _C._mark_callable(_kind, "namespace")
ops = _Operators()

__getattr__ = _absent_names(__name__)

"""minidynamo.library: operators of the program's own.

An operator is opaque to the compiler: a call of it is one node of the graph, which runs the registered Python function
on real tensors. What the compiler knows of its results is what the fake implementation says.
"""

import functools

from .. import _C, _ops
from .._absent import absent_names as _absent_names
from .._dynamo import config
from .._dynamo.marked_callables import DynamicShape, DynamicShapeWithoutRule, NoFakeImplementation
from .._ops import Tag
from .check import opcheck
from .schema import infer_schema, parse_schema, schema_of

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "get_ctx",
    "impl",
    "infer_schema",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
]

_COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")


class Operator:
    """A schema, the functions that compute it by device, and the one that computes shapes."""

    def __init__(self, name, schema, tags=()):
        self.name = name
        self.schema = schema
        self.tags = frozenset(tags)
        self.kernels = {}
        self.fake = None
        self.autograd = None

    def __call__(self, *args, **kwargs):
        return _C._call_plain(self._run, args, kwargs, self)

    def _run(self, *args, **kwargs):
        values = self.schema.bind(args, kwargs)
        if any(t.is_meta for t in self._tensors(values, False) + self._tensors(values, True)):
            kernel = self.kernels.get("meta")  # else the rule for shapes says all there is to know
            return self._call(kernel, values) if kernel else self.run_fake(args, kwargs)
        kernel = self.kernels.get("cpu") or next((self.kernels[k] for k in _COMPOSITE if k in self.kernels), None)
        if kernel is None:
            known = ", ".join(self.kernels) or "no device"
            raise NotImplementedError(
                f"Could not run '{self.name}': it has an implementation for {known}, and tensors here are on the CPU"
            )
        written = self._tensors(values, True)
        versions = [t._version for t in written]
        result = self._call(kernel, values)
        for tensor, version in zip(written, versions):
            if tensor._version == version:  # written behind our back, through NumPy or C
                _C._bump_version(tensor)
        inputs = self._tensors(values, False) + written
        self._check_fresh(result, inputs)
        if _C.is_grad_enabled() and any(t.requires_grad for t in inputs):
            for tensor in result if isinstance(result, (list, tuple)) else [result]:
                if _is_tensor(tensor) and tensor.is_floating_point():
                    tensor.requires_grad = True  # differentiable as far as anybody can tell
        return result

    def _call(self, function, values):
        positional = [values[p.name] for p in self.schema.parameters if not p.keyword_only]
        return function(*positional, **{p.name: values[p.name] for p in self.schema.parameters if p.keyword_only})

    def _tensors(self, values, written):
        found = []
        for p in self.schema.parameters:
            if p.written == written:
                value = values[p.name]
                found.extend(t for t in (value if isinstance(value, (list, tuple)) else [value]) if _is_tensor(t))
        return found

    def _check_fresh(self, result, inputs):
        """Results own their memory: the compiler reorders and reuses memory on that assumption."""
        results = result if isinstance(result, (list, tuple)) else [result]
        seen = list(inputs)
        for number, tensor in enumerate(results):
            if not _is_tensor(tensor):
                continue
            if any(_C._shares_memory(tensor, other) for other in seen):
                raise RuntimeError(
                    f"{self.name} (with implementation in {self._where()}): The output of this custom operator (1) "
                    f"must not also be an input to this custom operator and (2) may not alias any inputs to this "
                    f"custom operator or other returns; result {number} does. Return a clone() of it."
                )
            seen.append(tensor)

    def _where(self):
        kernel = next(iter(self.kernels.values()))
        return getattr(kernel, "__module__", "?")

    # --- shapes

    def fake_function(self):
        """The Python function that computes results of the right shapes, or None."""
        if self.fake is not None:
            return self.fake
        composite = next((self.kernels[k] for k in _COMPOSITE if k in self.kernels), None)
        if composite is None and not self.schema.returns:
            return _nothing
        return composite

    def run_fake(self, args, kwargs):
        """Results of the right shapes and dtypes. Raises what the fake implementation raises."""
        values = self.schema.bind(args, kwargs)
        function = self.fake_function()
        if function is None:
            if Tag.dynamic_output_shape in self.tags:
                raise (
                    DynamicShapeWithoutRule(self.name)
                    if config.capture_dynamic_output_shape_ops
                    else DynamicShape(self.name)
                )
            raise NoFakeImplementation(
                f"There was no fake impl registered for {self.name}. Use its register_fake() to add a function that "
                f"takes the same arguments and returns tensors of the right sizes and dtypes."
            )
        return self._call(function, values)


def _nothing(*args, **kwargs):
    return None


def _is_tensor(value):
    return isinstance(value, _C.Tensor)


class _Context:
    """Of a fake implementation."""

    def new_dynamic_size(self, *, min=0, max=None):
        """A size that depends on the contents of an argument."""
        raise DynamicShape("a fake implementation asks for a size that depends on the contents of an argument")


def get_ctx():
    """The context of the fake implementation that is running."""
    return _Context()


class CustomOpDef(_ops._Overload):
    """What custom_op() makes of a function: called like it, and one opaque node in compiled code."""

    def __init__(self, operator, function):
        super().__init__(operator, ".default")
        self._init_fn = function
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    @property
    def _opoverload(self):
        namespace, name = self._operator.name.split("::")
        return getattr(getattr(_ops.ops, namespace), name).default

    def register_fake(self, fn, /):
        """Decorator: `fn` takes the operator's arguments and returns tensors of the right sizes and dtypes.

        It sees sizes, strides and dtypes, and must not look at elements.
        """
        self._operator.fake = _checked_function(fn, "register_fake")
        return fn

    def register_kernel(self, device_types, fn=None, /):
        """Decorator: `fn` computes the operator on these devices ("cpu", or a list)."""
        if fn is None:
            return functools.partial(self.register_kernel, device_types)
        for device in [device_types] if isinstance(device_types, str) else device_types or ["cpu"]:
            self._operator.kernels[device] = _checked_function(fn, "register_kernel")
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """Keeps a formula for the gradient, which opcheck() looks at. backward() does not call it."""
        self._operator.autograd = (backward, setup_context)

    def __repr__(self):
        return f"<CustomOpDef({self._operator.name})>"


_C._mark_callable(CustomOpDef, "custom_op")


def _checked_function(fn, who):
    if not callable(fn):
        raise TypeError(f"{who} expects a function, but {type(fn)} is provided")
    return fn


def _checked_name(name):
    parts = name.split("::")
    if len(parts) != 2 or not all(part.replace(".", "_").isidentifier() for part in parts):
        raise ValueError(f"the name of an operator has a namespace, 'mylib::square'; {name!r} is none")
    return name


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=()):
    """Makes a function an operator: `@custom_op("mylib::square", mutates_args=())`.

    The schema is read from the annotations (infer_schema()) unless given as text. `mutates_args` names the arguments
    the function writes to, or is "unknown". `device_types`: devices it runs on, all by default. Results must be new
    tensors. Raises ValueError for a name without a namespace, and for annotations that cannot be read.
    """
    if fn is None:
        return functools.partial(
            custom_op, name, mutates_args=mutates_args, device_types=device_types, schema=schema, tags=tags
        )
    name = _checked_name(name)
    _checked_function(fn, "custom_op")
    declared = parse_schema(name, schema) if schema is not None else schema_of(fn, name, mutates_args)
    if schema is not None and mutates_args != "unknown":
        written = {p.name for p in declared.parameters if p.written}
        if written != set(mutates_args):
            raise ValueError(f"{name}: the schema {declared} writes to {written}, but mutates_args is {mutates_args}")
    operator = Operator(name, declared, {Tag.pt2_compliant_tag, *_as_tags(tags)})
    for device in [device_types] if isinstance(device_types, str) else device_types or ["cpu"]:
        operator.kernels[device] = fn
    _ops.replace(operator)
    return CustomOpDef(operator, fn)


def _as_tags(tags):
    return (tags,) if isinstance(tags, Tag) else tuple(tags)


def define(qualname, schema, *, lib=None, tags=()):
    """Declares an operator by its schema; impl() gives it functions. Raises RuntimeError for a name that is taken."""
    name = _checked_name(qualname)
    _ops.register(Operator(name, parse_schema(name, schema), _as_tags(tags)))


def _operator(op):
    operator = op._operator if isinstance(op, _ops._Overload) else _ops.find(op)
    if operator is None:
        raise RuntimeError(f"there is no operator {op}; define it first")
    return operator


def impl(qualname, types, func=None, *, lib=None):
    """Decorator: the function that computes an operator on `types` (a device, a dispatch key, or several)."""
    if func is None:
        return functools.partial(impl, qualname, types, lib=lib)
    operator = _operator(qualname)
    for kind in [types] if isinstance(types, str) else types:
        key = {"CPU": "cpu", "default": "CompositeExplicitAutograd"}.get(kind, kind)
        if kind == "Meta":
            operator.fake = func
        else:
            operator.kernels[key] = func
    return func


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """The same for an operator that custom_op() has made."""
    return impl(op, device_types or "cpu", func)


def register_fake(op, func=None, /, *, lib=None):
    """Decorator: the function that computes sizes and dtypes of an operator's results."""
    if func is None:
        return functools.partial(register_fake, op)
    _operator(op).fake = _checked_function(func, "register_fake")
    return func


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Keeps a formula for the gradient, which opcheck() looks at. backward() does not call it."""
    _operator(op).autograd = (backward, setup_context)


class Library:
    """Operators of one namespace, defined one by one: Library("mylib", "DEF" or "FRAGMENT")."""

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"the kind of a library is DEF, FRAGMENT or IMPL, not {kind!r}")
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        """ "name(Tensor x) -> Tensor"; returns the name."""
        name, _, rest = schema.partition("(")
        define(f"{self.ns}::{name.strip()}", "(" + rest, tags=tags)
        return name.strip()

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False):
        """The function that computes an operator of the namespace."""
        name = op_name if isinstance(op_name, str) else op_name._name
        return impl(name if "::" in name else f"{self.ns}::{name}", dispatch_key or self.dispatch_key or "CPU", fn)


__getattr__ = _absent_names(__name__)

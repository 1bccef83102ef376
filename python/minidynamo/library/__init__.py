"""minidynamo.library: operators of the program's own.

An operator is opaque to the compiler: a call of it is one node of the graph, which runs the registered Python function
on real tensors. What the compiler knows of its results is what the fake implementation says.
"""

import contextlib
import functools
import weakref
from importlib import import_module

from .. import _C, _ops
from .._absent import absent_names as _absent_names
from .._dynamo import config
from .._dynamo.marked_callables import DynamicShape, DynamicShapeWithoutRule, NoFakeImplementation
from .._ops import Tag
from . import gradients
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
    "register_torch_dispatch",
    "register_vmap",
]

_KEYS = {"CPU": "cpu", "default": "CompositeExplicitAutograd", "AutogradCPU": "Autograd"}
_COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")


def _ask_handlers(operator, *args, **kwargs):
    """What classes and modes with __torch_dispatch__ say to a call of the operator."""
    namespace, name = operator.name.split("::")
    overload = getattr(getattr(_ops.ops, namespace), name).default
    return import_module(".._aten.handlers", __package__).ask(overload, args, kwargs)


class Operator:
    """A schema, the functions that compute it by device, and the one that computes shapes."""

    def __init__(self, name, schema, tags=()):
        self.name = name
        self.schema = schema
        self.tags = frozenset(tags)
        self.kernels = {}
        self.fake = None
        self.autograd = None  # (backward, setup_context)
        self.vmap = None  # its rule inside vmap: minidynamo/_transforms/operators.py
        self.batches_leading = False  # leading dimensions are batches: inside vmap it is called once for all examples
        self.recorded_as = None  # the Function that stands for its calls; None if what the kernel calls is recorded

    def __call__(self, *args, **kwargs):
        return _C._call_plain(self._run, args, kwargs, self)

    @property
    def dotted_name(self):
        return self.name.replace("::", ".") + ".default"

    def _run(self, *args, **kwargs):
        values = self.schema.bind(args, kwargs)
        if _C._transforms() and any([_C._batch_levels(t) for t in gradients.tensors_in(list(values.values()))]):
            from .._transforms import operators

            return operators.call(self, values)
        above = self.kernels.get("Autograd")
        if above is not None and not _C.is_inference_mode_enabled():
            return self._call(above, values)
        wanted = _C.is_grad_enabled() and any(t.requires_grad for t in gradients.tensors_in(list(values.values())))
        if wanted and self.recorded_as is not None:
            return gradients.recorded(self, values)
        result = self.compute(values)
        return gradients.passed_through(self, values, result) if wanted and not self._is_implicit() else result

    def _is_implicit(self):
        """Made of differentiable operators, says its registration."""
        return "cpu" not in self.kernels and "CompositeImplicitAutograd" in self.kernels

    def compute(self, values):
        """The results of the kernel for the device of the arguments, which autograd is not told of."""
        if _C._asks_handlers(tuple(values.values())):
            return self._call(functools.partial(_ask_handlers, self), values)
        if _C._is_recording():
            raise NotImplementedError(f"{self.name} is code of the program, which is called when a graph runs")
        if any(t.is_meta for t in gradients.tensors_in(list(values.values()))):
            kernel = self.kernels.get("meta")  # else the rule for shapes says all there is to know
            return self._call(kernel or self._rule(), values)
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
        self._check_fresh(result, self._tensors(values, False) + written)
        return result

    def set_formula(self, backward, setup_context, described):
        """What register_autograd() is given. RuntimeError for operators that cannot have it."""
        gradients.check_can_be_given(self, described)
        self.autograd = (backward, setup_context)
        self.recorded_as = self.recorded_as or gradients.function_class(self.name)

    def _call(self, function, values):
        positional = [values[p.name] for p in self.schema.parameters if not p.keyword_only]
        return function(*positional, **{p.name: values[p.name] for p in self.schema.parameters if p.keyword_only})

    def _tensors(self, values, written):
        return gradients.tensors_in([values[p.name] for p in self.schema.parameters if p.written == written])

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
        return self._call(self._rule(), self.schema.bind(args, kwargs))

    def _rule(self):
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
        return function


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

    def _as_asked(self):
        return self._opoverload

    def register_fake(self, fn, /):
        """Decorator: `fn` takes the operator's arguments and returns tensors of the right sizes and dtypes.

        It sees sizes, strides and dtypes, and must not look at elements.
        """
        self._operator.fake = _checked_function(fn, "register_fake")
        return fn

    def register_vmap(self, fn=None, /):
        """Decorator: `fn(info, in_dims, *args)` computes all examples at once inside vmap. They lie in the dimensions
        of arguments that in_dims says, None for those that all share, and it returns (results, out_dims). `info` has
        batch_size and randomness. An operator without it is called for each example."""
        if fn is None:
            return self.register_vmap
        self._operator.vmap = _checked_function(fn, "register_vmap")
        return fn

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """Decorator: what a class of modes, or of tensors, with __torch_dispatch__ says to calls of the operator, in
        the place of its handler: `fn(mode, func, types, args, kwargs)`, with the class for tensors."""
        if fn is None:
            return functools.partial(self.register_torch_dispatch, torch_dispatch_class)
        return register_torch_dispatch(self._operator.name, torch_dispatch_class, fn)

    def register_kernel(self, device_types, fn=None, /):
        """Decorator: `fn` computes the operator on these devices ("cpu", or a list)."""
        if fn is None:
            return functools.partial(self.register_kernel, device_types)
        for device in [device_types] if isinstance(device_types, str) else device_types or ["cpu"]:
            self._operator.kernels[device] = _checked_function(fn, "register_kernel")
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """Gives the operator its gradient: `backward(ctx, *grads)` returns one of each positional argument.

        `setup_context(ctx, inputs, output)` runs after the operator, and leaves in ctx what backward needs, tensors by
        ctx.save_for_backward(). `inputs` holds the positional arguments with defaults filled in; where the schema has
        arguments by keyword only, they come as `keyword_only_inputs`. The gradient of a list of tensors is a list, and
        None where nothing flows. If backward calls differentiable functions only, it can be differentiated in turn.

        RuntimeError for operators that write to arguments, return views or nothing. NotImplementedError for tensors by
        keyword only.
        """
        self._operator.set_formula(backward, setup_context, repr(self))

    def __repr__(self):
        return f"<CustomOpDef({self._operator.name})>"

    __str__ = __repr__


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
    if any(p.keyword_only and p.type.startswith("Tensor") for p in declared.parameters):
        raise NotImplementedError(
            f"custom_op: tensors by keyword only are not supported, let them be positional too. Got {declared}"
        )
    operator = Operator(name, declared, {Tag.pt2_compliant_tag, *_as_tags(tags)})
    for device in [device_types] if isinstance(device_types, str) else device_types or ["cpu"]:
        operator.kernels[device] = fn
    operator.recorded_as = gradients.function_class(name)
    _ops.replace(operator)
    return CustomOpDef(operator, fn)


def _as_tags(tags):
    return (tags,) if isinstance(tags, Tag) else tuple(tags)


def define(qualname, schema, *, lib=None, tags=()):
    """Declares an operator by its schema; impl() gives it functions. Raises RuntimeError for a name that is taken."""
    name = _checked_name(qualname)
    operator = Operator(name, parse_schema(name, schema), _as_tags(tags))
    _ops.register(operator)
    if lib is not None:
        lib._defined.append(operator)


def _operator(op):
    operator = op._operator if isinstance(op, _ops._Overload) else _ops.find(op)
    if operator is None:
        raise RuntimeError(f"there is no operator {op}; define it first")
    return operator


def impl(qualname, types, func=None, *, lib=None):
    """Decorator: the function that computes an operator on `types` (a device, a dispatch key, or several).

    RuntimeError if there is no operator of that name.
    """
    if func is None:
        return functools.partial(impl, qualname, types, lib=lib)
    operator = _operator(qualname)
    for kind in [types] if isinstance(types, str) else types:
        key = _KEYS.get(kind, kind)
        if kind == "Meta":
            operator.fake = func
        else:
            operator.kernels[key] = func
    return func


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Decorator: the function that computes an operator of custom_op() on these devices ("cpu", or a list).

    RuntimeError if there is no operator of that name.
    """
    return impl(op, device_types or "cpu", func)


def register_fake(op, func=None, /, *, lib=None):
    """Decorator: the function that computes sizes and dtypes of an operator's results.

    It returns tensors of them, and must not look at elements. RuntimeError if there is no operator of that name.
    """
    if func is None:
        return functools.partial(register_fake, op)
    _operator(op).fake = _checked_function(func, "register_fake")
    return func


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Gives an operator, or the one of that name, its gradient: see CustomOpDef.register_autograd().

    AttributeError if there is none of that name.
    """
    if isinstance(op, str) and _ops.find(op) is None:
        raise AttributeError(f"there is no operator {op}; define it first")
    operator = _operator(op)
    operator.set_formula(backward, setup_context, operator.dotted_name)


def register_vmap(op, func=None, /, *, lib=None):
    """Decorator: the rule of an operator, or of the one of that name, inside vmap: see CustomOpDef.register_vmap()."""
    if func is None:
        return functools.partial(register_vmap, op)
    _operator(op).vmap = _checked_function(func, "register_vmap")
    return func


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Decorator: see CustomOpDef.register_torch_dispatch(), for an operator of any namespace by its name."""
    if func is None:
        return functools.partial(register_torch_dispatch, op, torch_dispatch_class)
    name = op if isinstance(op, str) else op._name
    if not isinstance(torch_dispatch_class, type):
        raise TypeError(f"register_torch_dispatch() takes a class, not {torch_dispatch_class!r}")
    rules = import_module(".._aten.handlers", __package__).OF_CLASSES
    key = name.removesuffix(".default"), torch_dispatch_class
    if key in rules:
        raise RuntimeError(f"{torch_dispatch_class.__name__} has an answer to calls of {name} already")
    rules[key] = _checked_function(func, "register_torch_dispatch")
    return func


class Library:
    """Operators of one namespace, defined one by one: Library("mylib", "DEF" or "FRAGMENT").

    They are there for as long as the library is. ValueError for another kind than DEF, FRAGMENT and IMPL.
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"the kind of a library is DEF, FRAGMENT or IMPL, not {kind!r}")
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._defined = []
        weakref.finalize(self, _ops.forget, self._defined).atexit = False

    def define(self, schema, alias_analysis="", *, tags=()):
        """ "name(Tensor x) -> Tensor"; returns the name."""
        name, _, rest = schema.partition("(")
        define(f"{self.ns}::{name.strip()}", "(" + rest, lib=self, tags=tags)
        return name.strip()

    def _destroy(self):
        _ops.forget(self._defined)

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False):
        """The function that computes an operator of the namespace."""
        name = op_name if isinstance(op_name, str) else op_name._name
        return impl(name if "::" in name else f"{self.ns}::{name}", dispatch_key or self.dispatch_key or "CPU", fn)


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


__getattr__ = _absent_names(__name__)

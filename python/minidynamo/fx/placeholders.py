"""The inputs of what is traced: proxies, or constants for which the graph is specialised."""

import inspect
import types
import warnings

from .. import _C, _checks
from . import _pytree
from .code_generation import _PyTreeCodeGen
from .node import base_types


class PHBase:
    """Stands for an input in nested `concrete_args`."""

    def __repr__(self):
        return "PH"


PH = PHBase()


def place_arguments(tracer, root_fn, is_module, concrete_args, assert_is_none):
    """(function, arguments) to call it with: what Tracer.create_args_for_root() gives."""
    analysed = inspect.unwrap(root_fn)
    code = analysed.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:count])
    args = []
    if is_module:
        if not names:
            raise RuntimeError(f"{root_fn.__qualname__}() takes no `self`: it cannot be a method of the module")
        args.append(tracer.root)
        names = names[1:]
    if isinstance(concrete_args, tuple):
        if len(concrete_args) != len(names):
            raise RuntimeError(f"{len(concrete_args)} concrete_args were given for {len(names)} inputs")
        concrete_args = dict(zip(names, concrete_args))
    placed = _Placeholders(tracer, inspect.signature(analysed), analysed, concrete_args or {}, assert_is_none)
    args.extend(placed.of(name) for name in names)
    more = list(code.co_varnames[count:])
    if code.co_flags & inspect.CO_VARARGS:
        args.append(placed.of("*" + more.pop(0)))
    if code.co_flags & inspect.CO_VARKEYWORDS:
        args.append(placed.of("**" + more.pop(0)))
    function = root_fn
    if code.co_kwonlyargcount or code.co_flags & _VARIABLE:
        function = _all_positional(root_fn, analysed, len(args))
    if placed.is_nested:
        function = _with_leaves(tracer, function, names, concrete_args, args[: int(is_module)], args[int(is_module) :])
    return function, args


_VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _all_positional(root_fn, analysed, count):
    """The function with all parameters positional, those for more arguments too: what is given for them is a proxy."""
    if root_fn is not analysed:
        raise NotImplementedError(
            f"{root_fn.__qualname__}() is decorated and takes *args, **kwargs or keyword-only inputs: trace it without "
            "its decorator"
        )
    code = root_fn.__code__
    code = code.replace(
        co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=code.co_flags & ~_VARIABLE
    )
    return types.FunctionType(code, root_fn.__globals__, root_fn.__name__, None, root_fn.__closure__)


def _with_leaves(tracer, function, names, concrete_args, bound, args):
    """The function giving the leaves of what it returns; the graph's code then takes and gives nested values."""
    given = [concrete_args.get(name, PH) for name in names]
    codegen = _PyTreeCodeGen(names, _pytree.tree_flatten(given)[1])
    tracer.graph.set_codegen(codegen)

    def flat(*args):
        leaves, codegen.out_spec = _pytree.tree_flatten(function(*args))
        return leaves

    return flat


class _Placeholders:
    """Makes the inputs one after the other."""

    def __init__(self, tracer, signature, function, concrete_args, assert_is_none):
        self._tracer = tracer
        self._signature = signature
        self._annotations = getattr(function, "__annotations__", {})
        self._concrete = concrete_args
        self._assert_is_none = assert_is_none
        self.is_nested = any(not _pytree.tree_is_leaf(value) for value in concrete_args.values())

    def of(self, name):
        plain = name.lstrip("*")
        parameter = self._signature.parameters[plain]
        default = () if name != plain or parameter.default is parameter.empty else (parameter.default,)
        if plain in self._concrete:
            return self._specialised(name, default)
        kind = self._annotations.get(plain)
        return self._tracer.create_proxy("placeholder", name, default, {}, type_expr=kind)

    def _specialised(self, name, default):
        count = 0

        def leaf(value):
            nonlocal count
            count += 1
            proxy = self._tracer.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(value, PHBase):
                return proxy
            self._check(name, value, proxy)
            return value

        return _pytree.tree_map(leaf, self._concrete[name])

    def _check(self, name, value, proxy):
        """The graph fails if it is run with another value."""
        text = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self._tracer.create_proxy("call_function", self._assert_is_none, (proxy, text), {})
        elif isinstance(value, base_types) and not isinstance(value, _C.Tensor):
            _checks._assert(proxy == value, text)
        else:
            warnings.warn(
                f"the graph holds the value given for '{name}' and cannot check that it is run with the same one",
                stacklevel=2,
            )

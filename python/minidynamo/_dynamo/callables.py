"""What compile() makes of a function, and of everything else that can be called."""

import functools
import importlib
import sys
import types
from collections import namedtuple

from .. import _C


class Options(namedtuple("Options", "backend backend_name fullgraph dynamic backend_options mode")):
    """What was asked of compile(), as native code takes it."""

    __slots__ = ()

    def __deepcopy__(self, memo):
        return self  # a copy of something compiled has the same backend

    def __reduce__(self):
        return importlib.import_module(f"{__package__}.pickling").reduced_options(self)  # which stands on this module

    def of_module(self, call):
        """The function of a module's calls, `call`, compiled."""
        return _C._compile(own_copy(call), *self)


class Disabling(namedtuple("Disabling", "recursive reason")):
    """What was asked of disable(), in the place of Options."""

    __slots__ = ()

    def of_function(self, function):
        """A function that is never compiled; if `recursive`, neither is anything it calls."""
        disabled = function
        if self.recursive:

            @functools.wraps(function)
            def disabled(*args, **kwargs):
                return _C._call_unhooked(function, args, kwargs)

            disabled._torchdynamo_orig_callable = function
        elif not isinstance(function, types.FunctionType):
            disabled = functools.update_wrapper(own_copy(_caller(function)), function, updated=())
        disabled._torchdynamo_disable = True
        disabled._torchdynamo_disable_msg = self.reason
        _C._mark_skip(disabled.__code__, False)
        return disabled

    def of_module(self, call):
        disabled = self.of_function(call if self.recursive else own_copy(call))
        disabled._torchdynamo_disabled_module = True
        return disabled


class module_makers:
    """What minidynamo.nn makes of a module. It fills this in when it is imported, for it is built on this package."""

    compiled = None  # (module, Options or Disabling) -> module whose calls run so


def loaded_module_class():
    """nn.Module, or None while the program has not used it: it is no module's instance then."""
    modules = sys.modules.get("minidynamo.nn.module")
    return getattr(modules, "Module", None)


def own_copy(function):
    """The same function with a code object of its own, and so with compiled entries of its own.

    All modules share the code of Module.__call__: entries kept with it would be guarded, and counted, together.
    """
    made = types.FunctionType(
        function.__code__.replace(),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    return made


def compile_callable(model, options):
    model = _C._original(model) or model
    if isinstance(model, types.FunctionType):
        return _C._compile(model, *options)
    if isinstance(model, types.MethodType) and _is_function(model.__func__):
        return types.MethodType(compile_callable(model.__func__, options), model.__self__)
    if isinstance(model, staticmethod):
        return staticmethod(compile_callable(model.__func__, options))
    if isinstance(model, type):
        return _compile_class(model, options)
    module_class = loaded_module_class()
    if module_class is not None and isinstance(model, module_class):
        return module_makers.compiled(model, options)
    return _compile_object(model, options)


def _is_function(o):
    return isinstance(_C._original(o) or o, types.FunctionType)


def _compile_class(cls, options):
    """Calls of instances run compiled; a `__call__` that is inherited stays as it is for other classes."""
    call = next((vars(base)["__call__"] for base in cls.__mro__ if "__call__" in vars(base)), None)
    function = _C._original(call) or call
    if isinstance(function, types.FunctionType):
        own = "__call__" in vars(cls)
        cls.__call__ = _C._compile(function if own else own_copy(function), *options)
    return cls


def _caller(target):
    def call(*args, **kwargs):
        return target(*args, **kwargs)

    name = getattr(target, "__name__", None) or type(target).__name__  # as texts are to call it
    call.__code__ = call.__code__.replace(co_name=str(name), co_qualname=str(name))
    return call


def _compile_object(target, options):
    """An object that has no frame (a partial, an operator, an instance) is called from one."""

    function = functools.update_wrapper(own_copy(_caller(target)), target, updated=())
    return _C._compile(function, *options, target)

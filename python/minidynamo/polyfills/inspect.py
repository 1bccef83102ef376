"""inspect's questions about an object's type, and what stands behind wrappers."""

import inspect
import types

from . import bridge


def is_function(object):
    return isinstance(object, types.FunctionType)


def is_method(object):
    return isinstance(object, types.MethodType)


def is_class(object):
    return isinstance(object, type)


def is_module(object):
    return isinstance(object, types.ModuleType)


def is_builtin(object):
    return isinstance(object, types.BuiltinFunctionType)


def is_generator(object):
    return isinstance(object, types.GeneratorType)


def unwrap(func, *, stop=None):
    seen = [func]
    while hasattr(func, "__wrapped__") and not (stop is not None and stop(func)):
        func = func.__wrapped__
        if any([func is one for one in seen]):
            raise ValueError(f"wrapper loop when unwrapping {seen[0]!r}")
        seen.append(func)
    return func


def annotations_of(obj, *, globals=None, locals=None, eval_str=False):
    if eval_str or not isinstance(obj, types.FunctionType):
        bridge.refuse("inspect.get_annotations", "other than a function's as they are")
    return dict(obj.__annotations__)


TABLE = {
    inspect.get_annotations: annotations_of,
    inspect.unwrap: unwrap,
    inspect.isfunction: is_function,
    inspect.ismethod: is_method,
    inspect.isclass: is_class,
    inspect.ismodule: is_module,
    inspect.isbuiltin: is_builtin,
    inspect.isgenerator: is_generator,
}

"""inspect's questions about an object's type."""

import inspect
import types


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


TABLE = {
    inspect.isfunction: is_function,
    inspect.ismethod: is_method,
    inspect.isclass: is_class,
    inspect.ismodule: is_module,
    inspect.isbuiltin: is_builtin,
    inspect.isgenerator: is_generator,
}

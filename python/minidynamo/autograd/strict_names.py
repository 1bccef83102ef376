"""Whether the backward of a Function names attributes that it may not read of gradients in compiled code."""

import functools
import types

from .. import _C

# Of torch._dynamo.config._autograd_backward_strict_mode_banned_ops.
FORBIDDEN = frozenset(["layout", "is_neg", "is_conj", "is_pinned"])
_MOST_OBJECTS = 3000
_METHODS = (type(_C.Tensor.is_neg), type(_C.Tensor.is_pinned), types.MethodDescriptorType)
_LIBRARY = __name__.partition(".")[0]


def mentioned_by(cls):
    """Whether one of the names stands in code that backward reaches, or in data there. It may be that of another thing:
    only a trace can tell."""
    seen, waiting = {}, [vars(base).get("backward") for base in cls.__mro__ if not _is_library(base.__module__)]
    while waiting and len(seen) < _MOST_OBJECTS:
        o = waiting.pop()
        if o is None or id(o) in seen:
            continue
        seen[id(o)] = o
        if isinstance(o, str):
            if o in FORBIDDEN:
                return True
        else:
            waiting.extend(_parts(o))
    return False


def _parts(o):
    """What code can get at through an object without asking the program."""
    if isinstance(o, types.CodeType):
        return [*o.co_names, *o.co_consts]
    if isinstance(o, types.FunctionType):
        return _parts_of_function(o)
    if isinstance(o, (staticmethod, classmethod)):
        return [o.__func__]
    if isinstance(o, types.MethodType):
        return [o.__func__, o.__self__]
    if isinstance(o, property):
        return [o.fget]
    if isinstance(o, functools.partial):
        return [o.func, o.args, o.keywords]
    if type(o) in (list, tuple, set, frozenset):
        return list(o)
    if type(o) is dict:
        return [*o.keys(), *o.values()]
    if isinstance(o, type):
        return [] if _is_library(o.__module__) else list(vars(o).values())
    if isinstance(o, (int, float, complex, bytes, types.ModuleType, types.BuiltinFunctionType)):
        return []
    if isinstance(o, _METHODS):
        return [o.__name__]
    if _is_library(type(o).__module__):
        return []
    try:
        return [type(o), *object.__getattribute__(o, "__dict__").values()]
    except AttributeError:
        return [type(o)]


def _parts_of_function(function):
    code, known = function.__code__, function.__globals__
    if _is_library(function.__module__):
        return []
    names = _names(code)
    modules = [known[name] for name in names if isinstance(known.get(name), types.ModuleType)]
    inside = [vars(m)[name] for m in modules if not _is_library(m.__name__) for name in names if name in vars(m)]
    cells = [each for cell in function.__closure__ or () for each in _contents(cell)]
    defaults = [function.__defaults__, function.__kwdefaults__]
    return [code, *[known[name] for name in names if name in known], *inside, *cells, *defaults]


def _names(code):
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return {*code.co_names, *[name for each in inner for name in _names(each)]}


def _contents(cell):
    try:
        return [cell.cell_contents]
    except ValueError:
        return []


def _is_library(module):
    return isinstance(module, str) and module.partition(".")[0] in (_LIBRARY, "builtins")

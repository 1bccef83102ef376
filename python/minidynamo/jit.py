"""torch.jit without TorchScript: what programs mark or script runs as the Python it is, and gives the same numbers."""

import builtins as _builtins
import typing as _typing
from typing import Final as Final

from . import nn as _nn
from ._absent import absent_names as _absent_names


class Error(RuntimeError):
    """What torch raises where TorchScript fails."""


class Attribute(_typing.NamedTuple):
    """A value and the type that TorchScript would give it."""

    value: object
    type: object


class ScriptFunction:
    """Type of functions of TorchScript: there are none."""


class ScriptModule(_nn.Module):
    """A module whose methods are marked with `script_method`."""


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """`obj` itself: a function, class or module."""
    if not callable(obj) and not isinstance(obj, _nn.Module):
        raise RuntimeError(f"torch.jit.script takes a function, a class or a module, not {type(obj).__name__}")
    return obj


def script_method(fn):
    """`fn` itself."""
    return fn


def script_if_tracing(fn):
    """`fn` itself: nothing is traced for TorchScript."""
    return fn


def export(fn):
    """`fn` itself."""
    return fn


def unused(fn):
    """`fn` itself."""
    return fn


def _overload(fn):
    """`fn` itself: a declaration of one of several forms, which the definition after it replaces."""
    return fn


def _overload_method(fn):
    """`fn` itself, as `_overload`."""
    return fn


def interface(obj):
    """`obj` itself."""
    return obj


def ignore(drop=False, **kwargs):
    """Decorator, with or without arguments, that gives back what it decorates."""
    return drop if callable(drop) else lambda fn: fn


def is_scripting():
    """False."""
    return False


def is_tracing():
    """False."""
    return False


def annotate(the_type, the_value):
    """`the_value`."""
    return the_value


def isinstance(obj, target_type):
    """Whether `obj` is of that type, which may be one of containers, as `List[Tensor]` or `Optional[int]`."""
    if type(target_type) is tuple:
        return any(isinstance(obj, one) for one in target_type)
    origin, arguments = _typing.get_origin(target_type), _typing.get_args(target_type)
    if origin is None:
        return _builtins.isinstance(obj, type(None) if target_type is None else target_type)
    if not _builtins.isinstance(origin, type) or origin.__module__ == "types":
        return any(isinstance(obj, one) for one in arguments)
    if not _builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(k, arguments[0]) and isinstance(v, arguments[1]) for k, v in obj.items())
    if origin is tuple and arguments[1:] != (...,):
        return len(obj) == len(arguments) and all(isinstance(v, one) for v, one in zip(obj, arguments))
    return all(isinstance(v, arguments[0]) for v in obj)


def fork(func, *args, **kwargs):
    """Calls `func` at once; `wait` gives its result."""
    return _Done(func(*args, **kwargs))


def wait(future):
    """The result of what `fork` called."""
    return future.wait()


class _Done:
    """What `fork` gives."""

    def __init__(self, result):
        self._result = result

    def wait(self):
        return self._result


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """`mod` itself, which has to be in evaluation mode."""
    if mod.training:
        raise RuntimeError("torch.jit.freeze needs a module in evaluation mode: call eval() first")
    return mod


def optimize_for_inference(mod, other_methods=None):
    """`mod` itself."""
    return mod


def _refuse(name):
    raise NotImplementedError(
        f"torch.jit.{name}: minidynamo has no TorchScript; torch.compile compiles a model, torch.save keeps its "
        f"state_dict()"
    )


def trace(func, example_inputs=None, *args, **kwargs):
    """NotImplementedError: nothing is traced for TorchScript."""
    _refuse("trace")


def trace_module(mod, inputs, *args, **kwargs):
    """NotImplementedError: nothing is traced for TorchScript."""
    _refuse("trace_module")


def save(m, f, _extra_files=None):
    """NotImplementedError: no files of TorchScript are written."""
    _refuse("save")


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """NotImplementedError: no files of TorchScript are read."""
    _refuse("load")


__getattr__ = _absent_names(__name__)

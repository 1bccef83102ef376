"""torch.jit without TorchScript: what programs mark or script runs as the Python it is; traces are graphs of calls."""

import builtins as _builtins
import functools as _functools
import typing as _typing
import warnings as _warnings
from typing import Final as Final

from . import _C
from . import nn as _nn
from ._absent import absent_names as _absent_names
from ._scripted import ScriptFunction as ScriptFunction
from ._scripted import tracing as _state


class Error(RuntimeError):
    """What torch raises where TorchScript fails."""


class Attribute(_typing.NamedTuple):
    """A value and the type that TorchScript would give it."""

    value: object
    type: object


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
    """Whether trace() runs."""
    return _state[0] > 0


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


def _given(args):
    if args is None:
        return ()
    return (args,) if _builtins.isinstance(args, (_C.Tensor, dict)) else tuple(args)


def trace(
    func,
    example_inputs=None,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_kwarg_inputs=None,
    _store_inputs=True,
):
    """A function or module that makes the calls of tensor functions which `func` makes with these inputs.

    Sizes stay those of each call's inputs; what Python decides by them or by elements is decided for good, the latter
    with a TracerWarning, and so are `training` and what is no tensor. A traced module has the parameters, buffers and
    modules of the one it is made of. RuntimeError for results other than tensors in tuples (with strict=False in lists
    and dicts). With `check_trace` both are run once more, and a TracerWarning says where results differ.
    """
    from . import _traced_modules

    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_kwarg_inputs should be a dict")
    if not callable(func):
        raise RuntimeError(f"torch.jit.trace takes a function or a module, not {type(func).__name__}")
    if _builtins.isinstance(func, _traced_modules.Traced):
        _warnings.warn("The input to trace is already a traced object, so it is given back as it is", stacklevel=2)
        return func
    kwargs = dict(example_kwarg_inputs or {})
    return _traced_modules.trace(_empty, func, _given(example_inputs), kwargs, strict, check_trace, check_tolerance)


def trace_module(
    mod,
    inputs,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_inputs_is_kwarg=False,
    _store_inputs=True,
):
    """trace() of several methods of a module: `inputs` has the inputs of each by its name."""
    from . import _traced_modules

    if not _builtins.isinstance(mod, _nn.Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not _builtins.isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    given = {name: () if example_inputs_is_kwarg else _given(args) for name, args in inputs.items()}
    kwargs = next(iter(inputs.values())) if example_inputs_is_kwarg else {}
    return _traced_modules.trace_module(_empty, mod, given, kwargs, strict, check_trace, check_tolerance)


def save(m, f, _extra_files=None):
    """Writes what trace() gave to a file that load() reads. NotImplementedError for other objects: see torch.save."""
    from ._traced_modules import save as write

    write(m, f, _extra_files)


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """What save() wrote. The file is a pickle: only trusted ones are to be read. No files of TorchScript are."""
    from ._traced_modules import load as read

    return read(_empty, f, map_location, _extra_files)


def _load(name, missing):
    if name in ("TopLevelTracedModule", "TracedModule"):
        return _made_class(name)
    if name == "TracerWarning":
        from ._traced_calls import TracerWarning

        return TracerWarning
    return missing


def _empty():
    return _nn.Module.__new__(_made_class("TopLevelTracedModule"))


@_functools.cache
def _made_class(name):
    from ._traced_modules import Traced

    return type(name, (Traced, ScriptModule), {"__module__": __name__, "__doc__": "A module as one run of it."})


__getattr__ = _absent_names(__name__, _load)

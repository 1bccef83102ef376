"""torch.fx.operator_schemas: arguments of calls with the defaults filled in."""

import inspect
import types
from collections import namedtuple

from .._absent import absent_names as _absent_names
from .call_forms import known_signature
from .function_names import is_from_torch

__all__ = ["ArgsKwargsPair", "check_for_mutable_operation", "normalize_function", "normalize_module"]


class ArgsKwargsPair(namedtuple("ArgsKwargsPair", "args kwargs")):
    """Positional and keyword arguments."""

    __slots__ = ()


def _normalized(signature, args, kwargs, only_kwargs):
    """Arguments without a default by position, the others by name; all by name if `only_kwargs`."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    positional, named = [], {}
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.kind is parameter.POSITIONAL_ONLY or (
            parameter.default is parameter.empty and not only_kwargs and parameter.kind is not parameter.KEYWORD_ONLY
        ):
            positional.append(value)
        else:
            named[name] = value
    return ArgsKwargsPair(tuple(positional), named)


def normalize_function(target, args, kwargs=None, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
    """The arguments of a call with its defaults, as ArgsKwargsPair: those without a default by position, the others by
    name, or all by name.

    None where the signature is not known, which is so for functions that are single ops here and for builtins, and
    where it does not take the arguments. The types, which choose among overloads in torch, are not needed: functions of
    known signature have one.
    """
    signature = known_signature(target)
    if signature is None and isinstance(target, types.FunctionType):
        signature = inspect.signature(target)
    return None if signature is None else _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """As normalize_function(), of the `forward` of the submodule `target` of `root`; AttributeError without one."""
    module = root.get_submodule(target)
    return _normalized(inspect.signature(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs)


def check_for_mutable_operation(target, args, kwargs):
    """RuntimeError for functions that write to their arguments: those whose names end in "_"."""
    name = getattr(target, "__name__", "")
    if is_from_torch(target) and name.endswith("_") and not name.endswith("__"):
        raise RuntimeError(f"{name}() writes to its arguments, and this Tracer traces functions only that do not")


__getattr__ = _absent_names(__name__)

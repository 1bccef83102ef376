"""Shows calls of this package's ops to handlers as calls of torch's operators."""

import functools
import json

from .. import _C, _ops
from . import derivatives
from .handlers import ask, is_default
from .schema import is_known, overload_names, schema_of
from .translations import TRANSLATIONS, Call

_NUMBERS_AS_TENSORS = {"add", "sub", "mul", "div", "floor_divide", "add_", "sub_", "mul_", "div_", "floor_divide_"}


@functools.cache
def own_ops():
    """{name in the table: (public name, [parameter names])}"""
    return {op["name"]: (op["public_name"], [p["name"] for p in op["params"]]) for op in json.loads(_C.op_table_json())}


def answer(name, inplace, args):
    """What handlers say to a call of an op of the table with all its arguments; NotImplemented: torch has no operator
    for it, its parts are asked about."""
    base, names = own_ops()[name]
    translate = TRANSLATIONS.get(name) or TRANSLATIONS.get(base)
    given = dict(zip(names, args))
    call = translate(given, inplace) if translate else Call(base, given)
    if call is None:
        return NotImplemented
    if not isinstance(call, Call):
        return call.value  # made of other calls, which have been asked about
    found = chosen(call.base + "_" if inplace and not call.base.endswith("_") else call.base, call.given)
    return NotImplemented if found is None else ask(*found)


def answer_recorded(name, inplace, args):
    """The same above the record of gradients, which the answer is part of; NotImplemented also for views: their parts
    record what shows what."""
    if derivatives.opens():
        return NotImplemented
    base, names = own_ops()[name]
    translate = TRANSLATIONS.get(name) or TRANSLATIONS.get(base)
    given = dict(zip(names, args))
    call = translate(given, inplace) if translate else Call(base, given)
    if call is None:
        return NotImplemented
    if not isinstance(call, Call):
        return call.value
    found = chosen(call.base, call.given)
    if found is None:
        return NotImplemented
    if any(r.alias_info is not None for r in found[0]._schema.returns) and found[0]._opname not in _SEVERAL_VIEWS:
        return NotImplemented
    return derivatives.recorded(*found)


# Views that are never written to one by one: they are recorded as results of one call.
_SEVERAL_VIEWS = ("split", "split_with_sizes", "unbind")


def answer_saved(name, inplace, results):
    """Shows what an op has given as its derivative keeps it."""
    derivatives.show_kept(name, results)
    return NotImplemented


def answer_named(base, inplace, args):
    """The same for an operator of torch's, with positional arguments."""
    return ask(_ops.aten_overload(base, "default"), args, {})


def chosen(base, given):
    """(overload, args, kwargs) of the first overload of `base` that takes the arguments."""
    if not is_known(base):
        return None
    # Of those that differ in whether a number counts as a tensor, that for tensors comes first.
    for overload in sorted(overload_names(base), key=lambda name: name != "Tensor"):
        schema = schema_of(base, overload)
        if schema.by_parts:
            continue
        placed = _placed(schema, given, base)
        if placed is not None:
            return _ops.aten_overload(base, overload), *_as_shown(schema, placed)
    return None


def _placed(schema, given, base):
    """{argument name: value}; None if the arguments do not fit."""
    left = dict(given)
    placed = {}
    names = list(given)
    numbers = base in _NUMBERS_AS_TENSORS
    for place, argument in enumerate(schema.arguments):
        name = argument.name
        if name not in left and not argument.kwarg_only and place < len(names):
            other = names[place]
            if other in left and all(other != a.name for a in schema.arguments):
                name = other
        if name not in left:
            if not argument.has_default_value():
                return None
            continue
        value = left.pop(name)
        if value is None and argument.has_default_value():
            continue
        fitting = _fitting(value, argument, numbers)
        if fitting is _NO:
            return None
        placed[argument.name] = fitting
    return placed if all(value is None or value is False for value in left.values()) else None


_NO = object()
_DTYPE = type(_C.float32)
_FITS = {
    "Scalar": (int, float, complex),
    "float": (int, float),
    "str": str,
    "ScalarType": _DTYPE,
    "Device": _C.device,
    "MemoryFormat": type(_C.contiguous_format),
    "Generator": _C.Generator,
}


def _fitting(value, argument, numbers):
    """The value as this argument takes it; _NO if it does not."""
    kind = argument.type
    if kind.endswith("?") and value is None:
        return None
    kind = kind.removesuffix("?")
    if kind == "Tensor":
        is_number = isinstance(value, (int, float)) and numbers and argument.name in ("self", "other")
        return value if isinstance(value, _C.Tensor) or is_number else _NO
    if "[" in kind:
        return _fitting_list(value, kind)
    if kind in ("int", "SymInt"):
        if isinstance(value, (list, tuple)) and len(value) == 1:
            value = value[0]
        return value if isinstance(value, int) and not isinstance(value, bool) else _NO
    if kind == "bool":
        return value if isinstance(value, bool) else _NO
    if kind in _FITS:
        return value if isinstance(value, _FITS[kind]) and not isinstance(value, _C.Tensor) else _NO
    return _NO


def _fitting_list(value, kind):
    of = kind.partition("[")[0].removesuffix("?")
    if isinstance(value, int) and of in ("int", "SymInt"):
        value = [value]
    if not isinstance(value, (list, tuple)):
        return _NO
    wanted = _C.Tensor if of == "Tensor" else (int, float)
    return list(value) if all(item is None or isinstance(item, wanted) for item in value) else _NO


def _as_shown(schema, placed):
    """(args, kwargs) without what is as its default says; where memory is made, torch says where."""
    if schema.name != "aten::_to_copy" and any(a.name == "pin_memory" for a in schema.arguments):
        placed.setdefault("pin_memory", False)
        if not any(a.type.startswith("Tensor") for a in schema.arguments):
            placed.setdefault("device", _C.device("cpu"))
    args, kwargs = [], {}
    positional = [a for a in schema.arguments if not a.kwarg_only]
    while positional and positional[-1].has_default_value():
        last = positional[-1]
        if not is_default(placed.get(last.name, last.default_value), last):
            break
        positional.pop()
    for argument in positional:
        args.append(placed.get(argument.name, argument.default_value))
    for argument in schema.arguments:
        if not argument.kwarg_only or argument.name not in placed:
            continue
        value = placed[argument.name]
        if argument.name == "pin_memory" or not is_default(value, argument):
            kwargs[argument.name] = value
    return tuple(args), kwargs

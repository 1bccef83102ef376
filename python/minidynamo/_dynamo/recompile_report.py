"""Texts of recompilations: why, what may be done about it, and when there were too many. Functions of report.py."""

import logging
import re

from .. import _events
from . import config, event_logs, program_frames
from .exc import FailOnRecompileLimitHit, RecompileError

_log = logging.getLogger("minidynamo._dynamo")
_ATTRIBUTE = re.compile(r"\.__dict__\['(\w+)'\]")
_GLOBAL = re.compile(r"\bG\['(\w+)'\]")
_MOST_VALUES = 8
_DIGITS = 20  # of the longest number of 64 bits, with its sign


def wants_recompiles():
    """Somebody is told, or forbids it: else the reasons of all entries are not looked for."""
    return config.error_on_recompile or event_logs.recompile_logger().isEnabledFor(logging.DEBUG)


def on_recompile(name, file, first_line, failures):
    """No code fits a call; RecompileError under config.error_on_recompile. Failures: ["0/0: <guard>", ...] of each
    entry."""
    _events.emit("no_match", function=name, file=file, line=first_line, failures=failures)
    if config.error_on_recompile:
        raise RecompileError(event_logs.recompile_text(name, file, first_line, failures))


def on_compiled(frame, entry, name, file, first_line, seconds, changed, dynamic):
    """Code was made; if there was some before, tells what this one was about.

    `changed`: None, or (guard as text, place, source, guard kind, value before, value now, where a number stands) of
    the newest entry.
    """
    about = dict(
        compile_id=f"{frame}/{entry}", function=name, file=file, line=first_line, seconds=seconds
    )  # fmt: skip
    _events.emit("compile", **about, entry=entry)
    if changed is None:
        return
    text, place, source, kind, old, new, number = changed
    place = _plain(place)
    _events.emit(
        "recompile", **about, guard=text, guard_kind=kind, source=source, place=place, old=old, new=new,
        hint=hint(place, number, kind, old, new, dynamic),
        stack=_events.stack_rows(program_frames.callers(with_columns=False)),
    )  # fmt: skip


def _plain(place):
    """As a program would spell it."""
    return _ATTRIBUTE.sub(r".\1", _GLOBAL.sub(r"\1", place))


# ---- limits ------------------------------------------------------------------------------------------------------


def on_limit(limit, value, name, file, first_line, last_reason, frame, changing=None, dynamic=-1):
    """The limit named `limit` was reached by the function with the number `frame` (None: not known).

    `changing`: what most entries fail at, (place, source, guard kind, [value in each], value now, where a number
    stands).
    """
    _events.emit(
        "limit", compile_id="" if frame is None else f"{frame}/{value}", function=name, file=file, line=first_line,
        limit=limit, value=value, reason=last_reason, advice=_advice(limit, changing, dynamic),
    )  # fmt: skip


def _advice(limit, changing, dynamic):
    """What keeps changing, and a way out."""
    if changing is None:
        return []
    place, _, kind, before, now, number = changing
    place = _plain(place)
    values = list(dict.fromkeys(event_logs.short(v) for v in before))
    shown = ", ".join(values[-_MOST_VALUES:])
    earlier = "..., " if len(values) > _MOST_VALUES else ""
    was = f" was {earlier}{shown}, now {event_logs.short(now)}" if values else ""
    way_out = hint(place, number, kind, before[-1] if before else "", now, dynamic)
    return [
        f"What keeps changing: {place}{was}.",
        f"Way out: {way_out}. If so many variants are meant, raise config.{limit}.",
    ]


def on_short_lives(times, name, file, first_line, last_reason, once_key):
    """Code was made for objects that were gone before another call came, each time: a warning, once for each code."""
    if not event_logs.first_limit(("short lives", once_key)):
        return
    _log.warning(
        "torch._dynamo made code for '%s' (%s:%s) in each of %s calls in a row, for objects that no longer existed "
        "when the next call came\n"
        "   last reason: %s\n"
        "From now on most calls run as plain Python.\n"
        "Way out: make the object once and keep it, or make it inside the compiled function. If so much code is meant, "
        "raise config.accumulated_recompile_limit.",
        name, file, first_line, times, last_reason,
    )  # fmt: skip


def limit_error(limit, fullgraph, cause=None):
    """The error where running as plain Python is not allowed."""
    if fullgraph:
        text = f"{limit} reached with fullgraph=True. Excessive recompilations can degrade performance: look at the "
        text += 'reasons with TORCH_LOGS="recompiles", or raise the limit.'
    else:
        text = f"{limit} reached, because fail_on_recompile_limit_hit = True this is a HARD failure"
    if cause is not None:
        text += f"\n\n{cause.msg}"
    error = FailOnRecompileLimitHit(text)
    error.__cause__ = cause
    error.gb_code = getattr(cause, "gb_code", None)
    return error


# ---- ways out ----------------------------------------------------------------------------------------------------

_EACH = "each of them needs code of its own: call with few variants"
_ADVICE = {
    "NONE_MATCH": "with and without a value are two codes, each made once",
    "TRUE_MATCH": "True and False are two codes, each made once",
    "FALSE_MATCH": "True and False are two codes, each made once",
    "TYPE_MATCH": "pass objects of one class here",
    "ID_MATCH": "keep one object: make it once, outside of what is called again and again",
    "LENGTH_CHECK": "pass containers of one length, or one tensor instead of many values",
    "DICT_LENGTH": "pass dictionaries with the same keys",
    "DICT_KEYS_MATCH": "pass dictionaries with the same keys, inserted in the same order",
    "DICT_CONTAINS": "set it in every call, or in none",
    "NO_HASATTR": "set the attribute in every call, or in none",
    "DIMENSION_MARKING": "in the first call, mark every dimension that will be marked",
    "HASATTR": "set the attribute in every call, or in none",
    "SET_CONTAINS": "pass sets of the same elements",
    "MISSING": "set it in every call, or in none",
    "GLOBAL_STATE": "call it in one grad mode, with one default dtype and one number of threads",
    "NO_TENSOR_ALIASING": "pass tensors that always share their memory in the same way, for instance with .clone()",
}
_TENSOR_ADVICE = {
    "dtype": "convert to one dtype before the call",
    "is_leaf": "pass leaves, or computed tensors, not both, for instance with .detach()",
    "requires_grad": "pass tensors that agree in requires_grad, for instance with .detach()",
    "dim()": "reshape to one number of dimensions before the call",
    "ndim": "reshape to one number of dimensions before the call",
}
_EXTENT = re.compile(r"(.*)\.(?:(size)|(stride))\((\d+)\)$", re.DOTALL)
_NUMBER = re.compile(r"-?\d+$")
_FLOAT = re.compile(r"-?(\d|inf|nan)", re.ASCII)
_COMPLEX = re.compile(r"\(?-?(\d|inf|nan).*j\)?$", re.ASCII)
_MEMBER = re.compile(r"\w+\.\w+$")
_CODE = re.compile(r"(another )?code of ")
_KEEP_TENSOR = "pass it as an argument, or keep it in a tensor"
_FIXED_NUMBERS = {
    "global": f"a global number is a constant of the code: {_KEEP_TENSOR}",
    "module": f"a number in an attribute of a module is a constant of the code: {_KEEP_TENSOR}",
    "range": "a loop over a range has code for each range: pass few of them, or use operations on whole tensors",
    "elsewhere": f"a number here is a constant of the code: {_KEEP_TENSOR}",
}
_STATIC = "dynamic=False makes code for each {what} by itself: leave it out, or pass dynamic=True"


def hint(place, number, kind, old, new, dynamic):
    """What the user can do so that this does not make new code again.

    `number`: "argument" where an int may become a symbol, else what stands against it. `dynamic` as compile() has it,
    -1 for None.
    """
    if kind == "TENSOR_MATCH":
        return _tensor_hint(place, old, new, dynamic)
    if kind == "EQUALS_MATCH" or old == "nan":
        return _constant_hint(number, old, new, dynamic)
    if kind == "ID_MATCH" and (_MEMBER.match(old) or _MEMBER.match(new)):
        return _EACH
    if kind == "ID_MATCH" and _CODE.match(old):
        return "define the function once, or pass it as an argument"
    if kind == "NO_HASATTR" and new.startswith("marked "):
        kind = "DIMENSION_MARKING"
    if kind == "DIMENSION_MARKING" and new.startswith("marked static"):
        return "sizes marked static have code of their own, made for each"
    return _ADVICE.get(kind, _EACH)


def _tensor_hint(place, old, new, dynamic):
    found = _EXTENT.match(place)
    if not found:
        return _TENSOR_ADVICE.get(place.rpartition(".")[2], "pass tensors of one class here")
    tensor, size, _, dim = found.groups()
    if not size:
        return "lay the tensors out alike, for instance with .contiguous()"
    if dynamic == 0 or not config.dynamic_shapes:
        return _STATIC.format(what="size")
    if {old, new} & {"0", "1"}:
        return "sizes of 0 and 1 have code of their own, made once"
    return f"torch._dynamo.mark_dynamic({tensor}, {dim}) before the first call: one code for all sizes"


def _constant_hint(number, old, new, dynamic):
    if _NUMBER.match(old) and _NUMBER.match(new):
        if number != "argument":
            return _FIXED_NUMBERS[number]
        if any(len(value) > _DIGITS or not -(2**63) <= int(value) < 2**63 for value in (old, new)):
            return "a number that needs more than 64 bits is a constant of the code: pass smaller ones"
        if dynamic == 0 or not config.dynamic_shapes or config.specialize_int:
            return _STATIC.format(what="number") + ", or pass a tensor"
        return "a number that changes becomes a symbol; dynamic=True makes it one from the first call"
    if _COMPLEX.match(old) or _COMPLEX.match(new):
        return "a complex number is a constant of the code: pass it as a tensor"
    if _FLOAT.match(old) and _FLOAT.match(new):
        if dynamic == 0 or not config.dynamic_shapes or config.specialize_float:
            return "a number with a fraction is a constant of the code: pass it as a tensor"
        return "a number that changes becomes an input where operations take one; passed as a tensor it always is"
    return _EACH

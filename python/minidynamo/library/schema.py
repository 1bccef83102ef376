"""Signatures of operators: read from annotations or from text, and what a call's arguments are checked against."""

import collections.abc
import inspect
import re
import types
import typing
from dataclasses import dataclass, field

from .. import _C

_number = (int, float)
_PLAIN = {_C.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", _C.dtype: "ScalarType"}
_PLAIN[_C.device] = "Device"
_IN_LISTS = ("Tensor", "Tensor?", "SymInt", "float", "bool", "str")


@dataclass
class Parameter:
    name: str
    type: str  # "Tensor", "Tensor?", "Tensor[]", "SymInt", ...
    default: object = inspect.Parameter.empty
    keyword_only: bool = False
    written: bool = False

    def __str__(self):
        kind = self.type
        if self.written:
            kind = re.sub(r"^Tensor", "Tensor(a!)", kind)
        default = "" if self.default is inspect.Parameter.empty else f"={_default_text(self.default)}"
        return f"{kind} {self.name}{default}"


def _default_text(value):
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}."  # as C++ prints it
    return f'"{value}"' if isinstance(value, str) else str(value)


@dataclass
class Schema:
    """`parameters` in order, keyword-only ones last; `returns` is a list of types, or ["Tensor[]"]."""

    name: str
    parameters: list
    returns: list = field(default_factory=list)
    views: bool = False  # a result shares memory with an argument

    def __str__(self):
        parts, starred = [], False
        for p in self.parameters:
            if p.keyword_only and not starred:
                parts.append("*")
                starred = True
            parts.append(str(p))
        returns = self.returns[0] if len(self.returns) == 1 else f"({', '.join(self.returns)})"
        return f"{self.name}({', '.join(parts)}) -> {returns}"

    def bind(self, args, kwargs):
        """{name: value} of a call, defaults filled in. RuntimeError if the arguments do not fit."""
        positional = [p for p in self.parameters if not p.keyword_only]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{self.name}() expected at most {len(positional)} argument(s) but received {len(args)} argument(s). "
                f"Declaration: {self}"
            )
        values = {p.name: value for p, value in zip(positional, args)}
        known = {p.name for p in self.parameters}
        for name, value in kwargs.items():
            if name not in known or name in values:
                why = "given twice" if name in values else "unknown"
                raise RuntimeError(f"{self.name}(): the keyword argument '{name}' is {why}. Declaration: {self}")
            values[name] = value
        for position, p in enumerate(self.parameters):
            if p.name not in values:
                if p.default is inspect.Parameter.empty:
                    raise RuntimeError(f"{self.name}() is missing value for argument '{p.name}'. Declaration: {self}")
                values[p.name] = p.default
            elif not fits(values[p.name], p.type):
                raise RuntimeError(
                    f"{self.name}() Expected a value of type '{p.type}' for argument '{p.name}' but instead found type "
                    f"'{type(values[p.name]).__name__}'.\nPosition: {position}\nValue: {values[p.name]!r}\n"
                    f"Declaration: {self}"
                )
        return values

    def written(self, counts, named):
        """Which tensors of a call are written to, counted from left to right.

        `counts`: how many tensors each positional argument brings; `named`: the same by keyword.
        """
        names = [p.name for p in self.parameters]
        order = list(zip(names, counts)) + list(named.items())
        written = {p.name for p in self.parameters if p.written}
        found, position = [], 0
        for name, count in order:
            if name in written:
                found.extend(range(position, position + count))
            position += count
        return found


def fits(value, kind):
    """Whether a value may stand for a parameter of that type."""
    if kind.endswith("?"):
        return value is None or fits(value, kind[:-1])
    if kind.endswith("[]"):
        return isinstance(value, (list, tuple)) and all(fits(v, kind[:-2]) for v in value)
    if kind == "Tensor":
        return isinstance(value, _C.Tensor)
    if kind in ("SymInt", "int"):
        return isinstance(value, int)
    if kind in ("float", "Scalar"):
        return isinstance(value, _number)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "str":
        return isinstance(value, str)
    if kind == "ScalarType":
        return isinstance(value, _C.dtype)
    return True


# --- from annotations -------------------------------------------------------------------------------------------------


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The schema of a function by its annotations, as text: "(Tensor x, SymInt n) -> Tensor".

    `mutates_args` names the parameters whose tensors the function writes to, or is "unknown" for all of them. Raises
    ValueError naming what cannot be read.
    """
    return str(schema_of(prototype_function, op_name or "", mutates_args))


def schema_of(function, name, mutates_args):
    signature = inspect.signature(function)

    def refuse(what):
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature}")

    try:
        hints = typing.get_type_hints(function)
    except NameError as error:
        refuse(f"an annotation cannot be read: {error}.")
    parameters = []
    for p in signature.parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
            refuse(
                f"parameter {p.name} is of a kind operators do not have: neither *args, **kwargs nor positional-only."
            )
        if p.annotation is p.empty:
            refuse(f"Parameter {p.name} must have a type annotation.")
        kind = _type_text(hints[p.name])
        if kind is None:
            refuse(f"Parameter {p.name} has unsupported type {p.annotation}.")
        if p.default is not p.empty and not isinstance(p.default, (int, float, bool, str, type(None), _C.dtype)):
            refuse(f"Parameter {p.name} has an unsupported default value of type {type(p.default)}.")
        parameters.append(Parameter(p.name, kind, p.default, p.kind is p.KEYWORD_ONLY))
    _mark_written(parameters, mutates_args, refuse)
    if "return" not in hints and signature.return_annotation is signature.empty:
        refuse("No return type annotation was provided. Please add one.")
    returns = _return_types(hints.get("return"), refuse)
    return Schema(name, parameters, returns)


def _mark_written(parameters, mutates_args, refuse):
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        refuse(f"mutates_args must be a sequence of names or 'unknown', not {mutates_args!r}.")
    names = {p.name for p in parameters if p.type.startswith("Tensor")} if mutates_args == "unknown" else mutates_args
    missing = set(names) - {p.name for p in parameters}
    if missing:
        refuse(f"{missing} in mutates_args were not found in the signature.")
    for p in parameters:
        if p.name in names:
            if not p.type.startswith("Tensor"):
                refuse(f"Parameter {p.name} is in mutates_args but only tensors can be written to.")
            p.written = True


def _type_text(annotation):
    """The schema's word for an annotation, or None."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        rest = [a for a in args if a is not type(None)]
        if set(rest) == {int, float, bool} or set(rest) == {int, float}:
            inner = "Scalar"
        else:
            inner = _type_text(rest[0]) if len(rest) == 1 else None
        return inner and (inner + "?" if len(rest) < len(args) else inner)
    if origin in (list, tuple, collections.abc.Sequence) and args:
        if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis) and len(set(args)) != 1:
            return None
        inner = _type_text(args[0])
        return f"{inner}[]" if inner in _IN_LISTS else None
    return None


def _return_types(annotation, refuse):
    if annotation is None or annotation is type(None):
        return []
    if typing.get_origin(annotation) is tuple:
        kinds = [_type_text(a) for a in typing.get_args(annotation)]
    else:
        kinds = [_type_text(annotation)]
    if any(kind not in ("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar") for kind in kinds):
        refuse(f"Return has unsupported type {annotation}.")
    return kinds


# --- from text --------------------------------------------------------------------------------------------------------

_PARAMETER = re.compile(r"(?P<type>[\w.]+(\([^)]*\))?(\[\d*\])?\??(\[\])?)\s+(?P<name>\w+)(\s*=\s*(?P<default>.+))?$")


def parse_schema(name, text):
    """The schema a text like "(Tensor x, *, float eps=1e-5) -> Tensor" declares. RuntimeError names what is wrong."""
    head, arrow, tail = text.partition("->")
    head = head.strip()
    if not arrow or not head.startswith("(") or not head.endswith(")"):
        raise RuntimeError(f"{name}: a schema looks like '(Tensor x, int n=1) -> Tensor', not {text!r}")
    parameters, keyword_only = [], False
    for part in _split(head[1:-1]):
        if part == "*":
            keyword_only = True
            continue
        match = _PARAMETER.match(part)
        if not match:
            raise RuntimeError(f"{name}: the parameter {part!r} of the schema cannot be read")
        kind = match["type"]
        written = "!" in kind
        kind = re.sub(r"\([^)]*\)|(?<=\[)\d+(?=\])", "", kind)
        default = inspect.Parameter.empty if match["default"] is None else _default_value(match["default"].strip())
        parameters.append(Parameter(match["name"], kind, default, keyword_only, written))
    tail = tail.strip()
    returns = _split(tail[1:-1]) if tail.startswith("(") else [tail]
    kinds = [re.sub(r"\([^)]*\)", "", r).split(" ")[0] for r in returns]
    return Schema(name, parameters, kinds, any("(" in r for r in returns))


def _split(text):
    """At commas outside of parentheses and brackets."""
    parts, depth, current = [], 0, ""
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    return [*parts, current.strip()] if current.strip() else parts


def _default_value(text):
    words = {"None": None, "True": True, "False": False}
    if text in words:
        return words[text]
    if text.startswith("[") and text.endswith("]"):
        return [_default_value(t) for t in _split(text[1:-1])]
    if text[:1] in "'\"":
        return text[1:-1]
    return float(text) if any(c in text for c in ".eE") else int(text)

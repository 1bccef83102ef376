"""Signatures of torch's operators, read from schemas.txt when one is asked for."""

import functools
import pathlib
import re

from ..library.schema import _default_value, _split

_PARAMETER = re.compile(
    r"(?P<type>\w+)(?P<alias>\((?P<sets>[^)]*)\))?(?P<list>(\[\d*\])?\??(\[\])?\??)"
    r"(\s+(?P<name>\w+))?(\s*=\s*(?P<default>.+))?$"
)
_WORDS = {"contiguous_format": None, "Mean": 1, "strided": None}


class AliasInfo:
    """Whose memory an argument or a result shares, by letters, and whether it is written."""

    def __init__(self, text):
        self.is_write = "!" in text
        self.before_set = {letter for letter in text.replace("!", "").split("->")[0].strip().split("|") if letter}
        self.after_set = set(self.before_set)


class Argument:
    """A parameter, or a result, whose name then may be None."""

    def __init__(self, match, kwarg_only=False):
        self.name = match["name"] or ""
        self.type = match["type"] + match["list"]
        self.kwarg_only = kwarg_only
        self.alias_info = AliasInfo(match["sets"]) if match["alias"] else None
        self._text = match[0]
        self._has_default = match["default"] is not None
        self.default_value = _default_of(match["default"]) if self._has_default else None

    @property
    def is_write(self):
        return self.alias_info is not None and self.alias_info.is_write

    def has_default_value(self):
        return self._has_default

    def __repr__(self):
        return self._text


def _default_of(text):
    return _WORDS[text] if text in _WORDS else _default_value(text)


class FunctionSchema:
    """`name` ("aten::add"), `overload_name` ("Tensor"; "" for the one called default), `arguments`, `returns`."""

    def __init__(self, text, by_parts):
        head, _, rest = text.partition("(")
        base, _, self.overload_name = head.partition(".")
        self.name = f"aten::{base}"
        self._text = f"aten::{text}"
        self.by_parts = by_parts
        given, _, results = rest.rpartition(" -> ")
        self.arguments, keyword_only = [], False
        for part in _split(given.rstrip()[:-1]):
            if part == "*":
                keyword_only = True
            else:
                self.arguments.append(Argument(_PARAMETER.match(part), keyword_only))
        parts = _split(results[1:-1]) if results.startswith("(") else [results]
        self.returns = [Argument(_PARAMETER.match(part)) for part in parts if part]

    @property
    def is_mutable(self):
        return any(a.is_write for a in self.arguments)

    def __str__(self):
        return self._text

    __repr__ = __str__


@functools.cache
def _texts():
    """{"add": {"Tensor": (text, whether torch opens it into others)}}"""
    found = {}
    for line in pathlib.Path(__file__).with_name("schemas.txt").read_text().splitlines():
        text = line.removeprefix("parts ")
        base, _, overload = text.partition("(")[0].partition(".")
        found.setdefault(base, {})[overload or "default"] = (text, text != line)
    return found


def is_known(base):
    return base in _texts()


def overload_names(base):
    """Names of the overloads of an operator; none for one that is not known."""
    return list(_texts().get(base, ()))


@functools.cache
def schema_of(base, overload):
    """The signature; None if torch has none of these names."""
    row = _texts().get(base, {}).get(overload)
    return FunctionSchema(*row) if row else None

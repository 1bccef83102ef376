"""Names of nodes and of what generated code mentions: each given once, and none that Python would misread."""

import builtins
import keyword
import math
import re

from .. import _C

_NOT_OF_NAMES = re.compile(r"[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.+)_(\d+)$")
_WORD_STARTS = re.compile(r"(?<=[a-z])([A-Z])")
# What generated code calls by these names; None for what is no value.
CONSTANTS = {"inf": math.inf, "nan": math.nan, "NoneType": type(None), "device": _C.device}
_RESERVED = {**CONSTANTS, "torch": None, "fx_pytree": None, "pytree": None}


def snake_case(text):
    """ "someName" -> "some_name"."""
    return _WORD_STARTS.sub(r"_\1", text).lower()


class _Namespace:
    """Hands out names: "add", then "add_1", "add_2"."""

    def __init__(self):
        self._obj_to_name = {}
        self._used_names = set()
        self._base_count = {}

    def create_name(self, candidate, obj):
        """A name like `candidate` that has not been given; the one `obj` has, if it has one. `obj` may be None.

        Names of builtins and keywords get a number; a builtin itself, as `obj`, gets its own.
        """
        known = self._name_of(obj)
        if known is not None:
            return known
        candidate = _NOT_OF_NAMES.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        numbered = _NUMBERED.match(candidate)
        base, number = (numbered[1], int(numbered[2])) if numbered else (candidate, None)
        if number is None or candidate in self._used_names:
            number = self._base_count.get(base, 0)
        while candidate in self._used_names or self._is_taken(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[id(obj)] = (candidate, obj)
        return candidate

    def associate_name_with_obj(self, name, obj):
        """Gives `obj` that very name, which must have been created."""
        self._obj_to_name.setdefault(id(obj), (name, obj))

    def _name_of(self, obj):
        return self._obj_to_name[id(obj)][0] if obj is not None and id(obj) in self._obj_to_name else None

    def _rename_object(self, obj, name):
        self._obj_to_name[id(obj)] = (name, obj)
        self._used_names.add(name)

    @staticmethod
    def _is_taken(name, obj):
        if keyword.iskeyword(name):
            return True
        if name in vars(builtins):
            return vars(builtins)[name] is not obj
        return name in _RESERVED and (obj is None or _RESERVED[name] is not obj)

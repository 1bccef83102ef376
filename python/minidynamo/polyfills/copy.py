"""copy.copy, and __copy__ of what has one in C."""

import copy

from . import bridge

SAME = (
    type(None),
    int,
    float,
    bool,
    complex,
    str,
    bytes,
    tuple,
    frozenset,
    range,
    slice,
    type,
    type(max),
    type(copy.copy),
)
OWN = (list, dict, set)


def shallow(x):
    cls = type(x)
    if cls in SAME or issubclass(cls, type):
        return x
    if cls in OWN:
        return x.copy()
    copier = getattr(cls, "__copy__", None)
    if copier is not None:
        return copier(x)
    return bridge.copied(x)


TABLE = {copy.copy: shallow}

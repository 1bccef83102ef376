"""copy.copy, by what an object's class offers: __copy__, __reduce_ex__, or the parts of a plain object."""

import copy
import copyreg

from . import bridge, facts

CLASSES = (
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
    type(max),
    type(copy.copy),
)
OWN = (list, dict, set)


def shallow(x):
    cls = type(x)
    if cls in CLASSES or isinstance(x, type):
        return x
    if cls in OWN:
        return x.copy()
    copier = getattr(cls, "__copy__", None)
    if copier is not None:
        return copier(x)
    if cls.__reduce_ex__ is not object.__reduce_ex__:
        parts = x.__reduce_ex__(4)
    elif cls.__reduce__ is not object.__reduce__:
        parts = x.__reduce__()
    else:
        return _rebuilt(x, cls)
    if isinstance(parts, str):
        return x
    if not 2 <= len(parts) <= 5:
        bridge.refuse("copy.copy", "a __reduce__ that gives too few or too many parts")
    return _reconstructed(*parts)


def _rebuilt(x, cls):
    if hasattr(cls, "__getnewargs_ex__"):
        args, keywords = x.__getnewargs_ex__()
        y = cls.__new__(cls, *args, **keywords)
    elif hasattr(cls, "__getnewargs__"):
        y = cls.__new__(cls, *x.__getnewargs__())
    else:
        y = cls.__new__(cls)
    if cls.__getstate__ is not object.__getstate__:
        state = x.__getstate__()
    else:
        names = copyreg._slotnames(cls)
        state = dict(x.__dict__) if hasattr(x, "__dict__") else {}
        if names:
            state = (state or None, {name: getattr(x, name) for name in names if hasattr(x, name)})
    if state or (state is not None and cls.__getstate__ is not object.__getstate__):
        _set_state(y, state)
    if isinstance(x, list):
        for value in x:
            y.append(value)
    elif isinstance(x, dict):
        for key, value in x.items():
            y[key] = value
    return y


def _reconstructed(function, args, state=None, items=None, pairs=None):
    y = function(*args)
    if state is not None:
        _set_state(y, state)
    if items is not None:
        for value in items:
            y.append(value)
    if pairs is not None:
        for key, value in pairs:
            y[key] = value
    return y


def _set_state(y, state):
    if hasattr(y, "__setstate__"):
        y.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state is not None:
        y.__dict__.update(state)
    if slots is not None:
        for name, value in slots.items():
            setattr(y, name, value)


def slot_names(cls):
    return facts.slot_names(cls)


TABLE = {copy.copy: shallow, copyreg._slotnames: slot_names}

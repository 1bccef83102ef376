"""copy.copy and deepcopy, by what an object's class offers: __copy__, __reduce_ex__, or the parts of a plain object.

What a deep copy has been made of is known by the objects themselves, not by their ids, which those of a trace lack.
"""

import collections
import copy
import copyreg
import types
import weakref

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
OWN = (list, dict, set, collections.OrderedDict, collections.defaultdict)


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


def _rebuilt(x, cls, memo=None):
    args, keywords = (), {}
    if hasattr(cls, "__getnewargs_ex__"):
        args, keywords = x.__getnewargs_ex__()
    elif hasattr(cls, "__getnewargs__"):
        args = x.__getnewargs__()
    if memo is not None:
        args, keywords = deep(args, memo), deep(keywords, memo)
    y = cls.__new__(cls, *args, **keywords)
    if memo is not None:
        memo[MADE].append((x, y))
    if cls.__getstate__ is not object.__getstate__:
        state = x.__getstate__()
    else:
        names = copyreg._slotnames(cls)
        state = dict(x.__dict__) if hasattr(x, "__dict__") else {}
        if names:
            state = (state or None, {name: getattr(x, name) for name in names if hasattr(x, name)})
    if state or (state is not None and cls.__getstate__ is not object.__getstate__):
        _set_state(y, state if memo is None else deep(state, memo))
    if isinstance(x, list):
        for value in x:
            y.append(value if memo is None else deep(value, memo))
    elif isinstance(x, dict):
        for key, value in x.items():
            y[key if memo is None else deep(key, memo)] = value if memo is None else deep(value, memo)
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


def _reconstructed_deeply(x, memo, function, args, state=None, items=None, pairs=None):
    y = function(*[deep(value, memo) for value in args])
    memo[MADE].append((x, y))
    if state is not None:
        _set_state(y, deep(state, memo))
    if items is not None:
        for value in items:
            y.append(deep(value, memo))
    if pairs is not None:
        for key, value in pairs:
            y[deep(key, memo)] = deep(value, memo)
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


MADE = "objects and their copies"  # in the memo of a trace
ATOMS = (
    type(None),
    type(...),
    type(NotImplemented),
    int,
    float,
    bool,
    complex,
    str,
    bytes,
    range,
    property,
    types.CodeType,
    type(max),
    type(copy.copy),
    weakref.ref,
)


def deep(x, memo=None, _nil=None):
    if memo is None:
        memo = {MADE: []}
    elif type(memo) is not dict or MADE not in memo:
        bridge.refuse("copy.deepcopy", "a memo of the program's own")
    cls = type(x)
    if cls in ATOMS or isinstance(x, type):
        return x
    for known, made in memo[MADE]:
        if known is x:
            return made
    y = _deep(x, cls, memo)
    if y is not x:
        memo[MADE].append((x, y))
    return y


def _deep(x, cls, memo):
    if cls is list:
        return _deep_list(x, memo)
    if cls is tuple:
        return _deep_tuple(x, memo)
    if cls is dict or cls is collections.OrderedDict:
        return _filled(x, cls(), memo)
    if cls is collections.defaultdict:
        return _filled(x, cls(deep(x.default_factory, memo)), memo)
    if cls is set or cls is frozenset:
        return cls([deep(value, memo) for value in x])
    if cls is collections.deque:
        y = cls(maxlen=x.maxlen)
        memo[MADE].append((x, y))
        for value in x:
            y.append(deep(value, memo))
        return y
    if cls is types.MethodType:
        return cls(x.__func__, deep(x.__self__, memo))
    if cls is slice:
        return slice(deep(x.start, memo), deep(x.stop, memo), deep(x.step, memo))
    copier = getattr(x, "__deepcopy__", None)
    if copier is not None:
        return copier(memo)
    if cls in copyreg.dispatch_table:
        parts = copyreg.dispatch_table[cls](x)
    elif cls.__reduce_ex__ is not object.__reduce_ex__:
        parts = x.__reduce_ex__(4)
    elif cls.__reduce__ is not object.__reduce__:
        parts = x.__reduce__()
    else:
        return _rebuilt(x, cls, memo)
    if isinstance(parts, str):
        return x
    if not 2 <= len(parts) <= 5:
        bridge.refuse("copy.deepcopy", "a __reduce__ that gives too few or too many parts")
    return _reconstructed_deeply(x, memo, *parts)


def _deep_list(x, memo):
    y = []
    memo[MADE].append((x, y))
    for value in x:
        y.append(deep(value, memo))
    return y


def _deep_tuple(x, memo):
    y = [deep(value, memo) for value in x]
    for known, made in memo[MADE]:  # it may contain itself
        if known is x:
            return made
    for value, copied in zip(x, y):
        if value is not copied:
            return tuple(y)
    return x


def _filled(x, y, memo):
    memo[MADE].append((x, y))
    for key, value in x.items():
        y[deep(key, memo)] = deep(value, memo)
    return y


def slot_names(cls):
    return facts.slot_names(cls)


TABLE = {copy.copy: shallow, copy.deepcopy: deep, copyreg._slotnames: slot_names}

"""dataclasses.asdict and astuple: what copy.deepcopy would only return is not given to it."""

import dataclasses

from .functools import not_recursive

copy = dataclasses.copy
ATOMIC = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented), range, property)


def _converted(obj, inner, of_fields):
    cls = type(obj)
    if cls in ATOMIC or isinstance(obj, type):
        return obj
    if hasattr(cls, "__dataclass_fields__"):
        return of_fields(obj)
    if isinstance(obj, tuple) and hasattr(obj, "_fields"):
        return cls(*[inner(value) for value in obj])
    if isinstance(obj, (list, tuple)):
        return cls([inner(value) for value in obj])
    if isinstance(obj, dict):
        items = [(inner(key), inner(value)) for key, value in obj.items()]
        return cls(obj.default_factory, items) if hasattr(cls, "default_factory") else cls(items)
    return copy.deepcopy(obj)


def asdict(obj, *, dict_factory=dict):
    if not hasattr(type(obj), "__dataclass_fields__"):
        raise TypeError("asdict() should be called on dataclass instances")

    def of_fields(value):
        return dict_factory([(f.name, inner(getattr(value, f.name))) for f in dataclasses.fields(value)])

    def inner(value):
        return _converted(value, inner, of_fields)

    return of_fields(obj)


def astuple(obj, *, tuple_factory=tuple):
    if not hasattr(type(obj), "__dataclass_fields__"):
        raise TypeError("astuple() should be called on dataclass instances")

    def of_fields(value):
        return tuple_factory([inner(getattr(value, f.name)) for f in dataclasses.fields(value)])

    def inner(value):
        return _converted(value, inner, of_fields)

    return of_fields(obj)


TABLE = {dataclasses.asdict: asdict, dataclasses.astuple: astuple}
if hasattr(dataclasses, "_recursive_repr"):
    TABLE[id(dataclasses._recursive_repr(not_recursive).__code__)] = (not_recursive, "user_function")

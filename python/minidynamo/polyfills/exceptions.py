"""Exception groups: how they are taken apart, and what `except*` does with what was raised."""

import types

from . import bridge


def _wraps_one():
    try:
        try:
            raise ExceptionGroup("", [ValueError()])
        except* ValueError:
            raise KeyError from None
    except BaseException as error:
        return isinstance(error, BaseExceptionGroup)


# Whether the one exception that the clauses of `except*` raise comes in a group: up to CPython 3.11.3.
WRAPS_ONE = _wraps_one()


def derive(self, excs, /):
    return BaseExceptionGroup(bridge.group_parts(self)[0], excs)


def split(self, condition, /):
    return _divided(self, _taken_by(condition), True)


def subgroup(self, condition, /):
    return _divided(self, _taken_by(condition), False)[0]


def _taken_by(condition):
    if isinstance(condition, types.FunctionType):
        return condition
    for cls in condition if type(condition) is tuple else (condition,):
        if not _is_exception_class(cls):
            bridge.refuse("BaseExceptionGroup.split", "a condition that is neither classes nor a function")
    return lambda error: bridge.is_caught(error, condition)


def _is_exception_class(cls):
    return isinstance(cls, type) and issubclass(cls, BaseException)


def _divided(error, takes, with_rest):
    """The parts of an exception that are taken and that are not, nested as they were; None for nothing."""
    if takes(error):
        return error, None
    if not isinstance(error, BaseExceptionGroup):
        return None, error
    taken, rest = [], []
    for inner in bridge.group_parts(error)[1]:
        part, other = _divided(inner, takes, with_rest)
        if part is not None:
            taken.append(part)
        if other is not None:
            rest.append(other)
    return _part(error, taken), _part(error, rest) if with_rest else None


def _part(group, errors):
    if not errors:
        return None
    part = group.derive(errors)
    if not isinstance(part, BaseExceptionGroup):
        raise TypeError("derive must return an instance of BaseExceptionGroup")
    bridge.describe_as(part, group)
    return part


def caught(error, condition):
    """What a clause of `except*` leaves of an exception, and what it takes."""
    if isinstance(condition, tuple) and type(condition) is not tuple:
        bridge.refuse("except*", "a subclass of tuple")
    classes = condition if type(condition) is tuple else (condition,)
    for cls in classes:
        if not _is_exception_class(cls):
            raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    for cls in classes:
        if issubclass(cls, BaseExceptionGroup):
            raise TypeError("catching ExceptionGroup with except* is not allowed. Use except instead.")
    if error is None:
        return None, None
    if bridge.is_caught(error, condition):
        return None, error if isinstance(error, BaseExceptionGroup) else BaseExceptionGroup("", (error,))
    if not isinstance(error, BaseExceptionGroup):
        return error, None
    parts = error.split(condition)
    if type(parts) is not tuple or len(parts) != 2:
        bridge.refuse("except*", "a split() that does not give two parts")
    return parts[1], parts[0]


def left_to_raise(original, raised):
    """What the clauses of `except*` have raised, and what none of them took, as one exception; None for nothing."""
    if not isinstance(original, BaseExceptionGroup):
        return raised[0] if raised else None
    new, again = [], []
    for error in raised:
        if error is not None:
            (again if bridge.is_same_raise(error, original) else new).append(error)
    kept = []
    for error in again:
        _add_leaves(error, kept)
    rest = _divided(original, lambda error: _is_among(error, kept), False)[0]
    if not new:
        return rest
    if rest is not None:
        new.append(rest)
    return BaseExceptionGroup("", new) if len(new) > 1 or WRAPS_ONE else new[0]


def _add_leaves(error, leaves):
    if not isinstance(error, BaseExceptionGroup):
        leaves.append(error)
        return
    for inner in bridge.group_parts(error)[1]:
        _add_leaves(inner, leaves)


def _is_among(error, errors):
    for other in errors:
        if error is other:
            return True
    return False


def text(group):
    """str() of a group."""
    message, errors = bridge.group_parts(group)
    return f"{message} ({len(errors)} sub-exception{'s' if len(errors) > 1 else ''})"


def representation(error):
    """repr() of an exception."""
    args = [_representation(value) for value in error.args]
    return f"{type(error).__name__}({', '.join(args)})"


def _representation(value):
    if type(value) is list:
        return f"[{', '.join([_representation(item) for item in value])}]"
    if type(value) is tuple:
        items = [_representation(item) for item in value]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    return repr(value)


TABLE = {
    (BaseExceptionGroup, "derive"): derive,
    (BaseExceptionGroup, "split"): split,
    (BaseExceptionGroup, "subgroup"): subgroup,
}

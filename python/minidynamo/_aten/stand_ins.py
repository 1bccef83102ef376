"""Stand-ins: tensors of a program's class over zeros, which its `__torch_dispatch__` is asked about while tracing."""

import functools

from .. import _C
from . import modes


def _can_be_taken_apart(t):
    return hasattr(type(t), "__tensor_flatten__") and hasattr(type(t), "__tensor_unflatten__")


def stand_in(t):
    """A tensor like `t`, made of zeros; None if its class cannot be taken apart and put together."""
    if not _can_be_taken_apart(t):
        return None
    with modes.none_active():
        before = _C.is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            made = _put_together(t)
            return made if type(made) is type(t) else None
        except AttributeError:  # it is not made yet: within __init__, say
            return None
        finally:
            _C._set_grad_enabled(before)


def inner_tensors(t):
    """The plain tensors that a wrapper, and wrappers in it, hold."""
    if not _can_be_taken_apart(t):
        return []
    try:
        parts = [getattr(t, name) for name in t.__tensor_flatten__()[0]]
    except AttributeError:  # it is not made yet
        return []
    return [inner for part in parts for inner in (inner_tensors(part) if _C._is_handled(part) else [part])]


def _put_together(t):
    names, context = t.__tensor_flatten__()
    inner = {}
    for name in names:
        part = getattr(t, name)
        made = stand_in(part) if _C._is_handled(part) else None
        inner[name] = _C._untouched_like(part) if made is None else made
    return type(t).__tensor_unflatten__(inner, context, t.size(), t.stride())


_CONSTANTS = (bool, int, float, str, type(None), type(_C.float32), _C.device)


def guarded_attributes(t):
    """Names of the attributes of an instance that compiled code is for: numbers, texts and the like, inner tensors."""
    inner = t.__tensor_flatten__()[0]
    return [name for name, value in vars(t).items() if type(value) in _CONSTANTS or name in inner]


def is_inner(t, name):
    """Whether the attribute is one of the tensors that `t` is taken apart into."""
    return name in t.__tensor_flatten__()[0]


def holds(t, name):
    """Whether the instance has the attribute itself, in its __dict__ or in a slot."""
    if name in vars(t):
        return True
    return type(getattr(type(t), name, None)).__name__ == "member_descriptor" and hasattr(t, name)


def part(t, name):
    return getattr(t, name)


@functools.cache
def maker(cls):
    """A function that calls the class, as one node of a graph."""

    def make(*args, **kwargs):
        return cls(*args, **kwargs)

    make.__name__ = make.__qualname__ = cls.__name__
    _C._mark_callable(make, "allow_in_graph")
    make._makes_handled = True
    return make


def is_opened(function):
    """Whether a graph's call of the function may be made once, on stand-ins: it takes apart or puts together only."""
    return function is part or hasattr(function, "_makes_handled")


_C._mark_callable(part, "allow_in_graph")


def reduced(t):
    """What pickle is told about a wrapper: how it is made, and its attributes, the tensors inside among them."""
    look = tuple(t.size()), t.stride(), t.storage_offset(), t.dtype, t.device, t.requires_grad
    return rebuilt, (type(t), *look), vars(t)


def rebuilt(cls, size, stride, offset, dtype, device, requires_grad):
    """The wrapper, without attributes."""
    return _C._make_wrapper(cls, size, stride, offset, dtype, device, requires_grad)

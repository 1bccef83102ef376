"""Assertions a trace understands: what they say of sizes read from tensors is known after them."""

from ._symbolic_numbers import _known_or


def _failed(error, message, default):
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error(default if message is None else str(message()))


def _check(cond, message=None):
    """Raises RuntimeError with the text `message()` gives unless `cond`, a bool, is true."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        _failed(RuntimeError, message, "Expected cond to be True, but got False.")


def _check_is_size(i, message=None):
    """Raises RuntimeError unless the int `i` may be a size."""
    if i < 0:
        _failed(RuntimeError, message, f"{i} is negative: it cannot be a size.")


def _check_with(error_type, cond, message=None):
    """Raises an error of this type unless the bool `cond` is true."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if _known_or(cond, None) is None:  # in a graph, which checks it
        _check(cond, message)
    elif not cond:
        _failed(error_type, message, "Expected cond to be True, but got False.")


def _check_value(cond, message=None):
    """The same with ValueError."""
    _check_with(ValueError, cond, message)


def _check_index(cond, message=None):
    """The same with IndexError."""
    _check_with(IndexError, cond, message)


def _check_type(cond, message=None):
    """The same with TypeError."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """The same with NotImplementedError."""
    _check_with(NotImplementedError, cond, message)


def _assert(condition, message):
    """`assert condition, message` as a call, which graphs of minidynamo.fx can hold. Raises AssertionError."""
    if not condition:
        raise AssertionError(message)

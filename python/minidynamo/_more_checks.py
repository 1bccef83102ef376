"""Assertions that raise other errors than RuntimeError, and those about tensors."""

from . import _C
from ._checks import _check, _failed
from ._symbolic_numbers import _known_or

_SAID = "Expected cond to be True, but got False."


def _check_with(error_type, cond, message):
    """Raises the error with the text `message()` gives unless `cond`, a bool, is true."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if _known_or(cond, None) is None:  # in a graph, which checks it
        _check(cond, message)
    elif not cond:
        _failed(error_type, message, _SAID)


def _check_type(cond, message=None):
    """TypeError unless `cond` is true."""
    _check_with(TypeError, cond, message)


def _check_value(cond, message=None):
    """ValueError unless `cond` is true."""
    _check_with(ValueError, cond, message)


def _check_index(cond, message=None):
    """IndexError unless `cond` is true."""
    _check_with(IndexError, cond, message)


def _check_not_implemented(cond, message=None):
    """NotImplementedError unless `cond` is true."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all_with(error_type, cond, message=None):
    """Raises the error unless all elements of the tensor `cond`, of bools, are true."""
    if not isinstance(cond, _C.Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype != _C.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    if not cond.all().item():
        _failed(error_type, message, _SAID)


def _assert_async(input, assert_msg=None):
    """RuntimeError unless the tensor, of one element, is true; a graph that holds the call fails there."""
    if not input:
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def fails_unless(holds):
    """While traced: the graph fails where `holds`, a tensor of one element, is false, and plain code, which looks for
    the same, says what is wrong."""
    _assert_async(holds, "a check of contents does not hold")


def _check_tensor_all(cond, message=None):
    """RuntimeError unless all elements of the tensor are true."""
    _check_tensor_all_with(RuntimeError, cond, message)


for _function in (
    _check_with, _check_type, _check_value, _check_index, _check_not_implemented, _failed, fails_unless
):  # fmt: skip
    _C._mark_callable(_function, "dont_skip")

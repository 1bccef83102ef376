"""From what programs pass to NumPy's functions to tensors, and back."""

import minidynamo as torch

from ..bridge import (
    array_of,
    is_array,
    is_number,
    is_reversed,
    is_scalar,
    is_writeable,
    kind_of,
    read_only_array_of,
    scalar_of,
    tensor_of,
)
from . import facts


def as_array(value, dtype=None):
    """What numpy.asarray makes of an array, a number or nested sequences of them."""
    if is_array(value):
        return value
    if is_number(value):
        wanted = facts.dtype_of_number(kind_of(value)) if dtype is None else dtype
        check_number(value, wanted)
        return array_of(torch.full((), value, dtype=wanted))
    if isinstance(value, (list, tuple)):
        return array_of(tensor_of_sequence(value, dtype))
    raise NotImplementedError("no array, number or sequence of them")


def tensor_of_sequence(values, dtype):
    """A new tensor with the values of nested lists and tuples."""
    if len(values) == 0:
        return torch.zeros((0,), dtype=torch.float64 if dtype is None else dtype)
    parts = [tensor_of(as_array(v)) for v in values]
    wanted = facts.common_dtype(tuple([p.dtype for p in parts])) if dtype is None else dtype
    return torch.stack([p.to(wanted) for p in parts])


def tensor(value):
    """The tensor over what numpy.asarray makes of a value."""
    return tensor_of(as_array(value))


def viewable(value, dtype=None):
    """The same, where views of it may be written to: nothing changes a scalar."""
    if is_array(value) and is_reversed(value):
        raise NotImplementedError("a view of an array that goes backward")
    made = tensor_of(as_array(value, dtype))
    return made.clone() if is_scalar(value) else made


def view(value, original):
    """A view of an array, which can be written to if the array can; what is left of a scalar is a scalar."""
    if is_scalar(original) and value.dim() == 0:
        return scalar_of(value)
    writeable = not is_array(original) or is_scalar(original) or is_writeable(original)
    return array_of(value) if writeable else read_only_array_of(value)


def result(value):
    """NumPy's functions that compute give a scalar where the result has no dimensions."""
    return scalar_of(value) if value.dim() == 0 else array_of(value)


def check_number(value, dtype):
    """NumPy refuses a Python number that an integer dtype cannot hold."""
    limits = facts.integer_range(dtype)
    if limits is None:
        return
    if isinstance(value, float):
        if value != value or value in (float("inf"), -float("inf")):
            raise ValueError("no integer has this value")
        return
    if not limits[0] <= value <= limits[1]:
        raise OverflowError("a Python integer is out of bounds for the dtype")


def writeable_tensor(array):
    """The tensor through which an array is written to."""
    if not is_array(array) or not is_writeable(array):
        raise ValueError("the array is read-only")
    return tensor_of(array)


def store(out, value):
    """Puts a result into `out` as ufuncs do; returns `out`."""
    if isinstance(out, tuple):
        out = out[0]
    target = writeable_tensor(out)
    if not facts.can_cast(value.dtype, target.dtype, "same_kind"):
        raise TypeError("the result cannot be cast to the dtype of `out`")
    target.copy_(value)
    return out


def store_whole(out, value):
    """Puts a result into an `out` of its own shape: only ufuncs repeat results along further axes of `out`."""
    target = out[0] if isinstance(out, tuple) else out
    if tensor_of(target).shape != value.shape:
        raise ValueError("`out` has another shape than the result")
    return store(out, value)


def delivered(value, out):
    """The result itself, or in `out` if one was given."""
    return result(value) if out is None else store_whole(out, value)


def cast(value, dtype):
    """`value` in another dtype; None leaves it."""
    return value if dtype is None or value.dtype == dtype else value.to(dtype)


def is_true(flag):
    """A flag of the caller's (keepdims, copy) as True or False."""
    if flag is True or flag is False:
        return flag
    raise NotImplementedError("a flag that is neither True nor False")

"""Between NumPy's arrays and tensors. The tracer knows these functions; called plainly, they treat real arrays so.

In a trace an array is the tensor over its memory, so nothing here copies. refuse() is for all polyfills.
"""

import functools

import minidynamo as torch


def tensor_of(array):
    """The tensor over the memory of an ndarray or NumPy scalar. Raises TypeError for anything else."""
    return torch._C._tensor_over(array)


def is_writeable(array):
    """Whether NumPy lets the program write to the array."""
    return array.flags.writeable and not is_scalar(array)


def array_of(tensor):
    """The ndarray over a tensor's memory."""
    return torch._C._array_of(tensor, False, True)


def read_only_array_of(tensor):
    """The same, not to be written to: what broadcast_to() gives."""
    return torch._C._array_of(tensor, False, False)


def scalar_of(tensor):
    """The NumPy scalar with the value of a 0-d tensor."""
    return torch._C._array_of(tensor, True, False)


def reversed_view(tensor, array, key):
    """array[key], of which the tensor is a copy: tensors do not go backward."""
    return array[key]


def is_reversed(array):
    """Whether the tensor of an array is such a copy."""
    return False


def is_array(value):
    """True for ndarrays and NumPy scalars."""
    import numpy

    return type(value) is numpy.ndarray or isinstance(value, numpy.generic)


def is_scalar(value):
    """True for NumPy scalars."""
    import numpy

    return isinstance(value, numpy.generic)


def is_number(value):
    """True for Python's own bool, int, float and complex."""
    return type(value) in (bool, int, float, complex)


def kind_of(value):
    """What decides the dtype of a result: the dtype of an array (as tensors have it), the type of a Python number."""
    return tensor_of(value).dtype if is_array(value) else type(value)


def refuse(function, construct):
    """Breaks the graph: what the polyfill stands for does this part by itself."""
    raise NotImplementedError(f"{function}: {construct}")


def is_held(value):
    """Whether a variable of the program's frames refers to the object."""
    return False


def is_made_here(value):
    """Whether the trace has made the object: nothing outside knows it."""
    return False


def may_have_let_go():
    """Whether the compiled frame may have given up something that was there before it."""
    return False


def takes_references(value):
    """Whether the object can be referred to weakly."""
    return type(value).__weakrefoffset__ != 0


def find_implementation(registry, cls):
    """What functools.singledispatch finds for a class that is not registered itself."""
    return functools._find_impl(cls, registry)


def group_parts(group):
    """Message and members of an exception group, as they were when it was made."""
    return BaseExceptionGroup.message.__get__(group), BaseExceptionGroup.exceptions.__get__(group)


def is_caught(error, condition):
    """Whether `except condition` would catch the exception."""
    try:
        raise error
    except condition:
        return True
    except BaseException:
        return False


def describe_as(part, group):
    """Gives a part of an exception group what the group has: traceback, context, cause and notes."""
    part.__traceback__ = group.__traceback__
    part.__context__ = group.__context__
    part.__cause__ = group.__cause__
    if hasattr(group, "__notes__"):
        part.__notes__ = list(group.__notes__)


def is_same_raise(error, other):
    """Whether two exceptions have the same traceback, cause and context."""
    return (
        error.__traceback__ is other.__traceback__
        and error.__cause__ is other.__cause__
        and error.__context__ is other.__context__
    )


def with_fields(text, named):
    """The text, of which a trace notes what str.format() was given by keyword."""
    return text

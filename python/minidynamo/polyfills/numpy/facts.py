"""What NumPy itself says about dtypes, asked while tracing: its promotion rules are used, not copied.

Arguments and results are constants: tensor dtypes, Python types (of numbers, which promote weakly), names.
"""

import numpy

from . import operations
from .dtype_facts import NUMPY_DTYPES, TENSOR_DTYPES
from .dtype_facts import integer_range as integer_range

_UFUNCS = {"clip": numpy._core.umath.clip}


def _to_tensor_dtype(dtype):
    if dtype not in TENSOR_DTYPES or not dtype.isnative:
        raise NotImplementedError(f"tensors have no dtype {dtype}")
    return TENSOR_DTYPES[dtype]


def _to_numpy(kind):
    return NUMPY_DTYPES.get(kind, kind)


def tensor_dtype(dtype):
    """The tensor dtype of whatever NumPy takes as one ('f4', float, numpy.float32); None for None."""
    return None if dtype is None else _to_tensor_dtype(numpy.dtype(_to_numpy(dtype)))


def numpy_dtype(dtype):
    """The numpy.dtype of a tensor dtype."""
    return NUMPY_DTYPES[dtype]


def dtype_of_number(kind):
    """The tensor dtype that bool, int or float has as an array."""
    return _to_tensor_dtype(numpy.dtype(kind))


def _ufunc(name):
    return _UFUNCS.get(name) or getattr(numpy, name)


def count_of_inputs(name):
    """How many operands a ufunc takes."""
    return _ufunc(name).nin


def loop_of(name, kinds, dtype, casting):
    """The dtypes a ufunc computes in for operands of these kinds: of each operand, then of the result."""
    function = _ufunc(name)
    operands = tuple(numpy.dtype(bool) if k is bool else _to_numpy(k) for k in kinds)  # only int and float are weak
    if all(isinstance(k, type) for k in operands):  # only Python numbers: they are arrays here
        operands = tuple(numpy.dtype(k) for k in operands)
    given = {} if dtype is None else {"signature": (None,) * function.nin + (NUMPY_DTYPES[dtype],)}
    found = function.resolve_dtypes((*operands, None), casting=casting, **given)
    return tuple(_to_tensor_dtype(d) for d in found)


def common_dtype(kinds):
    """The dtype in which values of these kinds meet (concatenate, where)."""
    samples = [NUMPY_DTYPES[k] if k in NUMPY_DTYPES else k(0) for k in kinds]
    return _to_tensor_dtype(numpy.result_type(*samples))


def can_cast(source, target, casting):
    """numpy.can_cast for tensor dtypes."""
    return bool(numpy.can_cast(NUMPY_DTYPES[source], NUMPY_DTYPES[target], casting))


def sum_dtype(dtype):
    """In which dtype NumPy adds and multiplies up: the default integer for narrower ones."""
    return _to_tensor_dtype(numpy.add.reduce(numpy.zeros(1, NUMPY_DTYPES[dtype])).dtype)


def axes_of(axis, rank):
    """Normalised axes of `axis` (None: all of them) as a tuple. Raises numpy.exceptions.AxisError."""
    if axis is None:
        return tuple(range(rank))
    return numpy._core.numeric.normalize_axis_tuple(axis, rank)


def operation(name):
    """What computes a ufunc on tensors of the loop's dtypes."""
    if name in operations.OPERATIONS:
        return operations.OPERATIONS[name]
    raise NotImplementedError(f"numpy.{name} has no traced form")


def takes_numbers(name):
    """Whether the operation takes a Python number beside a tensor."""
    return name in operations.WITH_NUMBERS


def fold(name):
    """What computes a reduction over axes of a tensor."""
    return operations.FOLDS[name]


def fold_of_ufunc(name):
    """The reduction by a ufunc."""
    names = {
        "add": "sum",
        "multiply": "prod",
        "maximum": "max",
        "minimum": "min",
        "logical_and": "all",
        "logical_or": "any",
    }
    if name not in names:
        raise NotImplementedError(f"numpy.{name}.reduce has no traced form")
    return names[name]

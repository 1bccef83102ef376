"""Which dtype of tensors is which of NumPy's. Facts that are asked while tracing; nothing here is traced."""

import numpy

import minidynamo as torch

TENSOR_DTYPES = {
    numpy.dtype(name): getattr(torch, name)
    for name in "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
}
NUMPY_DTYPES = {ours: theirs for theirs, ours in TENSOR_DTYPES.items()}


def integer_range(dtype):
    """Smallest and largest value of an integer dtype; None for any other."""
    theirs = NUMPY_DTYPES[dtype]
    if theirs.kind not in "iu":
        return None
    limits = numpy.iinfo(theirs)
    return int(limits.min), int(limits.max)

"""__cuda_array_interface__: how libraries hand each other arrays in the memory of a CUDA device."""

from .. import _C
from .._no_device import is_present, refuse

_VERSION = 2  # of the interface, as torch has it
_CODES = {
    _C.bool: "|b1",
    _C.uint8: "|u1",
    _C.int8: "|i1",
    _C.uint16: "<u2",
    _C.int16: "<i2",
    _C.uint32: "<u4",
    _C.int32: "<i4",
    _C.uint64: "<u8",
    _C.int64: "<i8",
    _C.float16: "<f2",
    _C.bfloat16: "<V2",
    _C.float32: "<f4",
    _C.float64: "<f8",
    _C.complex64: "<c8",
    _C.complex128: "<c16",
}
_DTYPES = {code: dtype for dtype, code in _CODES.items()}


def of_tensor(tensor):
    """What Tensor.__cuda_array_interface__ is."""
    if tensor.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
            "var.detach() to get Variable that doesn't require grad."
        )
    if tensor.dtype not in _CODES:
        raise TypeError(f"__cuda_array_interface__ has no name for {tensor.dtype}")
    size = tensor.itemsize
    return {
        "typestr": _CODES[tensor.dtype],
        "shape": tuple(tensor.shape),
        "strides": None if tensor.is_contiguous() else tuple(step * size for step in tensor.stride()),
        "data": (tensor.data_ptr() if tensor.numel() else 0, False),
        "version": _VERSION,
    }


def tensor_of(owner):
    """A tensor over the memory of an object that has the interface."""
    if not is_present():
        refuse("CUDA")
    said = owner.__cuda_array_interface__
    _expect_well_formed(said)
    if said.get("mask") is not None:
        raise ValueError("__cuda_array_interface__: arrays with a mask cannot be tensors")
    if (dtype := _DTYPES.get(said["typestr"])) is None:
        raise TypeError(f"__cuda_array_interface__: no dtype is {said['typestr']!r}")
    shape, (address, _) = tuple(said["shape"]), said["data"]
    strides = said.get("strides")
    if strides is None:
        steps = _C.empty(shape, device="meta").stride()
    elif any(step % dtype.itemsize for step in strides):
        raise ValueError("given array strides not a multiple of the element byte size. Make a copy of the array first.")
    else:
        steps = tuple(step // dtype.itemsize for step in strides)
    if any(step < 0 for step in steps):
        raise ValueError("__cuda_array_interface__: tensors have no negative strides; make a copy of the array first")
    stream = said.get("stream")
    index = _C._cuda.current_device()
    if stream is not None:
        _wait(index, stream)
    return _C._cuda.tensor_over(address, shape, steps, dtype, index, owner)


def _are_ints(values):
    return isinstance(values, (tuple, list)) and all(hasattr(value, "__index__") for value in values)


def _expect_well_formed(said):
    """TypeError or ValueError that names the entry which is not what the interface says."""
    if not isinstance(said, dict):
        raise TypeError(f"__cuda_array_interface__ is a dict, not {type(said).__name__}")
    for name in ("shape", "typestr", "data"):
        if name not in said:
            raise ValueError(f"__cuda_array_interface__ has no {name!r}")
    if not _are_ints(said["shape"]):
        raise TypeError(f"__cuda_array_interface__: 'shape' is a tuple of ints, not {said['shape']!r}")
    data, strides, stream = said["data"], said.get("strides"), said.get("stream")
    if not isinstance(data, (tuple, list)) or len(data) != 2 or not hasattr(data[0], "__index__"):
        raise TypeError(f"__cuda_array_interface__: 'data' is an address, an int, and a flag, not {data!r}")
    if not 0 <= data[0] < 2**64:
        raise ValueError(f"__cuda_array_interface__: {data[0]} is no address")
    if strides is not None and not _are_ints(strides):
        raise TypeError(f"__cuda_array_interface__: 'strides' is None or a tuple of ints, not {strides!r}")
    if stream is not None and not hasattr(stream, "__index__"):
        raise TypeError(f"__cuda_array_interface__: 'stream' is None or an int, not {stream!r}")
    if stream is not None and not 0 <= stream < 2**64:
        raise ValueError(f"__cuda_array_interface__: {stream} is no stream")


def _wait(index, handle):
    """Work of the current stream waits for what the other's stream was given."""
    number = 0 if handle in (1, 2) else _C._cuda.adopt_stream(index, handle)
    point = _C._cuda.Event(False, False)
    point.record(index, number)
    point.wait(index, _C._cuda.current_stream(index))

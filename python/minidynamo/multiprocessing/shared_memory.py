"""Memory that processes share: segments of files without names, which tensors can lie in.

A forked process sees the segments of its parent. Another process gets a descriptor and maps the file, see reductions.
"""

import ctypes
import os
import weakref

from .. import _C

_segments = weakref.WeakValueDictionary()  # by address
_READ_WRITE, _SHARED = 3, 1  # PROT_READ | PROT_WRITE, MAP_SHARED: the same on Linux and macOS
_FAILED = ctypes.c_void_p(-1).value


def _libc():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


def _new_file(size):
    """The descriptor of a file without a name, `size` zero bytes, in memory where the system can."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("minidynamo", os.MFD_CLOEXEC)
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, size)
    return descriptor


def _unmap(address, size, descriptor):
    _libc().munmap(address, size)
    os.close(descriptor)


def segment(size, descriptor=None):
    """`size` bytes of shared memory, writable, as an object with the buffer protocol and a `descriptor`.

    With a descriptor of another segment, the memory of that one. The memory is given back when neither the object nor
    a tensor over it is left in any process.
    """
    descriptor = _new_file(size) if descriptor is None else descriptor
    address = _libc().mmap(None, size, _READ_WRITE, _SHARED, descriptor, 0)
    if address == _FAILED:
        error = ctypes.get_errno()
        os.close(descriptor)
        raise OSError(error, f"no {size} bytes of shared memory: {os.strerror(error)}")
    made = type("Segment", (ctypes.c_ubyte * size,), {}).from_address(address)
    made.descriptor = descriptor
    weakref.finalize(made, _unmap, address, size, descriptor).atexit = False
    _segments[address] = made
    return made


def of(tensor):
    """The segment that holds the elements of a tensor; None if they lie elsewhere."""
    if tensor.is_meta or tensor.numel() == 0:
        return None
    return _segments.get(tensor.data_ptr() - tensor.storage_offset() * tensor.element_size())


def tensor_over(memory, dtype, sizes, strides, offset):
    """The tensor of these sizes and strides over a segment."""
    return _C.frombuffer(memory, dtype=dtype).as_strided(sizes, strides, offset)


def holds(tensor):
    """Whether the elements of a tensor lie in shared memory."""
    return tensor.is_cuda or of(tensor) is not None


def move(tensor):
    """Moves the elements of a tensor to shared memory, unless they lie there; gives the tensor.

    RuntimeError for tensors that are not on the CPU, OSError if there is no memory left.
    """
    if tensor.is_cuda:
        return tensor  # as torch has it: what goes to another process is pickled
    if tensor.device.type != "cpu":
        raise RuntimeError(f"share_memory_(): only tensors on the CPU can be shared, this one is on {tensor.device}")
    if tensor.numel() == 0 or holds(tensor):
        return tensor
    sizes, strides, start = tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset()
    last = start + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    memory = segment((last + 1) * tensor.element_size())
    over = tensor_over(memory, tensor.dtype, sizes, strides, start)
    # Expanded tensors have several elements in one place: what lies there is copied once.
    inner = [1 if stride == 0 else size for size, stride in zip(sizes, strides)]
    over.as_strided(inner, strides, start).copy_(tensor.detach().as_strided(inner, strides, start))
    tensor.data = over
    return tensor

"""How tensors travel between processes: as descriptors of shared memory, so that both sides see later writes."""

from multiprocessing.reduction import DupFd, ForkingPickler

from .. import _C
from .._absent import absent_names as _absent_names
from . import shared_memory


def rebuild_tensor(memory, dtype, sizes, strides, offset, requires_grad, parameter):
    """The tensor that reduce_tensor() took apart, over the same memory."""
    size, handle = memory
    if size:
        segment = shared_memory.segment(size, handle.detach())
        tensor = shared_memory.tensor_over(segment, dtype, sizes, strides, offset)
    else:
        tensor = _C.empty_strided(sizes, strides, dtype=dtype)
    if not parameter:
        return tensor.requires_grad_(requires_grad)
    from ..nn.parameter import Parameter

    return Parameter(tensor, requires_grad)


def reduce_tensor(tensor):
    """What a queue or a process writes of a tensor, whose elements move to shared memory.

    RuntimeError for what was computed from tensors that require grad: the way back does not cross processes.
    """
    from ..nn.parameter import Parameter

    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "a tensor that was computed from others that require grad cannot go to another process, as gradients "
            "cannot come back; send tensor.detach()"
        )
    if tensor.device.type != "cpu" or tensor.is_sparse:
        return tensor.__reduce_ex__(4)
    memory = shared_memory.of(shared_memory.move(tensor))
    found = (0, None) if memory is None else (len(memory), DupFd(memory.descriptor))
    place = (tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())
    return rebuild_tensor, (found, *place, tensor.requires_grad, isinstance(tensor, Parameter))


def init_reductions():
    """From here on multiprocessing sends tensors and parameters this way; subclasses as they are pickled."""
    from ..nn.parameter import Parameter

    for kind in (_C.Tensor, Parameter):
        ForkingPickler.register(kind, reduce_tensor)


__getattr__ = _absent_names(__name__)

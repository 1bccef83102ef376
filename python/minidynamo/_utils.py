"""torch._utils: names that libraries take from there: lists of tensors as one vector, and what pickles call."""

from . import _C
from ._absent import absent_names as _absent_names
from .archive_reader import _rebuild_parameter as _rebuild_parameter
from .archive_reader import _rebuild_parameter_with_state as _rebuild_parameter_with_state


def _flatten_dense_tensors(tensors):
    """The elements of all, one after the other. RuntimeError for different dtypes."""
    tensors = list(tensors)
    if len({tensor.dtype for tensor in tensors}) > 1:
        raise RuntimeError("_flatten_dense_tensors: all tensors have to be of one dtype")
    return _C.cat([tensor.reshape(-1) for tensor in tensors]) if tensors else _C.empty(0)


def _unflatten_dense_tensors(flat, tensors):
    """Views of a vector with the sizes of `tensors`."""
    found, start = [], 0
    for tensor in tensors:
        found.append(flat.narrow(0, start, tensor.numel()).view(tensor.shape))
        start += tensor.numel()
    return tuple(found)


def _reorder_tensors_as(tensors, ordered_tensors):
    """The tensors in the order of others of their types."""
    of_type = {}
    for tensor in tensors:
        of_type.setdefault(tensor.type(), []).append(tensor)
    iterators = {kind: iter(found) for kind, found in of_type.items()}
    return tuple([next(iterators[tensor.type()]) for tensor in ordered_tensors])


def _take_tensors(tensors, size_limit):
    """Lists of tensors of one type that have at most so many bytes together."""
    groups = {}
    for tensor in tensors:
        held, size = groups.get(tensor.type(), ([], 0))
        bytes_of = tensor.numel() * tensor.element_size()
        if held and size + bytes_of > size_limit:
            yield held
            held, size = [], 0
        groups[tensor.type()] = ([*held, tensor], size + bytes_of)
    for held, _ in groups.values():
        if held:
            yield held


__getattr__ = _absent_names(__name__)

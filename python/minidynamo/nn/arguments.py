"""What the functions of nn.functional ask of their arguments before they use them."""

from .. import _C
from .._arguments import need_tensors as need_tensors

_CHANNELS_LAST = {4: _C.channels_last, 5: _C.channels_last_3d}


def each(value, count):
    """`count` numbers as a tuple, where one number stands for that many. What is no number comes as a tuple of it."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,) * count


def in_format_of(input, result):
    """`result` in the memory format of `input`, which is one of those that keep channels together, or as it is."""
    rank = input.dim()
    if rank not in _CHANNELS_LAST or result.dim() != rank or input.is_contiguous():
        return result
    last = _CHANNELS_LAST[rank]
    return result.contiguous(memory_format=last) if input.is_contiguous(memory_format=last) else result

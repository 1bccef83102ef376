"""torch.utils.dlpack: memory shared with other libraries."""

from .. import _C
from .._absent import absent_names as _absent_names

from_dlpack = _C.from_dlpack


def to_dlpack(tensor):
    """A DLPack capsule without a version over the tensor's memory. Raises BufferError if the tensor requires grad."""
    return _C._to_dlpack(tensor)


__getattr__ = _absent_names(__name__)

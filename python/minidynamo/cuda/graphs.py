"""torch.cuda.graphs: captured work of a device; no object of it can be made without one."""

from .._absent import absent_names as _absent_names
from .._device_modules import absent_objects as _absent_objects

_absent_objects(globals(), "cuda", "CUDAGraph", "graph")
__getattr__ = _absent_names(__name__)

"""torch.cuda.memory: of no device, so nothing is allocated."""

from .._absent import absent_names as _absent_names
from .._device_modules import fill as _fill

_fill(globals(), "cuda", "memory")
__getattr__ = _absent_names(__name__)

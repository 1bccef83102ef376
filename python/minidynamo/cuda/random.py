"""torch.cuda.random: seeds of devices that do not exist. Setting them is allowed and does nothing, as in torch."""

from .._absent import absent_names as _absent_names
from .._device_modules import fill as _fill

_fill(globals(), "cuda", "random")
__getattr__ = _absent_names(__name__)

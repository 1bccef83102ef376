"""torch.xpu.streams: classes that programs name; no stream can be made without a device."""

from .._absent import absent_names as _absent_names
from .._device_modules import absent_objects as _absent_objects

_absent_objects(globals(), "xpu", "Stream", "Event")
__getattr__ = _absent_names(__name__)

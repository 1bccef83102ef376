"""torch.mps of a build without Apple's devices: nothing is available; what needs a device raises RuntimeError."""

from . import _device_modules as _devices
from ._absent import absent_names as _absent_names

_devices.fill(globals(), "mps", "core", "random", "memory")
_devices.absent_objects(globals(), "mps", "Event")
__getattr__ = _absent_names(__name__)

"""torch.mtia of a build without Meta's devices: nothing is available; what needs a device raises RuntimeError."""

from . import _device_modules as _devices
from ._absent import absent_names as _absent_names

default_generators = ()
_devices.classes(globals(), "mtia")
_devices.fill(globals(), "mtia", "core", "random", "memory")
_devices.absent_objects(globals(), "mtia", "Stream", "Event")


def record_memory_history(enabled="all", stacks="python", max_entries=0):
    """Nothing: there is no memory of a device."""


class DeferredMtiaCallError(Exception):
    """What torch raises where a call that waited for MTIA fails."""


__getattr__ = _absent_names(__name__)

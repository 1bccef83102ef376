"""torch.xpu of a build without Intel's devices: nothing is available; what needs a device raises AssertionError."""

from importlib import import_module

from .. import _device_modules as _devices
from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules
from . import memory as memory
from . import random as random
from . import streams as streams

default_generators = ()
_devices.classes(globals(), "xpu")
_devices.fill(globals(), "xpu", "core")
for _part in (memory, random, streams):
    globals().update({name: made for name, made in vars(_part).items() if not name.startswith("_")})
_devices.absent_objects(globals(), "xpu", "MemPool", "XPUPluggableAllocator", "XPUGraph", "graph")


def _load(name, missing):
    return import_module(f"{__name__}.{name}") if name in _submodules(__name__) else missing


__getattr__ = _absent_names(__name__, _load)

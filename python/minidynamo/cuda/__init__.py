"""torch.cuda: CUDA devices by their driver, which the first question looks for.

Without one nothing is available, and what needs a device says so with AssertionError.
"""

from importlib import import_module

from .. import _C
from .. import _device_modules as _devices
from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules
from . import graphs as graphs
from . import memory as memory
from . import random as random
from . import streams as streams

has_half = True
has_magma = False
_devices.classes(globals(), "cuda")
StreamContext = streams.StreamContext
_devices.fill(globals(), "cuda", "core")
for _part in (memory, random, streams, graphs):
    globals().update({name: made for name, made in vars(_part).items() if not name.startswith("_")})
_devices.absent_objects(globals(), "cuda", "MemPool", "CUDAPluggableAllocator")


class DeferredCudaCallError(Exception):
    """What torch raises where a call that waited for CUDA fails."""


_TENSOR_TYPES = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()


def _load(name, missing):
    if name in _submodules(__name__):
        return import_module(f"{__name__}.{name}")
    if name.removesuffix("Tensor") in _TENSOR_TYPES and name.endswith("Tensor"):
        return import_module(".._tensor_types", __name__).cuda_types[name]
    if name == "default_generators":
        return tuple(_C._cuda.default_generator(index) for index in range(_C._cuda.device_count()))
    if name in ("OutOfMemoryError", "AcceleratorError"):
        return getattr(import_module(".._tensor_types", __name__), name)
    return missing


__getattr__ = _absent_names(__name__, _load)

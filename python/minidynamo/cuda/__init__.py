"""torch.cuda of a build without CUDA: nothing is available, and what needs a device says so with AssertionError."""

from importlib import import_module

from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules
from .._no_device import DeviceOf as _DeviceOf
from .._no_device import DeviceSwitch as _DeviceSwitch
from .._no_device import StreamSwitch as _StreamSwitch
from .._no_device import device_index as _device_index
from .._no_device import refuse as _refuse
from .memory import empty_cache as empty_cache
from .memory import get_per_process_memory_fraction as get_per_process_memory_fraction
from .memory import max_memory_allocated as max_memory_allocated
from .memory import max_memory_cached as max_memory_cached
from .memory import max_memory_reserved as max_memory_reserved
from .memory import mem_get_info as mem_get_info
from .memory import memory_allocated as memory_allocated
from .memory import memory_cached as memory_cached
from .memory import memory_reserved as memory_reserved
from .memory import memory_snapshot as memory_snapshot
from .memory import memory_stats as memory_stats
from .memory import memory_stats_as_nested_dict as memory_stats_as_nested_dict
from .memory import memory_summary as memory_summary
from .memory import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from .memory import reset_max_memory_allocated as reset_max_memory_allocated
from .memory import reset_max_memory_cached as reset_max_memory_cached
from .memory import reset_peak_memory_stats as reset_peak_memory_stats
from .memory import set_per_process_memory_fraction as set_per_process_memory_fraction
from .random import get_rng_state as get_rng_state
from .random import get_rng_state_all as get_rng_state_all
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import manual_seed_all as manual_seed_all
from .random import seed as seed
from .random import seed_all as seed_all
from .random import set_rng_state as set_rng_state
from .random import set_rng_state_all as set_rng_state_all
from .streams import Event as Event
from .streams import ExternalStream as ExternalStream
from .streams import Stream as Stream

has_half = True
has_magma = False
default_generators = ()


def is_available():
    """False."""
    return False


def device_count():
    """0."""
    return 0


def is_initialized():
    """False."""
    return False


def is_bf16_supported(including_emulation=True):
    """False: there is no device that could."""
    return False


def is_tf32_supported():
    """False: there is no device that could."""
    return False


def get_arch_list():
    """An empty list: nothing was built for any."""
    return []


def get_gencode_flags():
    """An empty text: nothing was built for any device."""
    return ""


def set_device(device):
    """Nothing for negative indices; AssertionError for others: there is no device. ValueError for other kinds."""
    if _device_index(device, "cuda") >= 0:
        _refuse("CUDA")


def init():
    """AssertionError: there is no device."""
    _refuse("CUDA")


def synchronize(device=None):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def current_device():
    """AssertionError: there is no device."""
    _refuse("CUDA")


def get_device_name(device=None):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def get_device_capability(device=None):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def get_device_properties(device=None):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def can_device_access_peer(device, peer_device):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def current_stream(device=None):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def default_stream(device=None):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def set_stream(stream):
    """Nothing for None; there are no streams."""


def ipc_collect():
    """AssertionError: there is no device."""
    _refuse("CUDA")


def current_blas_handle():
    """AssertionError: there is no device."""
    _refuse("CUDA")


def cudart():
    """AssertionError: there is no CUDA library."""
    _refuse("CUDA")


def get_sync_debug_mode():
    """AssertionError: there is no device."""
    _refuse("CUDA")


def set_sync_debug_mode(debug_mode):
    """AssertionError: there is no device."""
    _refuse("CUDA")


class device(_DeviceSwitch):
    """`with` it another CUDA device would be the current one; RuntimeError on entering, nothing for negative ones."""

    kind = "cuda"


class device_of(_DeviceOf):
    """`with` it the device of a tensor would be the current one; nothing for tensors on the CPU."""

    kind = "cuda"


class StreamContext(_StreamSwitch):
    """`with` it work would go to another stream; None changes nothing."""


def stream(stream):
    """A StreamContext."""
    return StreamContext(stream)


_TENSOR_TYPES = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()


def _load(name, missing):
    if name in _submodules(__name__):
        return import_module(f"{__name__}.{name}")
    if name.removesuffix("Tensor") in _TENSOR_TYPES and name.endswith("Tensor"):
        return import_module(".._tensor_types", __name__).cuda_types[name]
    if name == "OutOfMemoryError":
        return import_module(".._tensor_types", __name__).OutOfMemoryError
    return missing


__getattr__ = _absent_names(__name__, _load)

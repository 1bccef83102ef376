"""torch.xpu of a build without Intel's devices: nothing is available; what needs a device raises AssertionError."""

import collections
from importlib import import_module

from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules
from .._no_device import DeviceOf as _DeviceOf
from .._no_device import DeviceSwitch as _DeviceSwitch
from .._no_device import StreamSwitch as _StreamSwitch
from .._no_device import refuse as _refuse
from .streams import Event as Event
from .streams import Stream as Stream

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


def manual_seed(seed):
    """Nothing but that `seed` has to be a number."""
    int(seed)


def manual_seed_all(seed):
    """As manual_seed."""
    int(seed)


def seed():
    """Nothing."""


def seed_all():
    """Nothing."""


def get_rng_state_all():
    """An empty list: one state for each device."""
    return []


def set_rng_state(new_state, device="xpu"):
    """Nothing: in torch it would be done once there is a device."""


def set_rng_state_all(new_states):
    """Nothing for no states; ValueError for more than there are devices."""
    if count := len(list(new_states)):
        raise ValueError(f"set_rng_state_all: {count} states for 0 XPU devices")


def empty_cache():
    """Nothing: there is no cache."""


def memory_allocated(device=None):
    """0 bytes."""
    return 0


def max_memory_allocated(device=None):
    """0 bytes."""
    return 0


def memory_reserved(device=None):
    """0 bytes."""
    return 0


def max_memory_reserved(device=None):
    """0 bytes."""
    return 0


def memory_stats(device=None):
    """No statistics."""
    return collections.OrderedDict()


def get_arch_list():
    """An empty list: nothing was built for any."""
    return []


def get_gencode_flags():
    """An empty text: nothing was built for any device."""
    return ""


def init():
    """AssertionError: there is no device."""
    _refuse("XPU")


def initial_seed():
    """AssertionError: there is no device."""
    _refuse("XPU")


def get_rng_state(device="xpu"):
    """AssertionError: there is no device."""
    _refuse("XPU")


def set_device(device):
    """AssertionError: there is no device."""
    _refuse("XPU")


def current_device():
    """AssertionError: there is no device."""
    _refuse("XPU")


def synchronize(device=None):
    """AssertionError: there is no device."""
    _refuse("XPU")


def get_device_name(device=None):
    """AssertionError: there is no device."""
    _refuse("XPU")


def get_device_capability(device=None):
    """AssertionError: there is no device."""
    _refuse("XPU")


def get_device_properties(device=None):
    """AssertionError: there is no device."""
    _refuse("XPU")


def mem_get_info(device=None):
    """AssertionError: there is no device."""
    _refuse("XPU")


def reset_peak_memory_stats(device=None):
    """AssertionError: there is no device."""
    _refuse("XPU")


def current_stream(device=None):
    """AssertionError: there is no device."""
    _refuse("XPU")


def set_stream(stream):
    """Nothing for None; there are no streams."""


class device(_DeviceSwitch):
    """`with` it another XPU device would be the current one; RuntimeError on entering, nothing for negative ones."""

    kind = "xpu"


class device_of(_DeviceOf):
    """`with` it the device of a tensor would be the current one; nothing for tensors on the CPU."""

    kind = "xpu"


class StreamContext(_StreamSwitch):
    """`with` it work would go to another stream; None changes nothing."""


def stream(stream):
    """A StreamContext."""
    return StreamContext(stream)


def _load(name, missing):
    return import_module(f"{__name__}.{name}") if name in _submodules(__name__) else missing


__getattr__ = _absent_names(__name__, _load)

"""What torch.accelerator answers where there are CUDA devices."""

from .. import _C
from . import _core, _memory

for _home, _names in (
    (_core, "is_available device_count synchronize current_stream set_stream"),
    (_memory, "empty_cache memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_stats"),
    (_memory, "reset_peak_memory_stats reset_accumulated_memory_stats"),
):
    globals().update({_name: getattr(_home, _name) for _name in _names.split()})
get_memory_info = _memory.mem_get_info


def current_accelerator(check_available):
    return _C.device("cuda")


def current_device_index():
    return _core.current_device()


current_device_idx = current_device_index


def set_device_index(device):
    _core.set_device(device)


set_device_idx = set_device_index


def get_device_capability(device):
    """{"supported_dtypes": ...}: all dtypes of tensors."""
    return {"supported_dtypes": {value for value in vars(_C).values() if isinstance(value, _C.dtype)}}


def empty_host_cache():
    _C._cuda.empty_pinned_cache()

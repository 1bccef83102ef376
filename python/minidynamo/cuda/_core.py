"""What torch.cuda answers where there are CUDA devices: which they are, and the current one."""

from .. import _C
from .._targets import PTX as _TARGETS  # for which programs are written
from ._ordinals import index_of
from .streams import ExternalStream, Stream, StreamContext

_runtime = _C._cuda


def is_available():
    return True


def device_count():
    return _runtime.device_count()


def is_initialized():
    return True


def init():
    pass


def is_bf16_supported(including_emulation):
    return including_emulation or get_device_capability(None) >= (8, 0)


def is_tf32_supported():
    return get_device_capability(None) >= (8, 0)


def get_arch_list():
    return list(_TARGETS)


def get_gencode_flags():
    numbers = (name.removeprefix("sm_") for name in _TARGETS)
    return " ".join(f"-gencode compute=compute_{n},code=sm_{n}" for n in numbers)


def set_device(device):
    index = index_of(device)
    if index >= 0:
        _runtime.set_device(index)


def synchronize(device):
    _runtime.synchronize(index_of(device))


def current_device():
    return _runtime.current_device()


class _CudaDeviceProperties:
    """What the driver tells of a device."""

    def __init__(self, facts):
        self.__dict__.update(facts)
        self.gcnArchName = self.name

    def __repr__(self):
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


_known = {}


def _expect_device(index, what):
    """AssertionError, as torch has it for questions about a device that is not there."""
    if not 0 <= index < _runtime.device_count():
        raise AssertionError(f"Invalid {what} id")


def get_device_properties(device):
    index = index_of(device)
    _expect_device(index, "device")
    if index not in _known:
        _known[index] = _CudaDeviceProperties(_runtime.properties(index))
    return _known[index]


def get_device_name(device):
    return get_device_properties(device).name


def get_device_capability(device):
    facts = get_device_properties(device)
    return facts.major, facts.minor


def can_device_access_peer(device, peer_device):
    """False: copies between two devices go by the driver, kernels see the memory of their own."""
    _expect_device(index_of(device), "device")
    _expect_device(index_of(peer_device), "peer device")
    return False


def current_stream(device):
    index = index_of(device)
    return Stream._of(index, _runtime.current_stream(index))


def default_stream(device):
    return Stream._of(index_of(device), 0)


def set_stream(stream):
    if stream is not None:
        _runtime.set_device(stream.device_index)
        _runtime.set_stream(stream.device_index, stream.stream_id)


def stream(stream):
    return StreamContext(stream)


def get_stream_from_external(data_ptr, device):
    return ExternalStream(data_ptr, index_of(device))


def ipc_collect():
    """Nothing: no memory is shared with other processes."""


def _without(library):
    raise RuntimeError(f"minidynamo computes without {library}: there is no handle of it")


def current_blas_handle():
    _without("cuBLAS")


def current_solver_handle():
    _without("cuSOLVER")


def cudart():
    _without("the CUDA runtime library, by the driver alone")


_sync_debug = 0


def get_sync_debug_mode():
    return _sync_debug


def set_sync_debug_mode(debug_mode):
    """Holds the setting: calls that wait for a device neither warn nor fail."""
    global _sync_debug
    names = {"default": 0, "warn": 1, "error": 2}
    mode = names.get(debug_mode, debug_mode) if isinstance(debug_mode, str) else debug_mode
    if mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode: {debug_mode}: expected one of 'default', 'warn', 'error'")
    _sync_debug = mode


def is_current_stream_capturing():
    index = _runtime.current_device()
    return _runtime.is_capturing(index, _runtime.current_stream(index))


def graph_pool_handle():
    from .graphs import new_pool

    return new_pool()


def _measured():
    raise ModuleNotFoundError(
        "pynvml does not seem to be installed or it can't be imported: minidynamo asks the driver alone, which does "
        "not measure this"
    )


def utilization(device):
    _measured()


def temperature(device):
    _measured()


def power_draw(device):
    _measured()


def clock_rate(device):
    _measured()


def memory_usage(device):
    _measured()


def device_memory_used(device):
    facts = _runtime.memory(index_of(device))
    return facts["total"] - facts["free"]

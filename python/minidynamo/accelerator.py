"""torch.accelerator on a machine whose tensors live on the CPU: there is none, which is no device of this kind."""

from ._absent import absent_names as _absent_names


def is_available():
    """False."""
    return False


def device_count():
    """0."""
    return 0


def current_accelerator(check_available=False):
    """None: there is no accelerator."""
    return None


def _refuse(name):
    raise RuntimeError(
        f"torch.accelerator.{name}(): there is no accelerator; ask torch.accelerator.is_available() first"
    )


def current_device_index():
    """RuntimeError: there is no accelerator."""
    _refuse("current_device_index")


def current_device_idx():
    """The older name of current_device_index, with a FutureWarning."""
    _renamed("current_device_idx", "current_device_index")
    _refuse("current_device_index")


def set_device_index(device, /):
    """RuntimeError: there is no accelerator."""
    _refuse("set_device_index")


def set_device_idx(device, /):
    """The older name of set_device_index, with a FutureWarning."""
    _renamed("set_device_idx", "set_device_index")
    _refuse("set_device_index")


def get_device_capability(device=None, /):
    """RuntimeError: there is no accelerator."""
    _refuse("get_device_capability")


def current_stream(device=None, /):
    """RuntimeError: there is no accelerator."""
    _refuse("current_stream")


def set_stream(stream):
    """RuntimeError: there is no accelerator."""
    _refuse("set_stream")


def synchronize(device=None, /):
    """RuntimeError: there is no accelerator."""
    _refuse("synchronize")


def empty_cache():
    """RuntimeError: there is no accelerator."""
    _refuse("empty_cache")


def memory_allocated(device_index=None, /):
    """RuntimeError: there is no accelerator."""
    _refuse("memory_allocated")


def max_memory_allocated(device_index=None, /):
    """RuntimeError: there is no accelerator."""
    _refuse("max_memory_allocated")


def memory_reserved(device_index=None, /):
    """RuntimeError: there is no accelerator."""
    _refuse("memory_reserved")


def max_memory_reserved(device_index=None, /):
    """RuntimeError: there is no accelerator."""
    _refuse("max_memory_reserved")


def memory_stats(device_index=None, /):
    """RuntimeError: there is no accelerator."""
    _refuse("memory_stats")


def get_memory_info(device_index=None, /):
    """RuntimeError: there is no accelerator."""
    _refuse("get_memory_info")


def reset_peak_memory_stats(device_index=None, /):
    """RuntimeError: there is no accelerator."""
    _refuse("reset_peak_memory_stats")


def reset_accumulated_memory_stats(device_index=None, /):
    """RuntimeError: there is no accelerator."""
    _refuse("reset_accumulated_memory_stats")


class device_index:
    """`with` it another accelerator would be the current one; None changes nothing, RuntimeError for others."""

    def __init__(self, device, /):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            _refuse("device_index")

    def __exit__(self, *error):
        return None


def _renamed(old, new):
    import warnings

    warnings.warn(f"torch.accelerator.{old} is torch.accelerator.{new} now", FutureWarning, stacklevel=3)


__getattr__ = _absent_names(__name__)

"""What functions of devices say of which there are none here: tensors live on the CPU."""

from . import _C


def is_present():
    """Whether there are CUDA devices: the first question looks for a driver."""
    return _C._cuda.is_present()


_C._mark_callable(is_present, "constant")  # it stays so while the process lives


def refuse(name):
    """AssertionError for what needs devices of the kind `name`, "CUDA" or "XPU"; of CUDA it says why."""
    why = f" ({_C._cuda.why_unavailable()})" if name == "CUDA" else ""
    raise AssertionError(
        f"Torch not compiled with {name} enabled: minidynamo holds tensors on the CPU; ask "
        f"torch.{name.lower()}.is_available() first{why}"
    )


class no_such_object:
    """Base of the objects of a device: making one raises RuntimeError, `isinstance` works."""

    def __new__(cls, *args, **kwargs):
        where = cls.__module__.split(".")[1]
        raise RuntimeError(f"torch.{where}.{cls.__name__} needs {where.upper()} devices, and minidynamo has none")


class DeviceSwitch:
    """`with` it another device is the current one. None and negative indices change nothing."""

    kind = ""

    def __init__(self, device):
        self.device = device
        self.idx = device_index(device, self.kind)

    def __enter__(self):
        if self.idx < 0:
            return
        if self.kind != "cuda" or not is_present():
            raise RuntimeError(f"device {self.device!r}: minidynamo has no {self.kind.upper()} support")
        self.prev_idx = _C._cuda.current_device()
        _C._cuda.set_device(self.idx)

    def __exit__(self, *error):
        if self.idx >= 0:
            _C._cuda.set_device(self.prev_idx)
        return False


class DeviceOf(DeviceSwitch):
    """`with` it the device of a tensor is the current one; nothing for tensors on the CPU."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if self.kind == "cuda" and getattr(obj, "is_cuda", False) else -1)


class StreamSwitch:
    """`with` it work would go to another stream; None changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return False


def device_index(device, kind):
    """The index of an int, text or device of a `kind`; -1 for None, without one that of the current device, 0 where
    there is none. ValueError for another kind."""
    if device is None:
        return -1
    if isinstance(device, int):
        return device
    device = _C.device(device)
    if device.type != kind:
        raise ValueError(f"a {kind} device is needed, got {device}")
    if device.index is None:
        return _C._cuda.current_device() if kind == "cuda" and is_present() else 0
    return device.index

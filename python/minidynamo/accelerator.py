"""torch.accelerator on a machine whose tensors live on the CPU: there is none, which is no device of this kind."""

from . import _device_modules as _devices
from ._absent import absent_names as _absent_names

_devices.fill(globals(), "accelerator", "core", "memory")


class device_index:
    """`with` it another accelerator would be the current one; None changes nothing, RuntimeError for others."""

    def __init__(self, device, /):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            set_device_index(self.idx)  # noqa: F821  from the table

    def __exit__(self, *error):
        return None


__getattr__ = _absent_names(__name__)

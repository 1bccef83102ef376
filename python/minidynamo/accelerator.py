"""torch.accelerator: the CUDA devices, where there are some. Elsewhere there is none: the CPU is none of this kind."""

from . import _C
from . import _device_modules as _devices
from ._absent import absent_names as _absent_names
from ._no_device import is_present as _is_present

_devices.fill(globals(), "accelerator", "core", "memory")


class device_index:
    """`with` it another accelerator is the current one; None changes nothing. RuntimeError where there is none."""

    def __init__(self, device, /):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            self.prev_idx = _C._cuda.current_device() if _is_present() else None
            set_device_index(self.idx)  # noqa: F821  from the table

    def __exit__(self, *error):
        if self.idx is not None:
            _C._cuda.set_device(self.prev_idx)


__getattr__ = _absent_names(__name__)

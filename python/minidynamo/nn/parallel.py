"""torch.nn.parallel: a module on several devices. Without accelerators it is the module itself."""

from .._absent import absent_names as _absent_names
from .module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Calls `module`, which would be on several GPUs. There is none: it is called as it is, as in torch without one.

    `device_ids` and `output_device` name GPUs: RuntimeError if they are given.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        if device_ids or output_device is not None:
            raise RuntimeError("DataParallel: there are no GPUs here; leave device_ids and output_device away")
        self.module = module
        self.device_ids = []
        self.dim = dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


__getattr__ = _absent_names(__name__)

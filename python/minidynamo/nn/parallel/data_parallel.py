"""torch.nn.parallel.data_parallel: batches spread over CUDA devices, of which there are none."""

from ..._absent import absent_names as _absent_names
from ..module import Module


class DataParallel(Module):
    """Calls `module`, its only submodule: there are no devices to spread the batch over.

    As torch without CUDA devices, which looks at none of the other arguments either.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids = []

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """RuntimeError: there are no devices to spread the batch over."""
    raise RuntimeError("data_parallel(): there are no CUDA devices; call the module itself")


__getattr__ = _absent_names(__name__)

"""The part of Module that speaks of devices, of tensor types and of memory shared between processes."""


class ModuleDevices:
    """Each does to every parameter and buffer what the method of Tensor of that name does; gives the module."""

    def type(self, dst_type):
        """Everything becomes this dtype, or that of this tensor type; integers too."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self):
        return self.to("cpu")

    def cuda(self, device=None):
        """AssertionError for a module with parameters or buffers where there are no CUDA devices."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device=None):
        """AssertionError for a module with parameters or buffers: there are no XPU devices."""
        return self._apply(lambda t: t.xpu(device))

    def mtia(self, device=None):
        """AssertionError for a module with parameters or buffers: there are no MTIA devices."""
        return self._apply(lambda t: t.mtia(device))

    def ipu(self, device=None):
        """RuntimeError for a module with parameters or buffers: there are no such devices."""
        return self._apply(lambda t: t.ipu(device))

    def share_memory(self):
        """Parameters and buffers move to memory that processes share; see Tensor.share_memory_()."""
        return self._apply(lambda t: t.share_memory_())

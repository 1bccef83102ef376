"""torch.distributed.device_mesh: the processes of a program in rows and columns."""

from .._absent import absent_names as _absent_names
from ._mesh import DeviceMesh as DeviceMesh
from ._mesh import init_device_mesh as init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
__getattr__ = _absent_names(__name__)

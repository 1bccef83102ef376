"""torch.nn.parallel: modules on several devices or in several processes; with the one CPU they call the module."""

from ..._absent import absent_names as _absent_names
from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel
from .distributed import DistributedDataParallel as DistributedDataParallel

__all__ = ["data_parallel", "DataParallel", "DistributedDataParallel"]
__getattr__ = _absent_names(__name__)

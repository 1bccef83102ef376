"""torch.utils.tensorboard: event files by the tensorboard package, which has to be installed."""

import tensorboard as _tensorboard  # noqa: F401  ModuleNotFoundError names what to install

from ..._absent import absent_names as _absent_names
from .writer import SummaryWriter

__all__ = ["SummaryWriter"]
__getattr__ = _absent_names(__name__)

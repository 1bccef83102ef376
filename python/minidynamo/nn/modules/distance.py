"""torch.nn.modules.distance, a place where names of torch.nn are too: distances."""

from ..._absent import absent_names as _absent_names
from ..distance import *  # noqa: F403
from ..module import Module as Module

__getattr__ = _absent_names(__name__)

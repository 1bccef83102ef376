"""torch.nn.modules.distance: distances."""

from ..._absent import absent_names as _absent_names
from ..distance import *  # noqa: F403
from ..module import Module as Module

__getattr__ = _absent_names(__name__)

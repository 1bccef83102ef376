"""torch.nn.modules.flatten, a place where names of torch.nn are too: dimensions joined and split."""

from ..._absent import absent_names as _absent_names
from ..flatten import *  # noqa: F403
from ..module import Module as Module

__getattr__ = _absent_names(__name__)

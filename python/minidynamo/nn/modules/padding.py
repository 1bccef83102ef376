"""torch.nn.modules.padding, a place where names of torch.nn are too: padding."""

from ..._absent import absent_names as _absent_names
from ..module import Module as Module
from ..padding import *  # noqa: F403

__getattr__ = _absent_names(__name__)

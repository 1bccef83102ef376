"""torch.nn.modules.container, a place where names of torch.nn are too: modules that hold modules or parameters."""

from ..._absent import absent_names as _absent_names
from ..containers import *  # noqa: F403
from ..module import Module as Module
from ..parameter import Parameter as Parameter

__getattr__ = _absent_names(__name__)

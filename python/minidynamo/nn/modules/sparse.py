"""torch.nn.modules.sparse, a place where names of torch.nn are too: rows of weights by their numbers."""

from ..._absent import absent_names as _absent_names
from ..embedding import *  # noqa: F403
from ..module import Module as Module
from ..parameter import Parameter as Parameter

__getattr__ = _absent_names(__name__)

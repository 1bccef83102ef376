"""torch.nn.modules.normalization, a place where names of torch.nn are too: normalization within an example."""

from ..._absent import absent_names as _absent_names
from ..module import Module as Module
from ..normalization import *  # noqa: F403
from ..parameter import Parameter as Parameter

__getattr__ = _absent_names(__name__)

"""torch.nn.modules.pooling, a place where names of torch.nn are too: pooling."""

from ..._absent import absent_names as _absent_names
from ..module import Module as Module
from ..pooling import *  # noqa: F403
from .utils import _pair as _pair
from .utils import _single as _single
from .utils import _triple as _triple

__getattr__ = _absent_names(__name__)

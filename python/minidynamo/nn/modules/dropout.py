"""torch.nn.modules.dropout, a place where names of torch.nn are too: dropout."""

from ..._absent import absent_names as _absent_names
from ..dropout import *  # noqa: F403
from ..dropout import _DropoutNd as _DropoutNd
from ..module import Module as Module

__getattr__ = _absent_names(__name__)

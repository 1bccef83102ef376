"""torch.nn.modules.adaptive, a place where names of torch.nn are too: the adaptive softmax."""

from ..._absent import absent_names as _absent_names
from ..adaptive_softmax import *  # noqa: F403
from ..adaptive_softmax import _ASMoutput as _ASMoutput
from ..containers import ModuleList as ModuleList
from ..containers import Sequential as Sequential
from ..linear import Linear as Linear
from ..module import Module as Module

__getattr__ = _absent_names(__name__)

"""torch.nn.modules.activation, a place where names of torch.nn are too: activations and attention."""

from ..._absent import absent_names as _absent_names
from ..activation import *  # noqa: F403
from ..linear import NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear
from ..module import Module as Module
from ..multihead_attention import MultiheadAttention as MultiheadAttention
from ..parameter import Parameter as Parameter

__getattr__ = _absent_names(__name__)

"""torch.nn.modules.transformer, a place where names of torch.nn are too: the Transformer."""

from ..._absent import absent_names as _absent_names
from ..containers import ModuleList as ModuleList
from ..dropout import Dropout as Dropout
from ..linear import Linear as Linear
from ..module import Module as Module
from ..multihead_attention import MultiheadAttention as MultiheadAttention
from ..normalization import LayerNorm as LayerNorm
from ..transformer import *  # noqa: F403

__getattr__ = _absent_names(__name__)

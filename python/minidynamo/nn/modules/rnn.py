"""torch.nn.modules.rnn, a place where names of torch.nn are too: recurrent layers and cells."""

from ..._absent import absent_names as _absent_names
from ..module import Module as Module
from ..packed_sequence import PackedSequence as PackedSequence
from ..parameter import Parameter as Parameter
from ..recurrent import *  # noqa: F403
from ..recurrent_cells import *  # noqa: F403

__getattr__ = _absent_names(__name__)

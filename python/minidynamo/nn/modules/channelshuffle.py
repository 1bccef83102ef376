"""torch.nn.modules.channelshuffle, a place where names of torch.nn are too: channels of groups mixed."""

from ..._absent import absent_names as _absent_names
from ..module import Module as Module
from ..rearranging import ChannelShuffle as ChannelShuffle

__getattr__ = _absent_names(__name__)

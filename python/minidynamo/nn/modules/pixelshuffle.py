"""torch.nn.modules.pixelshuffle, a place where names of torch.nn are too: channels as positions, and back."""

from ..._absent import absent_names as _absent_names
from ..module import Module as Module
from ..rearranging import PixelShuffle as PixelShuffle
from ..rearranging import PixelUnshuffle as PixelUnshuffle

__getattr__ = _absent_names(__name__)

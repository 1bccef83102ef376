"""torch.nn.modules.upsampling, a place where names of torch.nn are too: resizing."""

from ..._absent import absent_names as _absent_names
from ..module import Module as Module
from ..rearranging import Upsample as Upsample
from ..rearranging import UpsamplingBilinear2d as UpsamplingBilinear2d
from ..rearranging import UpsamplingNearest2d as UpsamplingNearest2d

__getattr__ = _absent_names(__name__)

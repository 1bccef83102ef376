"""torch.nn.modules.conv, a place where names of torch.nn are too: convolutions."""

from ..._absent import absent_names as _absent_names
from ..convolution import *  # noqa: F403
from ..convolution import _ConvNd as _ConvNd
from ..convolution import _ConvTransposeNd as _ConvTransposeNd
from ..lazy import LazyConv1d as LazyConv1d
from ..lazy import LazyConv2d as LazyConv2d
from ..lazy import LazyConv3d as LazyConv3d
from ..lazy import LazyConvTranspose1d as LazyConvTranspose1d
from ..lazy import LazyConvTranspose2d as LazyConvTranspose2d
from ..lazy import LazyConvTranspose3d as LazyConvTranspose3d
from ..lazy import LazyModuleMixin as LazyModuleMixin
from ..module import Module as Module
from ..parameter import Parameter as Parameter
from ..parameter import UninitializedParameter as UninitializedParameter
from .utils import _pair as _pair
from .utils import _reverse_repeat_tuple as _reverse_repeat_tuple
from .utils import _single as _single
from .utils import _triple as _triple

__getattr__ = _absent_names(__name__)

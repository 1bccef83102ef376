"""torch.nn.modules.batchnorm, a place where names of torch.nn are too: normalization over the batch."""

from ..._absent import absent_names as _absent_names
from ..batch_norm import *  # noqa: F403
from ..batch_norm import _BatchNorm as _BatchNorm
from ..batch_norm import _NormBase as _NormBase
from ..lazy import LazyBatchNorm1d as LazyBatchNorm1d
from ..lazy import LazyBatchNorm2d as LazyBatchNorm2d
from ..lazy import LazyBatchNorm3d as LazyBatchNorm3d
from ..module import Module as Module
from ..parameter import Parameter as Parameter
from ..parameter import UninitializedBuffer as UninitializedBuffer
from ..parameter import UninitializedParameter as UninitializedParameter

__getattr__ = _absent_names(__name__)

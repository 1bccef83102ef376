"""torch.nn.modules.instancenorm, a place where names of torch.nn are too: normalization of each instance."""

from ..._absent import absent_names as _absent_names
from ..batch_norm import _NormBase as _NormBase
from ..instance_norm import *  # noqa: F403
from ..instance_norm import _InstanceNorm as _InstanceNorm
from ..lazy import LazyInstanceNorm1d as LazyInstanceNorm1d
from ..lazy import LazyInstanceNorm2d as LazyInstanceNorm2d
from ..lazy import LazyInstanceNorm3d as LazyInstanceNorm3d

__getattr__ = _absent_names(__name__)

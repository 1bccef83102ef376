"""torch.nn.modules.loss, a place where names of torch.nn are too: losses."""

from ..._absent import absent_names as _absent_names
from ..distance import PairwiseDistance as PairwiseDistance
from ..loss import *  # noqa: F403
from ..loss import _Loss as _Loss
from ..loss import _WeightedLoss as _WeightedLoss
from ..module import Module as Module

__getattr__ = _absent_names(__name__)

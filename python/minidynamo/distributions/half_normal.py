"""torch.distributions.half_normal: absolute values of normal variables."""

import math

from .._absent import absent_names as _absent_names
from .folded_distribution import FoldedDistribution
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(FoldedDistribution):
    """|X| for X of Normal(0, scale)."""

    _folded = Normal

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale.pow(2) * (1 - 2 / math.pi)


__getattr__ = _absent_names(__name__)

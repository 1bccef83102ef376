"""torch.distributions.half_cauchy: absolute values of Cauchy variables."""

from .._absent import absent_names as _absent_names
from .cauchy import Cauchy
from .folded_distribution import FoldedDistribution

__all__ = ["HalfCauchy"]


class HalfCauchy(FoldedDistribution):
    """|X| for X of Cauchy(0, scale). It has no finite mean."""

    _folded = Cauchy

    @property
    def mean(self):
        return self.scale.new_full(self._extended_shape(), float("inf"))

    @property
    def variance(self):
        return self.base_dist.variance


__getattr__ = _absent_names(__name__)

"""torch.distributions.gumbel: maxima of many draws."""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from .._limits import finfo
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """Gumbel distribution: P(X <= x) = exp(-exp(-(x - loc) / scale))."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        low, high = _C.full_like(self.loc, limits.tiny), _C.full_like(self.loc, 1 - limits.eps)
        base = Uniform(low, high, validate_args=validate_args)
        super().__init__(base, self._from_uniform(), validate_args=validate_args)

    def _from_uniform(self):
        """loc - scale log(-log(u))."""
        negative = AffineTransform(loc=0, scale=-_C.ones_like(self.scale))
        stretch = AffineTransform(loc=self.loc, scale=-self.scale)
        return [ExpTransform().inv, negative, ExpTransform().inv, stretch]

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc = self.loc.expand(batch_shape)
        new.scale = self.scale.expand(batch_shape)
        expanded = super().expand(batch_shape, _instance=new)
        expanded.transforms = new._from_uniform()
        return expanded

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self):
        return self.loc + self.scale * euler_constant

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self):
        return self.stddev.pow(2)

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)


__getattr__ = _absent_names(__name__)

"""torch.distributions.kumaraswamy: proportions, with a distribution function that has a closed inverse."""

from .. import _C
from .._absent import absent_names as _absent_names
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


def _moments(a, b, n):
    """E[X^n] = b B(1 + n / a, b)."""
    shift = 1 + n / a
    return (b.log() + shift.lgamma() + b.lgamma() - (shift + b).lgamma()).exp()


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy distribution: P(X <= x) = 1 - (1 - x^concentration1)^concentration0 on [0, 1]."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            _C.zeros_like(self.concentration0), _C.ones_like(self.concentration0), validate_args=validate_args
        )
        super().__init__(base, self._from_uniform(), validate_args=validate_args)

    def _from_uniform(self):
        """(1 - u^(1 / concentration0))^(1 / concentration1)."""
        return [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        expanded = super().expand(batch_shape, _instance=new)
        expanded.transforms = new._from_uniform()
        return expanded

    @property
    def mean(self):
        return _moments(self.concentration1, self.concentration0, 1)

    @property
    def mode(self):
        """NaN where a concentration is below 1."""
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)).pow(a.reciprocal())
        return mode.masked_fill((a < 1) | (b < 1), float("nan"))

    @property
    def variance(self):
        return _moments(self.concentration1, self.concentration0, 2) - self.mean.pow(2)

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()


__getattr__ = _absent_names(__name__)

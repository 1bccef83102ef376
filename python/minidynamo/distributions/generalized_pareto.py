"""torch.distributions.generalized_pareto: excesses over a high threshold."""

from .. import _C
from .._absent import absent_names as _absent_names
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Generalized Pareto distribution: P(X > x) = (1 + c z)^(-1 / c) for z = (x - loc) / scale, e^-z for c = 0.

    c is `concentration`; for a negative one, x is at most loc - scale / c.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(GeneralizedPareto, batch_shape, _instance, "loc", "scale", "concentration")

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        upper = self.loc - self.scale / self.concentration
        upper = _C.where(self.concentration < 0, upper, _C.full_like(upper, float("inf")))
        return constraints.interval(self.loc, upper)

    def _is_exponential(self):
        return _C.isclose(self.concentration, _C.zeros_like(self.concentration))

    def _nonzero_concentration(self):
        return _C.where(self._is_exponential(), _C.ones_like(self.concentration), self.concentration)

    def _z(self, x):
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape=()):
        u = _C.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.icdf(u)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z, c = self._z(value), self._nonzero_concentration()
        exponential = self._is_exponential()
        c_z = (_C.where(exponential, _C.zeros_like(c), c) * z).log1p()
        return -self.scale.log() - _C.where(exponential, z, (1 / c + 1) * c_z)

    def log_survival_function(self, value):
        """log P(X > value)."""
        if self._validate_args:
            self._validate_sample(value)
        z, c = self._z(value), self._nonzero_concentration()
        exponential = self._is_exponential()
        c_z = (_C.where(exponential, _C.zeros_like(c), c) * z).log1p()
        return -_C.where(exponential, z, c_z / c)

    def log_cdf(self, value):
        """log P(X <= value)."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value):
        return self.log_cdf(value).exp()

    def icdf(self, value):
        c = self._nonzero_concentration()
        log_upper = (-value).log1p()
        bent = (-c * log_upper).expm1() / c
        return self.loc + self.scale * _C.where(self._is_exponential(), -log_upper, bent)

    @property
    def mean(self):
        """NaN for a concentration of at least 1."""
        c = self.concentration
        mean = self.loc + self.scale / (1 - c.masked_fill(c >= 1, 0.0))
        return mean.masked_fill(c >= 1, float("nan"))

    @property
    def variance(self):
        """NaN for a concentration of at least 1/2."""
        missing = self.concentration >= 0.5
        c = self.concentration.masked_fill(missing, 0.0)
        variance = self.scale.pow(2) / ((1 - c).pow(2) * (1 - 2 * c))
        return variance.masked_fill(missing, float("nan"))

    @property
    def mode(self):
        return self.loc

    def entropy(self):
        return self.scale.log() + self.concentration + 1


__getattr__ = _absent_names(__name__)

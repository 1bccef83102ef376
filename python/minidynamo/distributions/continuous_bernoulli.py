"""torch.distributions.continuous_bernoulli: densities proportional to p^x (1 - p)^(1 - x) on [0, 1]."""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from ..autograd.grad_mode import no_grad
from ..nn.functional import binary_cross_entropy_with_logits as _cross_entropy
from . import constraints
from .exp_family import ExponentialFamily
from .probs_or_logits import EventOdds
from .utils import broadcast_all, clamp_probs, lazy_property, probs_to_logits

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(EventOdds, ExponentialFamily):
    """Continuous Bernoulli distribution (Loaiza-Ganem and Cunningham, "The continuous Bernoulli", 2019).

    probs: in (0, 1), moved inside by machine epsilon; or its log-odds `logits`. It is not the mean.
    lims: the probs between which formulas with 1 - 2 probs below the line give way to Taylor series.
    """

    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        (given,) = self._set_odds(probs, logits)
        if probs is not None:
            if validate_args is not None:
                self._validate_args = validate_args
            if self._is_validating() and not constraints.unit_interval.check(given).all():
                raise ValueError(f"probs of ContinuousBernoulli has to be within [0, 1], and is {given}")
            self.probs = clamp_probs(given)
        self._lims = lims
        super().__init__(given.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(ContinuousBernoulli, _instance)
        new._lims = self._lims
        return self._expand_parameters(ContinuousBernoulli, batch_shape, new, "probs", "logits")

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        return clamp_probs(_C.sigmoid(self.logits))

    def _outside_unstable_region(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self):
        """probs where the formulas are stable, else the lower limit, for which they are."""
        return _C.where(self._outside_unstable_region(), self.probs, self._lims[0] * _C.ones_like(self.probs))

    def _cont_bern_log_norm(self):
        """log of 2 artanh(1 - 2 p) / (1 - 2 p), by which the density is multiplied."""
        p = self._cut_probs()
        below = (-2.0 * _C.where(p <= 0.5, p, _C.zeros_like(p))).log1p()
        above = (2.0 * _C.where(p >= 0.5, p, _C.ones_like(p)) - 1.0).log()
        log_norm = ((-p).log1p() - p.log()).abs().log() - _C.where(p <= 0.5, below, above)
        x = (self.probs - 0.5).square()
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return _C.where(self._outside_unstable_region(), log_norm, taylor)

    @property
    def mean(self):
        p = self._cut_probs()
        plain = p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log())
        x = self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.square()) * x
        return _C.where(self._outside_unstable_region(), plain, taylor)

    @property
    def stddev(self):
        return self.variance.sqrt()

    @property
    def variance(self):
        p = self._cut_probs()
        plain = p * (p - 1.0) / (1.0 - 2.0 * p).square() + 1.0 / ((-p).log1p() - p.log()).square()
        x = (self.probs - 0.5).square()
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return _C.where(self._outside_unstable_region(), plain, taylor)

    def sample(self, sample_shape=()):
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(_C.rand(shape, dtype=self._param.dtype, device=self._param.device))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -_cross_entropy(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut_probs()
        plain = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = _C.where(self._outside_unstable_region(), plain, value)
        inside = _C.where(value <= 0.0, _C.zeros_like(inside), inside)
        return _C.where(value >= 1.0, _C.ones_like(inside), inside)

    def icdf(self, value):
        p = self._cut_probs()
        plain = ((-p + value * (2.0 * p - 1.0)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return _C.where(self._outside_unstable_region(), plain, value)

    def entropy(self):
        log_0, log_1 = (-self.probs).log1p(), self.probs.log()
        return self.mean * (log_0 - log_1) - self._cont_bern_log_norm() - log_0

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        """log of (e^x - 1) / x, by its series about 0 next to that."""
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = _C.where(outside, x, (self._lims[0] - 0.5) * _C.ones_like(x))
        plain = (cut.exp() - 1.0).abs().log() - cut.abs().log()
        return _C.where(outside, plain, 0.5 * x + x.square() / 24.0 - x.pow(4) / 2880.0)


__getattr__ = _absent_names(__name__)

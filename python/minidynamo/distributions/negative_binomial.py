"""torch.distributions.negative_binomial: successes before a number of failures."""

from .. import _C
from .._absent import absent_names as _absent_names
from ..autograd.grad_mode import no_grad
from ..nn.functional import logsigmoid
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .probs_or_logits import EventOdds
from .random_draws import poisson
from .utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(EventOdds, Distribution):
    """Number of events of probability `probs`, or log-odds `logits`, before `total_count` trials went without one.

    total_count may be any nonnegative number: a Poisson count whose rate is of Gamma(total_count, exp(-logits)).
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        given, count = self._set_odds(probs, logits, total_count)
        self.total_count = count.type_as(given)
        super().__init__(given.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(NegativeBinomial, batch_shape, _instance, "total_count", "probs", "logits")

    @property
    def mean(self):
        return self.total_count * self.logits.exp()

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / _C.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self):
        return Gamma(concentration=self.total_count, rate=(-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape=()):
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        powers = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = (self.total_count + value).lgamma() - (1.0 + value).lgamma() - self.total_count.lgamma()
        return powers + ways.masked_fill(self.total_count + value == 0, 0)


__getattr__ = _absent_names(__name__)

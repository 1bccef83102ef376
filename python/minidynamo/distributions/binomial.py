"""torch.distributions.binomial: how many of several events happen."""

from .. import _C
from .._absent import absent_names as _absent_names
from . import constraints
from .distribution import Distribution
from .probs_or_logits import EventOdds
from .random_draws import binomial as _draw

__all__ = ["Binomial"]


class Binomial(EventOdds, Distribution):
    """Number of events among `total_count` independent ones of probability `probs` or log-odds `logits`."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, **EventOdds.arg_constraints}
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        given, count = self._set_odds(probs, logits, total_count)
        self.total_count = count.type_as(given)
        super().__init__(given.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Binomial, batch_shape, _instance, "total_count", "probs", "logits")

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return _draw(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        """log of n! / (k! (n - k)!) p^k (1 - p)^(n - k), where the last two are k logit - n log(1 + e^logit)."""
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        log_one_plus = logits.clamp(min=0) + (-logits.abs()).exp().log1p()
        return value * logits + ways - n * log_one_plus

    def _single_count(self, method):
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"{method} of Binomial needs the same total_count everywhere")
        return count

    def entropy(self):
        """By the sum over all counts. NotImplementedError if total_count varies."""
        self._single_count("entropy()")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        """0 to total_count. NotImplementedError if that varies."""
        count = self._single_count("enumerate_support()")
        return self._enumerated(_C.arange(1 + count, dtype=self._param.dtype, device=self._param.device), expand)


__getattr__ = _absent_names(__name__)

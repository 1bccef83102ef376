"""torch.distributions.bernoulli: 1 with probability p, else 0."""

from .. import _C
from .._absent import absent_names as _absent_names
from ..autograd.grad_mode import no_grad
from ..nn.functional import binary_cross_entropy_with_logits as _cross_entropy
from . import constraints
from .exp_family import ExponentialFamily
from .probs_or_logits import EventOdds
from .utils import broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(EventOdds, ExponentialFamily):
    """Bernoulli distribution: `probs`, the probability of 1, or its log-odds `logits`. Draws have their dtype."""

    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, validate_args=None):
        (given,) = self._set_odds(probs, logits)
        super().__init__(given.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Bernoulli, batch_shape, _instance, "probs", "logits")

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        """NaN where 0 and 1 are equally likely."""
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, float("nan"))

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return _C.bernoulli(self.probs.expand(shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -_cross_entropy(logits, value, reduction="none")

    def entropy(self):
        return _cross_entropy(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return self._enumerated(_C.arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        return x.exp().log1p()


__getattr__ = _absent_names(__name__)

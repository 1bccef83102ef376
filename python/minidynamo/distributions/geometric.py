"""torch.distributions.geometric: failures before the first success."""

from .. import _C
from .._absent import absent_names as _absent_names
from .._limits import finfo
from ..autograd.grad_mode import no_grad
from ..nn.functional import binary_cross_entropy_with_logits as _cross_entropy
from . import constraints
from .distribution import Distribution
from .probs_or_logits import EventOdds
from .utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(EventOdds, Distribution):
    """Number of failures, from 0 on, before an event of probability `probs`, or log-odds `logits`, happens.

    ValueError for a probability of 0.
    """

    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        (given,) = self._set_odds(probs, logits)
        super().__init__(given.size(), validate_args=validate_args)
        if self._is_validating() and probs is not None and not (given > 0).all():
            raise ValueError(f"probs of Geometric has to be positive: the event would never happen for all of {given}")

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Geometric, batch_shape, _instance, "probs", "logits")

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return _C.zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = _C.rand(shape, dtype=self.probs.dtype, device=self.probs.device)
            u = u.clamp(min=finfo(self.probs.dtype).tiny)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)  # 0 times log 0 is 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self):
        return _cross_entropy(self.logits, self.probs, reduction="none") / self.probs


__getattr__ = _absent_names(__name__)

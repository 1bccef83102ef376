"""torch.distributions.categorical: one of n categories."""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from .._limits import finfo
from . import constraints
from .distribution import Distribution
from .probs_or_logits import CategoryOdds
from .utils import _as_size

__all__ = ["Categorical"]


class Categorical(CategoryOdds, Distribution):
    """Categories 0 to n - 1, with probabilities proportional to `probs` or to exp(`logits`), of shape (..., n).

    Draws and values are int64. Mean and variance, of which categories have none, are NaN.
    """

    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._set_odds(probs, logits)
        self._num_events = self._param.size(-1)
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Categorical, _instance)
        new._num_events = self._num_events
        return self._expand_parameters(Categorical, batch_shape, new, "probs", "logits")

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self):
        return self._param.new_full(self._extended_shape(), float("nan"))

    @property
    def mode(self):
        return self.probs.argmax(-1)

    @property
    def variance(self):
        return self._param.new_full(self._extended_shape(), float("nan"))

    def sample(self, sample_shape=()):
        sample_shape = _as_size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = _C.multinomial(rows, math.prod(sample_shape), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value, logits = _C.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)  # 0 log 0 is 0
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        return self._enumerated(_C.arange(self._num_events, dtype=_C.long, device=self._param.device), expand)


__getattr__ = _absent_names(__name__)

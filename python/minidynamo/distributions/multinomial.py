"""torch.distributions.multinomial: how often each category comes up."""

from .. import _C
from .._absent import absent_names as _absent_names
from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import _as_size, broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """Counts of n categories in `total_count` draws, with probabilities `probs` or `logits` as Categorical's.

    NotImplementedError unless total_count is an int: it is one for the whole batch.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError(f"total_count of Multinomial has to be an int, not {total_count!r}")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        batch_shape, event_shape = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Multinomial, _instance)
        batch_shape = _as_size(batch_shape)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = self._binomial.expand(batch_shape + self.event_shape)
        return self._finish_expanded(new, batch_shape)

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def param_shape(self):
        return self._categorical.param_shape

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample(_as_size((self.total_count,)) + _as_size(sample_shape)).movedim(0, -1)
        counts = _C.zeros(self._extended_shape(sample_shape), dtype=_C.long, device=drawn.device)
        return counts.scatter_add(-1, drawn, _C.ones_like(drawn)).to(self.probs.dtype)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -float("inf")), 0)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self):
        """n H(p) - log n! + sum over categories of E[log k!] for the binomial count k of each."""
        n = _C.tensor(self.total_count, dtype=self.probs.dtype, device=self.probs.device)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        expected = self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()
        return n * self._categorical.entropy() - (n + 1).lgamma() + expected.sum((0, -1))


__getattr__ = _absent_names(__name__)

"""torch.distributions.one_hot_categorical: categories as vectors with a single 1."""

from .. import _C
from .._absent import absent_names as _absent_names
from ..nn.functional import one_hot
from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .utils import _as_size

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """Categorical whose draws are vectors of n, with a 1 at the category, of the dtype of `probs` or `logits`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        batch_shape, event_shape = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(OneHotCategorical, _instance)
        batch_shape = _as_size(batch_shape)
        new._categorical = self._categorical.expand(batch_shape)
        return self._finish_expanded(new, batch_shape)

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @property
    def _param(self):
        return self._categorical._param

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def mean(self):
        return self._categorical.probs

    @property
    def mode(self):
        return self._as_vectors(self._categorical.mode)

    @property
    def variance(self):
        return self._categorical.probs * (1 - self._categorical.probs)

    @property
    def param_shape(self):
        return self._categorical.param_shape

    def _as_vectors(self, categories):
        return one_hot(categories, self._categorical._num_events).to(self._param.dtype)

    def sample(self, sample_shape=()):
        return self._as_vectors(self._categorical.sample(_as_size(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self.event_shape[0]
        return self._enumerated(_C.eye(n, dtype=self._param.dtype, device=self._param.device), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical with rsample(): draws whose gradients are taken to be those of the probabilities.

    Bengio, Leonard and Courville, "Estimating or propagating gradients through stochastic neurons for conditional
    computation", 2013. The gradients are biased.
    """

    has_rsample = True

    def rsample(self, sample_shape=()):
        probs = self._categorical.probs
        return self.sample(sample_shape) + (probs - probs.detach())


__getattr__ = _absent_names(__name__)

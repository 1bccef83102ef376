"""torch.distributions.mixture_same_family: one of several distributions of a kind, chosen at random."""

from .._absent import absent_names as _absent_names
from ..autograd.grad_mode import no_grad
from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution
from .utils import _as_size

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Draws of `component_distribution`, whose last batch dimension is components, chosen by `mixture_distribution`.

    mixture_distribution: a Categorical over as many categories as there are components.
    Raises ValueError for other types and for shapes that do not fit.
    """

    arg_constraints = {}
    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self._check_parts(mixture_distribution, component_distribution)
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = component_distribution.batch_shape[-1]
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(component_distribution.batch_shape[:-1], event_shape, validate_args=validate_args)

    @staticmethod
    def _check_parts(mixture, component):
        if not isinstance(mixture, Categorical):
            raise ValueError(f"mixture_distribution has to be a Categorical, not {mixture!r}")
        if not isinstance(component, Distribution):
            raise ValueError(f"component_distribution has to be a Distribution, not {component!r}")
        if not component.batch_shape:
            raise IndexError("component_distribution needs a batch dimension, that of the components")
        batch, expected = mixture.batch_shape, component.batch_shape[:-1]
        if len(batch) > len(expected) or any(1 != i != j != 1 for i, j in zip(reversed(batch), reversed(expected))):
            raise ValueError(
                f"batch shapes do not fit: {tuple(batch)} of mixture_distribution, {tuple(expected)} before the "
                "components of component_distribution"
            )
        count, components = mixture.logits.shape[-1], component.batch_shape[-1]
        if count != components:
            raise ValueError(f"mixture_distribution has {count} categories, and there are {components} components")

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = _as_size(batch_shape)
        new._component_distribution = self._component_distribution.expand(batch_shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        return self._finish_expanded(new, batch_shape)

    @constraints.dependent_property
    def support(self):
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        return self._mixture_distribution

    @property
    def component_distribution(self):
        return self._component_distribution

    def _weights(self):
        return self._pad_mixture_dimensions(self.mixture_distribution.probs)

    @property
    def mean(self):
        return (self._weights() * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self):
        """The mean of the components' variances and the variance of their means."""
        weights, dim = self._weights(), -1 - self._event_ndims
        off = self.component_distribution.mean - self._pad(self.mean)
        return (weights * self.component_distribution.variance).sum(dim) + (weights * off.pow(2)).sum(dim)

    def cdf(self, x):
        components = self.component_distribution.cdf(self._pad(x))
        return (components * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x):
        if self._validate_args:
            self._validate_sample(x)
        components = self.component_distribution.log_prob(self._pad(x))
        return (components + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape=()):
        with no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            chosen = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index_shape = drawn.shape[:dim] + (1,) + self.event_shape
            return drawn.gather(dim, chosen.expand(index_shape)).squeeze(dim)

    def _pad(self, x):
        """With a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x):
        """(..., components) as (..., components, 1, ...), for the dimensions of an event."""
        missing = len(self.batch_shape) - len(self.mixture_distribution.batch_shape)
        shape = x.shape
        return x.reshape(shape[:-1] + (1,) * missing + shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"


__getattr__ = _absent_names(__name__)

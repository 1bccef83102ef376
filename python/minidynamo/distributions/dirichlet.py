"""torch.distributions.dirichlet: shares of a whole."""

from .. import _C
from .._absent import absent_names as _absent_names
from . import constraints
from .exp_family import ExponentialFamily
from .random_draws import dirichlet as _draw

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Dirichlet distribution over vectors of n shares; `concentration` is (..., n). ValueError if it is a number."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional: its last dimension is shares")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Dirichlet, batch_shape, _instance, "concentration")

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        """(a - 1) / sum(a - 1); where all of a are below 1, the vertex of the largest, though density is infinite."""
        over = (self.concentration - 1).clamp(min=0.0)
        mode = over / over.sum(-1, True)
        largest = self.concentration == self.concentration.max(-1, keepdim=True)[0]
        first = largest & (largest.long().cumsum(-1) == 1)
        return _C.where((self.concentration < 1).all(-1, keepdim=True), first.to(mode.dtype), mode)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.square() * (total + 1))

    def rsample(self, sample_shape=()):
        return _draw(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return _C.xlogy(a - 1.0, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self):
        a = self.concentration
        n, total = a.size(-1), a.sum(-1)
        normalizer = a.lgamma().sum(-1) - total.lgamma()
        return normalizer - (n - total) * total.digamma() - ((a - 1.0) * a.digamma()).sum(-1)

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


__getattr__ = _absent_names(__name__)

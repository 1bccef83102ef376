"""torch.distributions.exp_family: densities exp(<t(x), theta> - F(theta) + k(x)), and what follows from F."""

from .._absent import absent_names as _absent_names
from ..autograd.backward import grad as _grad
from .distribution import Distribution
from .utils import _sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Base of exponential families: natural parameters theta, log-normalizer F, mean of the carrier measure k.

    Subclasses define `_natural_params`, a tuple of tensors, `_log_normalizer(*natural_params)` and
    `_mean_carrier_measure`, the expectation of k(x).
    """

    @property
    def _natural_params(self):
        raise NotImplementedError(f"{type(self).__name__} does not define its natural parameters")

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError(f"{type(self).__name__} does not define its log-normalizer")

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError(f"{type(self).__name__} does not define the mean of its carrier measure")

    def entropy(self):
        """F(theta) - <theta, F'(theta)> - E[k(x)] (Nielsen and Nock, "Entropies and cross-entropies of exponential
        families", 2010)."""
        carrier = -self._mean_carrier_measure
        theta = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*theta)
        gradients = _grad(normalizer.sum(), theta, create_graph=True)
        result = carrier + normalizer
        for value, gradient in zip(theta, gradients):
            result = result - _sum_rightmost(value * gradient, value.dim() - len(self._batch_shape))
        return result


__getattr__ = _absent_names(__name__)

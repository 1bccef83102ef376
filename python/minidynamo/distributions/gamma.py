"""torch.distributions.gamma: waiting times for several events."""

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import disable as _disable
from ..autograd.function import Function, once_differentiable
from . import constraints
from .exp_family import ExponentialFamily
from .implicit_gradients import gamma_gradient, gamma_probability
from .random_draws import smallest_positive, standard_gamma
from .utils import broadcast_all

__all__ = ["Gamma"]


class _Probability(Function):
    @staticmethod
    def forward(ctx, concentration, value):
        ctx.save_for_backward(concentration, value)
        return gamma_probability(concentration, value)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        concentration, value = ctx.saved_tensors
        density = _C.xlogy(concentration - 1, value) - value - concentration.lgamma()
        to_value = grad * density.exp()
        to_concentration = -to_value * gamma_gradient(value, concentration) if ctx.needs_input_grad[0] else None
        return to_concentration, to_value


@_disable
def _probability(concentration, value):
    """P(X <= value) for X of Gamma(concentration, 1)."""
    return _Probability.apply(*_C.broadcast_tensors(concentration, value))


class Gamma(ExponentialFamily):
    """Gamma distribution: density proportional to x^(concentration - 1) e^(-rate x); numbers or tensors."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Gamma, batch_shape, _instance, "concentration", "rate")

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate.square()

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # Above 0 without a gradient that ends there: the draw is moved, the way to the parameters is not.
        return value + (value.detach().clamp(min=smallest_positive(value.dtype)) - value.detach())

    def log_prob(self, value):
        value = _C.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        shape = _C.xlogy(self.concentration, self.rate) + _C.xlogy(self.concentration - 1, value)
        return shape - self.rate * value - self.concentration.lgamma()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _probability(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()


__getattr__ = _absent_names(__name__)

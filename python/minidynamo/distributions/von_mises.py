"""torch.distributions.von_mises: directions in the plane."""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import disable as _disable
from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]

# Abramowitz and Stegun, "Handbook of Mathematical Functions", 9.8.1 to 9.8.4: polynomials in (x / 3.75)^2 for I0 and
# I1 / x below 3.75, in 3.75 / x for sqrt(x) e^-x I0 and I1 above. Relative errors are below 1e-6, some below 2e-7.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
)
_LARGE = (
    (0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633, 0.00392377),
    (0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312, 0.01787654, -0.00420059),
)


def _polynomial(x, coefficients):
    result = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = coefficient + x * result
    return result


def _log_modified_bessel_fn(x, order=0):
    """log of the modified Bessel function I0 or I1 of positive x."""
    ratio = x / 3.75
    small = _polynomial(ratio.square(), _SMALL[order]).log()
    if order == 1:
        small = x.log() + small
    large = x - 0.5 * x.log() + _polynomial(ratio.reciprocal(), _LARGE[order]).log()
    return _C.where(x < 3.75, small, large)


@_disable
def _draw(loc, concentration, proposal_r):
    """Best and Fisher, "Efficient simulation of the von Mises distribution", 1979; float64, in [-pi, pi)."""
    angle = _C.zeros_like(loc)
    pending = _C.ones_like(loc, dtype=_C.bool)
    while pending.any():
        u = _C.rand((3,) + tuple(loc.shape), dtype=loc.dtype, device=loc.device)
        z = (math.pi * u[0]).cos()
        f = (1 + proposal_r * z) / (proposal_r + z)
        c = concentration * (proposal_r - f)
        accepted = (c * (2 - c) - u[1] > 0) | ((c / u[1]).log() + 1 - c >= 0)
        proposed = (u[2] - 0.5).sign() * f.clamp(min=-1, max=1).acos()
        angle = _C.where(pending & accepted, proposed, angle)
        pending = pending & ~accepted
    return (angle + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(Distribution):
    """Von Mises distribution of angles in radians: density proportional to exp(concentration cos(x - loc)).

    loc is any angle; draws are in [-pi, pi). Densities are normalised with Bessel functions good to about 1e-7.
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(VonMises, batch_shape, _instance, "loc", "concentration")

    @property
    def mean(self):
        """The circular one."""
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """The circular one, 1 - I1(concentration) / I0(concentration)."""
        log_ratio = _log_modified_bessel_fn(self.concentration, 1) - _log_modified_bessel_fn(self.concentration, 0)
        return 1 - log_ratio.exp()

    @lazy_property
    def _loc(self):
        return self.loc.to(_C.double)

    @lazy_property
    def _concentration(self):
        return self.concentration.to(_C.double)

    @lazy_property
    def _proposal_r(self):
        """(1 + rho^2) / (2 rho) of the wrapped Cauchy distribution that proposes angles."""
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa.square()).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        exact = (1 + rho.square()) / (2 * rho)
        return _C.where(kappa < 1e-5, 1 / kappa + kappa, exact)  # where rho cancels

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            parameters = [p.detach().expand(shape) for p in (self._loc, self._concentration, self._proposal_r)]
            return _draw(*parameters).to(self.loc.dtype)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        log_prob = self.concentration * (value - self.loc).cos()
        return log_prob - math.log(2 * math.pi) - _log_modified_bessel_fn(self.concentration, 0)


__getattr__ = _absent_names(__name__)

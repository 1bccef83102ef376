"""torch.nn.utils.parametrizations: weight_norm and spectral_norm as parametrizations."""

from ... import _C
from ..._absent import absent_names as _absent_names
from ...autograd.grad_mode import no_grad
from ..functional import normalize
from ..module import Module
from .orthogonal import orthogonal as orthogonal
from .parametrize import register_parametrization
from .spectral_norm import as_matrix, default_dim, iterate
from .weight_norm import norm_except_dim, weight_of

_FIRST_ITERATIONS = 15  # torch's


class _WeightNorm(Module):
    """original0 is the length g, original1 the direction v."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        """(g, v) that give this weight."""
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """The module, its weight a length times a direction, for each index of `dim` or, for None, in all."""
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    """Divides a weight by its largest singular value; in training mode with steps towards that value."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if not -weight.dim() <= dim < max(weight.dim(), 1):
            raise IndexError(f"dim {dim} is none of a weight of {weight.dim()} dimensions")
        if n_power_iterations <= 0:
            raise ValueError(f"n_power_iterations: a positive number is needed, got {n_power_iterations}")
        self.dim = dim % weight.dim()
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.dim() > 1:
            with no_grad():
                matrix = as_matrix(weight, self.dim)
                u = normalize(matrix.new_empty(matrix.size(0)).normal_(0, 1), dim=0, eps=eps)
                v = normalize(matrix.new_empty(matrix.size(1)).normal_(0, 1), dim=0, eps=eps)
                iterate(matrix, u, v, _FIRST_ITERATIONS, eps)
            self.register_buffer("_u", u.detach())
            self.register_buffer("_v", v.detach())

    def forward(self, weight):
        if weight.dim() == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            iterate(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        u, v = self._u.clone(), self._v.clone()  # the next forward changes them
        return weight / _C.dot(u, _C.mv(matrix, v))

    def right_inverse(self, value):
        """The value itself: it may be assigned where it is normalised already."""
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The module, its weight divided by its largest singular value. ValueError for a name that is no tensor."""
    weight = getattr(module, name, None)
    if not isinstance(weight, _C.Tensor):
        raise ValueError(f"{name!r} of {module} is no parameter or buffer")
    dim = default_dim(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


__getattr__ = _absent_names(__name__)

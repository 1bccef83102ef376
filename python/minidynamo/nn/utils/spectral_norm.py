"""torch.nn.utils.spectral_norm: a weight divided by its largest singular value, which power iteration estimates.

Miyato et al. 2018, "Spectral Normalization for Generative Adversarial Networks".
"""

from ... import _C
from ..._absent import absent_names as _absent_names
from ...autograd.grad_mode import no_grad
from ..convolution import ConvTranspose1d, ConvTranspose2d
from ..functional import normalize
from ..parameter import Parameter
from .weight_norm import take_hook


def default_dim(module):
    """Which dimension is that of the outputs."""
    return 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d)) else 0


def as_matrix(weight, dim):
    """`dim` first, all others as one: shape (h, w)."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    return weight.reshape(weight.size(0), -1)


def iterate(matrix, u, v, times, eps):
    """Power iteration: brings u (h,) and v (w,) nearer to the singular vectors of the largest value, in place."""
    with no_grad():
        for _ in range(times):
            u.copy_(normalize(_C.mv(matrix, v), dim=0, eps=eps))
            v.copy_(normalize(_C.mv(matrix.t(), u), dim=0, eps=eps))


class SpectralNorm:
    """A forward pre-hook that computes the parameter `name` of `name`_orig, with the buffers `name`_u and `name`_v."""

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError(f"n_power_iterations: a positive number is needed, got {n_power_iterations}")
        self.name, self.dim, self.eps = name, dim, eps
        self.n_power_iterations = n_power_iterations

    def compute_weight(self, module, do_power_iteration):
        """The weight, a tensor that gradients flow through to `name`_orig."""
        weight, u, v = (getattr(module, self.name + part) for part in ("_orig", "_u", "_v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(_C.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(normalize(_C.mv(matrix, v), dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()  # the next forward changes them: this one's gradient needs them as they are
        return weight / _C.dot(u, _C.mv(matrix, v))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Registers it; RuntimeError where there is one for the name, ValueError for an empty parameter."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"spectral_norm is on {name!r} already")
        found = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"parameter {name!r} is None: there is nothing to normalise")
        with no_grad():
            h, w = as_matrix(weight, dim).shape
            u = normalize(weight.new_empty(h).normal_(0, 1), dim=0, eps=eps)
            v = normalize(weight.new_empty(w).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.detach())  # until the first forward
        module.register_buffer(name + "_u", u.detach())
        module.register_buffer(name + "_v", v.detach())
        module.register_forward_pre_hook(found)
        return found

    def remove(self, module):
        """The weight as it is now becomes a parameter of its own."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for part in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + part)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The module, its parameter `name` divided by its largest singular value before each forward; in training mode
    with `n_power_iterations` steps towards that value. `dim`: the outputs' dimension, found by the module's type.

    RuntimeError if that is so already.
    """
    SpectralNorm.apply(module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module, name="weight"):
    """The module, with `name` a parameter again; ValueError where spectral_norm was not used."""
    take_hook(module, SpectralNorm, name).remove(module)
    return module


__getattr__ = _absent_names(__name__)

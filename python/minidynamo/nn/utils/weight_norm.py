"""torch.nn.utils.weight_norm: a weight as its length times its direction, w = g * v / ||v|| (Salimans, Kingma 2016)."""

import warnings

from ..._absent import absent_names as _absent_names
from ...linalg import vector_norm
from ..module import Module
from ..parameter import Parameter


def norm_except_dim(v, dim):
    """Norms over all dimensions but one, which are kept with size 1; of everything, shape (), for -1."""
    if dim == -1:
        return vector_norm(v)
    dim %= max(v.dim(), 1)
    others = tuple(d for d in range(v.dim()) if d != dim)
    return vector_norm(v, 2, others, True) if others else v.abs()


def weight_of(v, g, dim):
    """g * v / ||v||."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """A forward pre-hook that computes the parameter `name` of `name`_g and `name`_v."""

    def __init__(self, name, dim):
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight, a tensor that gradients flow through."""
        return weight_of(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module, name, dim):
        """Registers it; RuntimeError where there is one for the name."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"weight_norm is on {name!r} already")
        found = WeightNorm(name, dim)
        weight = getattr(module, name)
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, found.dim).detach()))
        module.register_parameter(name + "_v", Parameter(weight.detach()))
        setattr(module, name, found.compute_weight(module))
        module.register_forward_pre_hook(found)
        return found

    def remove(self, module):
        """The weight becomes a parameter of its own again."""
        weight = self.compute_weight(module).detach()
        for name in (self.name, self.name + "_g", self.name + "_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """The module, its parameter `name` replaced by `name`_g (one length for each index of `dim`; one in all for None)
    and `name`_v, of which it is computed before each forward. RuntimeError if that is so already.

    Old, and so with a FutureWarning: parametrizations.weight_norm does the same without a hook.
    """
    warnings.warn("an old way: nn.utils.parametrizations.weight_norm replaces it", FutureWarning, stacklevel=2)
    WeightNorm.apply(module, name, dim)
    return module


def take_hook(module: Module, kind, name):
    """Takes the hook of this type and name away and gives it; ValueError where there is none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            del module._forward_pre_hooks[key]
            return hook
    raise ValueError(f"{kind.__name__} is not on {name!r} of {module}")


def remove_weight_norm(module, name="weight"):
    """The module, with `name` a parameter again; ValueError where weight_norm was not used."""
    take_hook(module, WeightNorm, name).remove(module)
    return module


__getattr__ = _absent_names(__name__)

"""torch.distributions.kl: Kullback-Leibler divergences, and the registration of further ones."""

from .._absent import absent_names as _absent_names
from . import kl_across_families as _across_families  # noqa: F401  imported for what they register
from . import kl_same_family as _same_family  # noqa: F401
from .kl_registry import _KL_REGISTRY as _KL_REGISTRY
from .kl_registry import kl_divergence, register_kl

__all__ = ["register_kl", "kl_divergence"]

__getattr__ = _absent_names(__name__)

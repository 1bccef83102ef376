"""torch.quantization: the older name of torch.ao.quantization."""

from ._absent import absent_names as _absent_names
from .ao import quantization as _names

__all__ = list(_names.__all__)


def _load(name, missing):
    return getattr(_names, name) if name in __all__ else missing


__getattr__ = _absent_names(__name__, _load)

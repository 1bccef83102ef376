"""torch._functorch.vmap: vmap, whose public place is torch.func."""

from .._absent import absent_names as _absent_names
from ..func import vmap as vmap

__getattr__ = _absent_names(__name__)

"""torch._functorch.apis: transforms of functions, whose public place is torch.func."""

from .._absent import absent_names as _absent_names
from ..func import grad as grad
from ..func import grad_and_value as grad_and_value
from ..func import vmap as vmap

__getattr__ = _absent_names(__name__)

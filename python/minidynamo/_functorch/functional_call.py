"""torch._functorch.functional_call: modules as functions, whose public place is torch.func."""

from .._absent import absent_names as _absent_names
from ..func import functional_call as functional_call
from ..func import stack_module_state as stack_module_state

__getattr__ = _absent_names(__name__)

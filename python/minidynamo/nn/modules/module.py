"""torch.nn.modules.module, a place where names of torch.nn are too: module, and hooks of all modules."""

from ..._absent import absent_names as _absent_names
from ..hooks import register_module_forward_hook as register_module_forward_hook
from ..hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
from ..hooks import register_module_full_backward_hook as register_module_full_backward_hook
from ..hooks import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from ..module import Module as Module
from ..module_state import _IncompatibleKeys as _IncompatibleKeys
from ..parameter import Buffer as Buffer
from ..parameter import Parameter as Parameter

__getattr__ = _absent_names(__name__)

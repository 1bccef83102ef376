"""x y z"""
from ..hooks import *
from ..hooks import register_module_forward_pre_hook, register_module_forward_hook, register_module_full_backward_hook

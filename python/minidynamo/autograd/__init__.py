"""The part of autograd that exists: grad and inference modes, and functions with a forward of their own."""

from .._absent import absent_names as _absent_names
from . import function as function
from . import grad_mode as grad_mode
from .backward import backward as backward
from .backward import grad as grad
from .function import Function as Function
from .function import Variable as Variable
from .grad_mode import enable_grad as enable_grad
from .grad_mode import inference_mode as inference_mode
from .grad_mode import no_grad as no_grad
from .grad_mode import set_grad_enabled as set_grad_enabled
from .gradcheck import gradcheck as gradcheck
from .gradcheck import gradgradcheck as gradgradcheck

__getattr__ = _absent_names(__name__)

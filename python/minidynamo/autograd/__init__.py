"""Automatic differentiation: gradients of recorded operations, and functions with a forward and a backward."""

from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules
from . import anomaly_mode as anomaly_mode
from . import function as function
from . import grad_mode as grad_mode
from .anomaly_mode import detect_anomaly as detect_anomaly
from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
from .backward import backward as backward
from .backward import grad as grad
from .function import Function as Function
from .function import Variable as Variable
from .function import _unsafe_preserve_version_counter as _unsafe_preserve_version_counter
from .grad_mode import enable_grad as enable_grad
from .grad_mode import inference_mode as inference_mode
from .grad_mode import no_grad as no_grad
from .grad_mode import set_grad_enabled as set_grad_enabled
from .grad_mode import set_multithreading_enabled as set_multithreading_enabled
from .gradcheck import gradcheck as gradcheck
from .gradcheck import gradgradcheck as gradgradcheck


def _load(name, missing):
    """`functional` and `graph` are reachable without an import of their own."""
    from importlib import import_module

    return import_module("." + name, __name__) if name in _submodules(__name__) else missing


__getattr__ = _absent_names(__name__, _load)

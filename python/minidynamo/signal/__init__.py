"""torch.signal: window functions."""

from .._absent import absent_names as _absent_names
from . import windows as windows

__all__ = ["windows"]
__getattr__ = _absent_names(__name__)

"""torch.version: which build this is."""

from . import __version__ as __version__
from ._absent import absent_names as _absent_names

debug = False
cuda = None
hip = None
xpu = None


__getattr__ = _absent_names(__name__)

"""torch.ao.nn.quantized.dynamic: layers with integer weights that round their inputs as they come."""

from ....._absent import absent_names as _absent_names
from .linear import Linear as Linear

__getattr__ = _absent_names(__name__)

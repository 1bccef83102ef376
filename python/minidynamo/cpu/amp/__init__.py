"""torch.cpu.amp: the older names of torch.amp for the CPU."""

from ..._absent import absent_names as _absent_names
from .autocast_mode import autocast as autocast
from .grad_scaler import GradScaler as GradScaler

__getattr__ = _absent_names(__name__)

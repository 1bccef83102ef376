"""torch.cuda.amp: the older names of torch.amp for CUDA devices."""

from ..._absent import absent_names as _absent_names
from .autocast_mode import autocast as autocast
from .autocast_mode import custom_bwd as custom_bwd
from .autocast_mode import custom_fwd as custom_fwd
from .common import amp_definitely_not_available as amp_definitely_not_available
from .grad_scaler import GradScaler as GradScaler

__getattr__ = _absent_names(__name__)

"""torch.cuda.amp.GradScaler: the older name of torch.amp.GradScaler for CUDA devices."""

import warnings

from ..._absent import absent_names as _absent_names
from ...amp import grad_scaler as _scaler


class GradScaler(_scaler.GradScaler):
    """torch.amp.GradScaler("cuda", ...), with a FutureWarning."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        warnings.warn(
            "torch.cuda.amp.GradScaler(...) is torch.amp.GradScaler('cuda', ...) now", FutureWarning, stacklevel=2
        )
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


__getattr__ = _absent_names(__name__)

"""torch.cpu.amp.GradScaler: the older name of torch.amp.GradScaler for the CPU."""

import warnings

from ..._absent import absent_names as _absent_names
from ...amp import grad_scaler as _scaler


class GradScaler(_scaler.GradScaler):
    """torch.amp.GradScaler("cpu", ...), with a FutureWarning."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        warnings.warn(
            "torch.cpu.amp.GradScaler(...) is torch.amp.GradScaler('cpu', ...) now", FutureWarning, stacklevel=2
        )
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


__getattr__ = _absent_names(__name__)

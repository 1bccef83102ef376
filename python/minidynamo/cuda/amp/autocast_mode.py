"""torch.cuda.amp.autocast: the older name of torch.amp.autocast for CUDA devices."""

import warnings

from ... import _C
from ..._absent import absent_names as _absent_names
from ...amp import autocast_mode as _mode


def _warn():
    warnings.warn("torch.cuda.amp.autocast(...) is torch.amp.autocast('cuda', ...) now", FutureWarning, stacklevel=3)


_C._mark_callable(_warn, "constant")  # compiled code has warned when it was made


class autocast(_mode.autocast):
    """torch.amp.autocast("cuda", ...), with a FutureWarning."""

    def __init__(self, enabled=True, dtype=_C.float16, cache_enabled=True):
        _warn()
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


def custom_fwd(fwd=None, *, cast_inputs=None):
    """torch.amp.custom_fwd(..., device_type="cuda"), with a FutureWarning."""
    warnings.warn(
        "torch.cuda.amp.custom_fwd is torch.amp.custom_fwd, with device_type, now", FutureWarning, stacklevel=2
    )
    return _mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd):
    """torch.amp.custom_bwd(..., device_type="cuda"), with a FutureWarning."""
    warnings.warn(
        "torch.cuda.amp.custom_bwd is torch.amp.custom_bwd, with device_type, now", FutureWarning, stacklevel=2
    )
    return _mode.custom_bwd(bwd, device_type="cuda")


__getattr__ = _absent_names(__name__)

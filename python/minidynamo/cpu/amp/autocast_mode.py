"""torch.cpu.amp.autocast: the older name of torch.amp.autocast for the CPU."""

import warnings

from ... import _C
from ..._absent import absent_names as _absent_names
from ...amp import autocast_mode as _mode


def _warn():
    warnings.warn("torch.cpu.amp.autocast(...) is torch.amp.autocast('cpu', ...) now", FutureWarning, stacklevel=3)


_C._mark_callable(_warn, "constant")  # compiled code has warned when it was made


class autocast(_mode.autocast):
    """torch.amp.autocast("cpu", ...), with a FutureWarning."""

    def __init__(self, enabled=True, dtype=_C.bfloat16, cache_enabled=True):
        _warn()
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


__getattr__ = _absent_names(__name__)

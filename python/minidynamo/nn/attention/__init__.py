"""torch.nn.attention: which kernel computes scaled_dot_product_attention. There is one here, for all that the mirrored
library has on the CPU."""

import contextlib
import enum

from ..._absent import absent_names as _absent_names


class SDPBackend(enum.IntEnum):
    """Kinds of kernels."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_ON_CPU = (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION)


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Within, only these kinds of kernels may be used; `set_priority` prefers the first ones. As there is one kernel
    only, this changes nothing if MATH or FLASH_ATTENTION is among them, and is a RuntimeError if neither is."""
    given = list(backends) if isinstance(backends, (list, tuple)) else [backends]
    for backend in given:
        if not isinstance(backend, SDPBackend):
            raise AssertionError(f"sdpa_kernel: backends are of SDPBackend, got {backend!r}")
    if not any(backend in _ON_CPU for backend in given):
        raise RuntimeError(f"sdpa_kernel: of {[b.name for b in given]} there is none on the CPU; MATH always is")
    yield


__getattr__ = _absent_names(__name__)

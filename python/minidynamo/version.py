"""torch.version: which build this is. `cuda` is the version of the driver, None where there are no CUDA devices."""

from . import __version__ as __version__
from ._absent import absent_names as _absent_names

debug = False
hip = None
xpu = None


def _load(name, missing):
    if name != "cuda":
        return missing
    from . import _C

    number = _C._cuda.driver_version() if _C._cuda.is_present() else 0
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


__getattr__ = _absent_names(__name__, _load)

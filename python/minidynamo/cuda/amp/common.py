"""torch.cuda.amp.common: whether there is what mixed precision on CUDA devices needs."""

from ..._absent import absent_names as _absent_names
from ..._no_device import is_present as _is_present


def amp_definitely_not_available():
    """Whether there are no CUDA devices."""
    return not _is_present()


__getattr__ = _absent_names(__name__)

"""torch.cuda.amp.common: whether there is what mixed precision on CUDA devices needs."""

from ..._absent import absent_names as _absent_names


def amp_definitely_not_available():
    """True: there are no CUDA devices."""
    return True


__getattr__ = _absent_names(__name__)

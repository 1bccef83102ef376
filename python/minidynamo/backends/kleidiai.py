"""torch.backends.kleidiai: Arm's library of kernels, which is not used."""

from .._absent import absent_names as _absent_names


def is_available():
    """False."""
    return False


__getattr__ = _absent_names(__name__)

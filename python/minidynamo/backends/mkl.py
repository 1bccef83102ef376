"""torch.backends.mkl: not used, kernels are compiled here."""

from .._absent import absent_names as _absent_names


def is_available():
    """False: products are computed by kernels of our own."""
    return False


__getattr__ = _absent_names(__name__)

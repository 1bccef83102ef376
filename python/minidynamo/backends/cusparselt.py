"""torch.backends.cusparselt: NVIDIA's library for sparse products, which is not used."""

from .._absent import absent_names as _absent_names


def is_available():
    """False."""
    return False


def version():
    """None: there is no such library."""
    return None


def get_max_alg_id():
    """None: there is no such library."""
    return None


__getattr__ = _absent_names(__name__)

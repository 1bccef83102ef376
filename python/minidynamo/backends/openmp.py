"""torch.backends.openmp: not used, kernels have threads of their own."""

from .._absent import absent_names as _absent_names


def is_available():
    """False: see set_num_threads for the threads there are."""
    return False


__getattr__ = _absent_names(__name__)

"""torch.backends.mps: Apple's graphics processors, which there are none of."""

from .._absent import absent_names as _absent_names


def is_built():
    """False."""
    return False


def is_available():
    """False."""
    return False


def is_macos_or_newer(major, minor):
    """RuntimeError: there is nothing that knows."""
    raise RuntimeError("is_macos_or_newer: minidynamo has no MPS backend, which would know")


def is_macos13_or_newer(minor=0):
    """RuntimeError, as is_macos_or_newer."""
    return is_macos_or_newer(13, minor)


__getattr__ = _absent_names(__name__)

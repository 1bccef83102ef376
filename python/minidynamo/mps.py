"""torch.mps of a build without Apple's devices: nothing is available; what needs a device raises RuntimeError."""

from ._absent import absent_names as _absent_names
from ._no_device import no_such_object as _no_such_object


def _refuse(name):
    raise RuntimeError(f"torch.mps.{name}() needs the MPS backend, which minidynamo does not have")


def is_available():
    """False."""
    return False


def device_count():
    """0."""
    return 0


def manual_seed(seed):
    """Nothing but that `seed` has to be a number."""
    int(seed)


def seed():
    """RuntimeError: there is no device."""
    _refuse("seed")


def get_rng_state(device="mps"):
    """RuntimeError: there is no device."""
    _refuse("get_rng_state")


def set_rng_state(new_state, device="mps"):
    """RuntimeError: there is no device."""
    _refuse("set_rng_state")


def synchronize():
    """RuntimeError: there is no device."""
    _refuse("synchronize")


def empty_cache():
    """RuntimeError: there is no device."""
    _refuse("empty_cache")


def set_per_process_memory_fraction(fraction):
    """RuntimeError: there is no device."""
    _refuse("set_per_process_memory_fraction")


def current_allocated_memory():
    """RuntimeError: there is no device."""
    _refuse("current_allocated_memory")


def driver_allocated_memory():
    """RuntimeError: there is no device."""
    _refuse("driver_allocated_memory")


def recommended_max_memory():
    """RuntimeError: there is no device."""
    _refuse("recommended_max_memory")


class Event(_no_such_object):
    """A point in the work of an MPS device; RuntimeError, as there is none."""


__getattr__ = _absent_names(__name__)

"""torch.cuda.random: seeds of devices that do not exist. Setting them is allowed and does nothing, as in torch."""

from .._absent import absent_names as _absent_names
from .._no_device import refuse as _refuse


def manual_seed(seed):
    """Nothing but that `seed` has to be a number; of the CPU it is manual_seed."""
    int(seed)


def manual_seed_all(seed):
    """As manual_seed."""
    int(seed)


def seed():
    """Nothing."""


def seed_all():
    """Nothing."""


def initial_seed():
    """AssertionError: there is no device."""
    _refuse("CUDA")


def get_rng_state(device="cuda"):
    """AssertionError: there is no device."""
    _refuse("CUDA")


def get_rng_state_all():
    """An empty list: one state for each device."""
    return []


def set_rng_state(new_state, device="cuda"):
    """Nothing: in torch it would be done once there is a device."""


def set_rng_state_all(new_states):
    """Nothing for no states; ValueError for more than there are devices."""
    if count := len(list(new_states)):
        raise ValueError(f"set_rng_state_all: {count} states for 0 CUDA devices")


__getattr__ = _absent_names(__name__)

"""torch.random: the state of the default random stream."""

import contextlib
import copyreg

from ._absent import absent_names as _absent_names
from ._C import Generator as _Generator
from ._C import default_generator as default_generator
from ._C import initial_seed as initial_seed
from ._C import manual_seed as manual_seed


def seed():
    """Starts the default stream from a number the system gives; gives the number."""
    return default_generator.seed()


def get_rng_state():
    """The default stream's position, as a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """The default stream goes on from what get_rng_state() gave."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """Whatever is drawn within, the default stream goes on as if it had not been. There are no streams of devices."""
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


def _generator_at(seed, state):
    made = _Generator()
    made.manual_seed(seed)
    made.set_state(state)
    return made


copyreg.pickle(_Generator, lambda generator: (_generator_at, (generator.initial_seed(), generator.get_state())))

__getattr__ = _absent_names(__name__)

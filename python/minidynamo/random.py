"""torch.random: the state of the default random stream."""

import contextlib
import copyreg

from ._absent import absent_names as _absent_names
from ._C import Generator as _Generator
from ._C import default_generator as default_generator
from ._C import initial_seed as initial_seed
from ._C import manual_seed as manual_seed
from ._no_device import is_present as _is_present


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
    """Whatever is drawn within, the default stream goes on as if it had not been, and so do those of CUDA devices."""
    state = get_rng_state() if enabled else None
    streams = _streams_of(devices) if enabled and device_type == "cuda" and _is_present() else []
    states = [stream.get_state() for stream in streams]
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
        for stream, before in zip(streams, states):
            stream.set_state(before)


def _streams_of(devices):
    from . import _C

    chosen = range(_C._cuda.device_count()) if devices is None else list(devices)
    return [_C._cuda.default_generator(each if isinstance(each, int) else _C.device(each).index) for each in chosen]


def _generator_at(seed, state, device="cpu"):
    made = _Generator(device)
    made.manual_seed(seed)
    made.set_state(state)
    return made


def _reduced(generator):
    place = () if generator.device.type == "cpu" else (str(generator.device),)
    return _generator_at, (generator.initial_seed(), generator.get_state(), *place)


copyreg.pickle(_Generator, _reduced)

__getattr__ = _absent_names(__name__)

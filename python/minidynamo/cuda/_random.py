"""The random streams of CUDA devices. A seed gives the same numbers as on the CPU."""

from .. import _C
from ._ordinals import index_of

_runtime = _C._cuda


def _stream(device="cuda"):
    return _runtime.default_generator(index_of(device))


def _all():
    return [_runtime.default_generator(index) for index in range(_runtime.device_count())]


def manual_seed(seed):
    _stream().manual_seed(int(seed))


def manual_seed_all(seed):
    _runtime.seed(int(seed) % 2**64)


def seed():
    _stream().seed()


def seed_all():
    generators = _all()
    number = generators[0].seed()
    for generator in generators[1:]:
        generator.manual_seed(number)


def initial_seed():
    return _stream().initial_seed()


def get_rng_state(device):
    return _stream(device).get_state()


def get_rng_state_all():
    return [generator.get_state() for generator in _all()]


def set_rng_state(new_state, device):
    _stream(device).set_state(new_state)


def set_rng_state_all(new_states):
    for index, state in enumerate(new_states):
        set_rng_state(state, index)

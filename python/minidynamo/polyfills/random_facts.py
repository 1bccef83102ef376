"""The same about generators of random numbers."""

import random


def seeded(seed):
    """State of random.Random(seed)."""
    return random.Random(seed).getstate()


def drawn(state, method, *args, **kwargs):
    """What a method of a generator in this state gives, and the state after it."""
    generator = random.Random()
    generator.setstate(state)
    if method == "shuffled":
        value = list(range(*args))
        generator.shuffle(value)
    else:
        value = getattr(generator, method)(*args, **kwargs)
    return value, generator.getstate()


def generator_with(state):
    generator = random.Random()
    generator.setstate(state)
    return generator

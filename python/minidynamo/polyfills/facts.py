"""What a traced polyfill may ask about constants: these functions run while tracing."""

import collections
import copyreg
import math
import random


def fsum(values):
    return math.fsum(values)


def missing_in_deque(value, by_index):
    """Raises what deque.index or deque.remove does."""
    empty = collections.deque()
    return empty.index(value) if by_index else empty.remove(value)


def slot_names(cls):
    return copyreg._slotnames(cls)


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

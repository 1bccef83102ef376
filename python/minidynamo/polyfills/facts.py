"""What a traced polyfill may ask about constants: these functions run while tracing."""

import collections
import copyreg
import math


def fsum(values):
    return math.fsum(values)


def missing_in_deque(value, by_index):
    """Raises what deque.index or deque.remove does."""
    empty = collections.deque()
    return empty.index(value) if by_index else empty.remove(value)


def slot_names(cls):
    return copyreg._slotnames(cls)

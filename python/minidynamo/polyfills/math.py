"""math's functions of iterables."""

import math

from . import facts


def prod(iterable, /, *, start=1):
    total = start
    for value in iterable:
        total = total * value
    return total


def fsum(seq, /):
    return facts.fsum(list(seq))


TABLE = {math.prod: prod, math.fsum: fsum}

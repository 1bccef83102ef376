"""What a traced polyfill may ask about constants: these functions run while tracing."""

import math


def fsum(values):
    return math.fsum(values)

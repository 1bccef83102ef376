"""Functions torch has for numbers that may be symbols: plain Python here, and traced."""

import builtins
import math

_NUMBERS = (int, float)


def _extremum(pick, a, b):
    for value in (a, b):
        if not isinstance(value, _NUMBERS):
            raise AssertionError(f"a number is needed, not {type(value).__name__}")
    if isinstance(a, float) or isinstance(b, float):
        return builtins.float(pick(a, b))
    return pick(a, b)


def _known_or(test, otherwise):
    """Whether the bool holds; `otherwise` in a trace that does not know."""
    return bool(test)


def sym_max(a, b):
    """The larger number, a float if either is one."""
    return _extremum(builtins.max, a, b)


def sym_min(a, b):
    """The smaller number, a float if either is one."""
    return _extremum(builtins.min, a, b)


def sym_int(a):
    """int(a)."""
    return builtins.int(a)


def sym_float(a):
    """float(a)."""
    return builtins.float(a)


def sym_not(a):
    """not a."""
    return not a


def sym_ite(b, t, f):
    """t if the bool `b` holds, else f; both of one type."""
    if not isinstance(b, bool):
        raise AssertionError(f"a bool is needed, not {type(b).__name__}")
    if type(t) is not type(f):
        raise AssertionError(f"both values have to be of one type, not {type(t).__name__} and {type(f).__name__}")
    return t if b else f


def sym_sum(args):
    """The sum of a sequence of numbers."""
    total = 0
    for each in args:
        total = total + each
    return total


def sym_fresh_size(expr):
    """The number itself."""
    return expr


def _sym_sqrt(a):
    """math.sqrt(a)."""
    return math.sqrt(a)


def _sym_log2(a):
    """math.log2(a)."""
    return math.log2(a)


def sym_sqrt(a):
    """math.sqrt(a)."""
    return math.sqrt(a)

"""Arithmetic of numbers that may be sizes: sym_max and its kin. Traced in place, so that symbols stay symbols."""

import builtins
import math

from . import _C


def sym_int(a):
    """The int towards zero of a number."""
    if isinstance(a, int):
        return int(a)
    return math.floor(a) if a >= 0 else math.ceil(a)


def sym_float(a):
    """The number as a float."""
    return float(a)


def sym_not(a):
    """Whether it does not hold."""
    return not a


def sym_max(a, b):
    """The larger number, a float if one of them is."""
    larger = builtins.max(a, b)
    return float(larger) if isinstance(a, float) or isinstance(b, float) else larger


def sym_min(a, b):
    """The smaller number, a float if one of them is."""
    smaller = builtins.min(a, b)
    return float(smaller) if isinstance(a, float) or isinstance(b, float) else smaller


def sym_sum(args):
    """The numbers of a list or tuple added."""
    total = 0
    for a in args:
        total = total + a
    return total


def sym_ite(b, t, f):
    """`t` if the bool `b` holds, else `f`, a number of the same type. Raises AssertionError for others."""
    if not isinstance(b, bool):
        raise AssertionError(f"sym_ite() decides by a bool, not a {type(b).__name__}")
    if type(t) is not type(f):
        raise AssertionError(f"sym_ite() takes two numbers of one type, not {type(t).__name__} and {type(f).__name__}")
    return t if b else f


def sym_fresh_size(expr):
    """Needs a size that nobody knows yet, which only graphs have: NotImplementedError."""
    raise NotImplementedError("sym_fresh_size() is for graphs with sizes that depend on data")


def _sym_sqrt(a):
    """The square root, as a float."""
    return math.sqrt(a)


for _function in (sym_int, sym_float, sym_not, sym_max, sym_min, sym_sum, sym_ite, _sym_sqrt):
    _C._mark_callable(_function, "dont_skip")

"""What `@no_grad()` and its kin make of a function. A module of its own, since traced code goes through it, while what
switches the modes is known to the tracer as a whole."""

import functools


def decorated(function, manager, given):
    """`function` with each call inside of `manager(*given)`: recursion and threads restore what they found.

    Each decorated function has code of its own: compiled entries are kept, and counted, per code object.
    """

    @functools.wraps(function)
    def in_mode(*args, **kwargs):
        with manager(*given):
            return function(*args, **kwargs)

    in_mode.__code__ = in_mode.__code__.replace()
    return in_mode

"""hints_wrapper: a call with remarks for whoever compiles it."""

from .._absent import absent_names as _absent_names


def hints_wrapper(body_fn, args, kwargs, *, hints):
    """body_fn(*args, **kwargs); `hints`, a dictionary, changes nothing here.

    In compiled code a graph break inside, or a change of a Python object from outside, is an
    UncapturedHigherOrderOpError.
    """
    if not isinstance(args, (tuple, list)) or not isinstance(kwargs, dict) or not isinstance(hints, dict):
        raise RuntimeError("hints_wrapper() takes a tuple of arguments and two dictionaries")
    return body_fn(*args, **kwargs)


__getattr__ = _absent_names(__name__)

"""What `@no_grad()` and its kin make of a function. A module of its own, since traced code goes through it, while what
switches the modes is known to the tracer as a whole."""

import functools
import types

_GENERATOR = 0x20  # of co_flags


def decorated(function, manager, given):
    """`function` with each call inside of `manager(*given)`: recursion and threads restore what they found.

    Each decorated function has code of its own: compiled entries are kept, and counted, per code object.
    """

    if _makes_generators(function):
        return _decorated_generator(function, manager, given)

    @functools.wraps(function)
    def in_mode(*args, **kwargs):
        with manager(*given):
            return function(*args, **kwargs)

    in_mode.__code__ = in_mode.__code__.replace()
    return in_mode


def decorated_in_trace(function, manager, given):
    """As above where the decoration itself is traced: the code is that of the trace, whose entry is kept anyway."""

    @functools.wraps(function)
    def in_mode(*args, **kwargs):
        with manager(*given):
            return function(*args, **kwargs)

    return in_mode


def _makes_generators(function):
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    return isinstance(function, types.FunctionType) and bool(function.__code__.co_flags & _GENERATOR)


def _decorated_generator(function, manager, given):
    """The generator runs in the mode each time it is asked to go on; who asks has his own mode meanwhile."""

    @functools.wraps(function)
    def in_mode(*args, **kwargs):
        generator = function(*args, **kwargs)
        go_on, given_to_it = generator.send, (None,)
        while True:
            with manager(*given):
                try:
                    handed_out = go_on(*given_to_it)
                except StopIteration as end:
                    return end.value
            try:
                go_on, given_to_it = generator.send, ((yield handed_out),)
            except GeneratorExit:
                with manager(*given):
                    generator.close()
                raise
            except BaseException as error:  # noqa: BLE001  the generator's to handle
                go_on, given_to_it = generator.throw, (error,)

    in_mode.__code__ = in_mode.__code__.replace()
    return in_mode


def decorated_class(cls, manager, given):
    """A function that makes an instance inside of `manager(*given)`, which is all that decorating a class means."""

    @functools.wraps(cls, updated=())
    def in_mode(*args, **kwargs):
        with manager(*given):
            return cls(*args, **kwargs)

    in_mode.__code__ = in_mode.__code__.replace()
    return in_mode

"""Calls of operators over functions outside of compiled code: compiled by themselves, so that the same rules hold."""

import functools
import threading
import types

from .._dynamo import compile, config

_running = threading.local()


def call(operator, plain, functions, args):
    """operator(*args) as a graph of its own; plain(*args) where compiled code runs as plain Python.

    `functions` are those that become regions: for each of them there are compiled entries of their own.
    """
    if getattr(_running, "on", False):
        return plain(*args)
    codes = tuple(getattr(getattr(f, "__func__", f), "__code__", None) for f in functions)
    _running.on = True
    try:
        with config.patch(recompile_limit=2**31 - 1, accumulated_recompile_limit=2**31 - 1):  # plain code has no limit
            return _compiled(operator.__name__, *codes)(operator, args)
    finally:
        _running.on = False


def _call(operator, args):
    return operator(*args)


@functools.lru_cache(maxsize=256)
def _compiled(name, *codes):
    """_call with a code object of its own for each choice of functions, and with it compiled entries of its own."""
    own = types.FunctionType(_call.__code__.replace(), globals(), name)
    return compile(own, backend="eager", fullgraph=True)

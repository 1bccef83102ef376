"""cond: a choice between two functions that stays a choice in the graph."""

import functools
import threading
import types

from ._dynamo import compile, config

_running = threading.local()


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) if `pred` holds, else false_fn(*operands).

    `pred` is a tensor of one element or a Python bool. Both functions take the operands, a list or tuple, and return
    tensors, or containers of them, of the same structure, dtypes and sizes. They may not write to operands or captured
    tensors, return them, or change Python objects from outside.

    In compiled code both become graphs of one node; the predicate chooses at run time. Outside, the call is compiled by
    itself, so that the same rules hold. Raises UncapturedHigherOrderOpError where they are broken, TorchRuntimeError
    where the branches give different shapes.
    """
    if getattr(_running, "on", False):  # compiled code that runs as plain Python
        return (true_fn if pred else false_fn)(*operands)
    codes = tuple(getattr(getattr(f, "__func__", f), "__code__", None) for f in (true_fn, false_fn))
    _running.on = True
    try:
        with config.patch(recompile_limit=2**31 - 1, accumulated_recompile_limit=2**31 - 1):  # plain code has no limit
            return _compiled(*codes)(pred, true_fn, false_fn, operands)
    finally:
        _running.on = False


def _choose(pred, true_fn, false_fn, operands):
    return cond(pred, true_fn, false_fn, operands)


@functools.lru_cache(maxsize=256)
def _compiled(true_code, false_code):
    """_choose with a code object of its own for each pair of functions, and with it compiled entries of its own."""
    own = types.FunctionType(_choose.__code__.replace(), globals(), "cond")
    return compile(own, backend="eager", fullgraph=True)

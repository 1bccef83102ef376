"""Recomputing in the backward pass instead of remembering. There is no backward pass here: the function is called once,
with its first context entered, and its result is what it would be without.
"""

import contextlib

__all__ = ["checkpoint", "checkpoint_sequential", "noop_context_fn"]


def noop_context_fn():
    """Two contexts that do nothing: for the forward pass and for recomputing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    early_stop=True,
    preserve_rng_state=True,
    **kwargs,
):
    """function(*args, **kwargs). The other parameters say how torch recomputes."""
    forward_context, _ = context_fn()
    with forward_context:
        return function(*args, **kwargs)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """The functions, or the modules of a Sequential, one after the other."""
    for function in functions:
        input = function(input)
    return input

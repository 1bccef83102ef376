"""Names of torch.utils.checkpoint. Nothing is kept for a backward pass here, so there is nothing to recompute."""

import contextlib

from .._absent import absent_names as _absent_names


def noop_context_fn():
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    preserve_rng_state=True,
    **kwargs,
):
    """function(*args, **kwargs), inside the first context of `context_fn()`.

    In compiled code the function may not change objects from outside (GB0067): torch would run it again.
    """
    forward, _ = context_fn()
    with forward:
        return function(*args, **kwargs)


__getattr__ = _absent_names(__name__)

"""wrap: a call that stands for itself."""

from .._absent import absent_names as _absent_names


def wrap(func, *args, **kwargs):
    """func(*args, **kwargs). In compiled code `func` may not change Python objects from outside (GB0067)."""
    return func(*args, **kwargs)


def within_contexts(context_fn, function, args, kwargs):
    """The call of a checkpoint in the first of its two contexts: what is traced for it."""
    forward, _ = context_fn()
    with forward:
        return wrap(function, *args, **kwargs)


__getattr__ = _absent_names(__name__)

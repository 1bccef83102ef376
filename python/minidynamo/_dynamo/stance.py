"""compiler.set_stance: what compiled functions do, for the whole process."""

import collections
import contextlib
import functools

from .. import _C
from .._lock import process_lock
from .eval_frame import forbid_blocks, resolve_backend
from .marked_callables import forbid_in_graph

_NUMBERS = {
    "default": 0,
    "force_eager": 1,
    "eager_on_recompile": 2,
    "fail_on_recompile": 3,
    "eager_then_compile": 4,
    "aot_eager_then_compile": 4,
}


DynamoStance = collections.namedtuple(
    "DynamoStance", "stance skip_guard_eval_unsafe backend", defaults=("default", False, None)
)
_lock = process_lock()
_current = DynamoStance()


def _set(stance):
    global _current
    forced = None if stance.backend is None else resolve_backend(stance.backend)
    with _lock:
        before, _current = _current, stance
        _C._set_stance(_NUMBERS[stance.stance], stance.skip_guard_eval_unsafe, forced)
    return before


class set_stance(contextlib.ContextDecorator):
    """Says what compiled functions do from now on; as a context manager or decorator, until the end of that.

    `default`: compile when no compiled code fits. `force_eager`: run as plain Python. `eager_on_recompile`: run as
    plain Python when no compiled code fits. `fail_on_recompile`: raise RuntimeError then. `eager_then_compile`: the
    first call of a function runs as plain Python, later ones compile; what differs between them (sizes and numbers,
    also within lists, tuples and dictionaries) is a symbol at once. `aot_eager_then_compile` means the same: without a
    backward pass there is nothing that its first call would save. With `skip_guard_eval_unsafe=True` a call that no
    compiled code fits raises RuntimeError; guards, which cost little here, are evaluated nevertheless. `force_backend`,
    with the default stance only: a backend's name or a callable that compiled functions use instead of their own; what
    is compiled for either is kept apart.

    Raises RuntimeError for an unknown stance, InvalidBackend for an unknown backend.
    """

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in _NUMBERS:
            raise RuntimeError(f"invalid torch.compile stance {stance!r}, known are: {', '.join(_NUMBERS)}")
        if force_backend is not None and stance != "default":
            raise RuntimeError(f"force_backend goes with the stance 'default', not with {stance!r}")
        self._stance = DynamoStance(stance, bool(skip_guard_eval_unsafe), force_backend)
        self._before = [_set(self._stance)]
        self._made = True

    def __call__(self, fn):
        _set(self._before.pop())
        stance = self._stance

        def clone():
            made = set_stance.__new__(set_stance)
            made._stance, made._before, made._made = stance, [], False
            return made

        @functools.wraps(fn)
        def with_stance(*args, **kwargs):
            with clone():
                return fn(*args, **kwargs)

        return forbid_in_graph(with_stance)

    def __enter__(self):
        if self._made and self._before and _current is self._stance:
            self._made = False  # set when it was made: leaving takes that back
            return self
        self._before.append(_set(self._stance))
        return self

    def __exit__(self, *exc):
        _set(self._before.pop())
        return False


forbid_in_graph(set_stance)


class RunOnlyContext:
    """What run() gives without a function: a decorator, and a context manager."""

    def __init__(self):
        self._before = []

    def __call__(self, fn):
        return run(fn)

    def __enter__(self):
        forbid_blocks("run")
        self._before.append(_set(DynamoStance("eager_on_recompile")))
        return self

    def __exit__(self, *exc):
        _set(self._before.pop())
        return False


def run(fn=None):
    """A function that calls `fn` and compiles nothing: calls that no compiled code fits run as plain Python.

    Without `fn` a decorator, and a context manager for whoever sets config.raise_on_ctx_manager_usage to False.
    AssertionError for what is not callable.
    """
    if fn is None:
        return RunOnlyContext()
    if not callable(fn):
        raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")

    @functools.wraps(fn)
    def without_compiling(*args, **kwargs):
        before = _set(DynamoStance("eager_on_recompile"))
        try:
            return fn(*args, **kwargs)
        finally:
            _set(before)

    return forbid_in_graph(without_compiling)

"""Who listens, and what they are handed.

Logs and counters stand at the stream for as long as the process lives (`stand_at`); others subscribe and go. Who makes
an event that nothing stands at asks `is_wanted()` first: none is made while nobody listens.
"""

import _thread
import time

from .._lock import process_lock
from .._logging import wish
from .._logging.output import current

VERSION = 1  # of the schema: raised when a field changes its meaning or goes

on_annotation = None  # called with (name, start, seconds) of each record_function() that has ended
_listeners = ()  # replaced as a whole: whoever is calling them goes on with those it has
_standing = {}  # {kind: [function, ...]}: logs and counters; complete when the package is imported
_lock = process_lock()


class Event:
    """One event: `kind`, `time` (seconds since the epoch), `thread`, `compile_id` ("0/1", "" outside of a compilation)
    and the fields of its kind."""

    def __init__(self, kind, fields):
        self.__dict__.update(fields)
        self.kind, self.time = kind, time.time()
        self.__dict__.setdefault("thread", _thread.get_ident())
        self.__dict__.setdefault("compile_id", current.compile_id)

    def __repr__(self):
        return f"Event({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class Subscription:
    """Somebody who listens; `remove()`, or the end of a `with` block, ends that."""

    def __init__(self, listener, artifacts=()):
        self._listener, self._artifacts = listener, tuple(artifacts)
        wish(self._artifacts)
        _change(lambda known: (*known, listener))

    def remove(self):
        """No events from now on. It may be called again."""
        listener, self._listener = self._listener, None
        if listener is not None:
            _change(lambda known: tuple([each for each in known if each is not listener]))
            wish(self._artifacts, on=False)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def _change(how):
    global _listeners
    with _lock:
        _listeners = how(_listeners)


def is_wanted():
    """Whether somebody listens."""
    return bool(_listeners)


def stand_at(kind):
    """Decorator: the function gets every event of the kind, before those who have subscribed. What it raises goes to
    whoever made the event."""

    def add(function):
        _standing.setdefault(kind, []).append(function)
        return function

    return add


def subscribe(listener, kinds=None, artifacts=()):
    """Calls `listener(event)` for each event from now on, of `kinds` (names) only if they are given.

    It is called by the thread that compiles, which waits for it. What it raises is logged once, and it stays.
    `artifacts`: names of logs (graph_code, guards, bytecode, ...) whose texts are to be events, too; ValueError for
    others.
    """
    wanted, told = None if kinds is None else frozenset(kinds), False

    def guarded(event):
        nonlocal told
        if wanted is not None and event.kind not in wanted:
            return
        try:
            listener(event)
        except Exception:
            if not told:
                told = True
                _log_failure(listener)

    return Subscription(guarded, artifacts)


def emit(kind, **fields):
    """Hands an event to everybody whom it concerns."""
    standing, listeners = _standing.get(kind, ()), _listeners
    if not standing and not listeners:
        return
    event = Event(kind, fields)
    for each in standing:
        each(event)
    for each in listeners:
        each(event)


def _log_failure(listener):
    import logging

    name = getattr(listener, "__qualname__", repr(listener))
    logging.getLogger("minidynamo._dynamo").exception("An observer of the compiler, %s, failed", name)


def frames_of(event, with_columns=False):
    """The stack of an event as (file, line, function), ..., outermost first; `with_columns`: as (file, line, function,
    (end line, column, end column) or None)."""
    frames = [(row["file"], row["line"], row["function"]) for row in event.stack]
    if not with_columns:
        return frames
    return [(*frame, _columns(row)) for frame, row in zip(frames, event.stack)]


def _columns(row):
    return (row["end_line"], row["column"], row["end_column"]) if "column" in row else None


def stack_rows(frames):
    """Frames as events hold them: [(file, line, function, columns), ...] -> [{"file": ..., ...}, ...]."""
    rows = []
    for file, line, function, *columns in frames:
        row = {"file": file, "line": line, "function": function}
        if columns and columns[0] is not None and min(columns[0]) >= 0:
            row["end_line"], row["column"], row["end_column"] = columns[0]
        rows.append(row)
    return rows

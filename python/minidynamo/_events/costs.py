"""What a run costs, as events: with MINIDYNAMO_TRACE_COSTS=1, beside the events of MINIDYNAMO_TRACE.

Native code sums up while the program runs (ir/run/cost_totals.h). A thread of ours turns the sums into events now and
then, so that they are there when the process is killed, and the end of the process does it once more.
"""

import _thread
import atexit
import os
import sys
import time

from .. import _C
from .._lock import process_lock
from . import stream
from .stream import emit, subscribe

_OF = {
    "region": "function", "rest": "function", "plain": "function", "break": "break", "kernel": "kernel", "op": "op",
    "guards": "guards", "machine_code": "machine_code",
}  # fmt: skip
_STATE = {"region": "compiled", "rest": "compiled", "plain": "plain"}
_LONG = 1.0  # seconds, of a run that measuring how fast memory is copied (10 ms) does not make longer by much
_FIRST_PAUSE, _PAUSE = 0.1, 2.0  # seconds between two flushes: they grow from the one to the other
_MOST_ANNOTATIONS = 2000


class Costs:
    """Writes `cost`, `part` and `cost_summary` events of this process and of those it forks."""

    def __init__(self, file):
        self._file, self._flushing = file, process_lock()
        self._begin()
        self._bandwidth = 0.0
        self._subscription = subscribe(self._on_compile, ["compile"])
        stream.on_annotation = self._on_annotation
        _C._observe_costs(True)
        os.register_at_fork(after_in_child=self._follow_fork)
        atexit.register(self.end)

    def _begin(self):
        self._written, self._parts, self._seconds_spent = {}, [], 0.0
        self._annotations = 0
        self._waker, self._is_ended = None, False

    def _follow_fork(self):
        """The child begins with nothing, as native code does."""
        had_thread = self._waker is not None
        if self._is_ended:
            return
        self._begin()
        self._file.note_fork()
        if had_thread:
            self._start_thread()
        # Children of multiprocessing leave without atexit.
        if "multiprocessing.util" in sys.modules:
            from multiprocessing import util

            util.register_after_fork(self, lambda costs: util.Finalize(None, costs.end, exitpriority=-1000))

    def _on_compile(self, event):
        end = time.perf_counter()
        site = ("compile", event.function, "", "", 0, -1, -1, -1, event.compile_id)
        self._parts.append((site, end - event.seconds, event.seconds, event.thread))
        if self._waker is None and not self._is_ended:
            self._start_thread()

    def _on_annotation(self, name, start, seconds):
        self._annotations += 1
        if self._annotations <= _MOST_ANNOTATIONS:
            site = ("user_annotation", str(name), "", "", 0, -1, -1, -1, "")
            self._parts.append((site, start, seconds, _thread.get_ident()))

    def _start_thread(self):
        """Not one of threading's, whose programs count theirs."""
        self._waker = _thread.allocate_lock()
        self._waker.acquire()
        try:
            _thread.start_new_thread(self._flush_now_and_then, (self._waker,))
        except RuntimeError:  # no more threads, or the interpreter ends: the end writes all
            pass

    def _flush_now_and_then(self, waker):
        pause = _FIRST_PAUSE
        while not waker.acquire(timeout=pause) and waker is self._waker:
            pause = min(2 * pause, _PAUSE)
            try:
                self.flush(copies=pause == _PAUSE)
            except Exception:
                return  # nobody listens any more; what can be told is told at the end

    def flush(self, at_end=False, copies=False):
        """Writes what has changed. `at_end`: the summary even if nothing has; `copies`: this is a moment to measure how
        fast memory is copied."""
        with self._flushing:
            if not self._is_ended:
                # `run --everything` compiles frames of the program, not these.
                _C._call_unhooked(self._flush, (at_end, copies), {})

    def _flush(self, at_end, copies):
        start = time.thread_time()
        rows = merged(_C._cost_rows())
        changed = {key: row for key, row in rows.items() if has_changed(self._written.get(key), row)}
        begun, self._parts = self._parts, []
        parts = _C._take_cost_parts() + begun
        if not (changed or parts or (at_end and self._written)):
            return
        self._written.update(changed)
        is_worth_it = time.perf_counter() - self._file.started > _LONG
        if copies and is_worth_it and not self._bandwidth and any(row["bytes"] for row in rows.values()):
            self._bandwidth = _C._copy_bandwidth()
        with self._file.batch():
            for key, row in changed.items():
                times = {name: round(row[name], 9) for name in ("seconds", "own_seconds")}
                emit("cost", **as_cost(key), **{**row, **times})
            for site, began, seconds, thread in parts:
                emit("part", **self._as_part(site, began, seconds), thread=thread)
            self._emit_summary(start)

    def _as_part(self, site, began, seconds):
        kind, name, function, *_, compile_id = site
        shown = {"op": f"aten::{name}", "region": function, "plain": function}.get(kind, name)
        began = max(0.0, began - self._file.started)
        return {
            "category": kind, "name": shown, "start": round(began, 9), "seconds": round(seconds, 9),
            "compile_id": compile_id,
        }  # fmt: skip

    def _emit_summary(self, start):
        left_out, measured, each = _C._cost_counts()
        self._seconds_spent += time.thread_time() - start
        emit(
            "cost_summary",
            wall_seconds=time.perf_counter() - self._file.started,
            cpu_seconds=time.process_time(),
            writing_seconds=round(self._seconds_spent, 9),
            observing_seconds=round(self._seconds_spent + measured * each, 9),
            parts_left_out=left_out + max(0, self._annotations - _MOST_ANNOTATIONS),
            copy_bandwidth=round(self._bandwidth),
        )

    def end(self):
        """The last of it."""
        self._subscription.remove()
        stream.on_annotation = None
        if self._waker is not None and self._waker.locked():
            self._waker.release()
        try:
            self.flush(at_end=True, copies=True)
        finally:
            self._is_ended = True
            _C._observe_costs(False)


def merged(rows):
    """Native rows, several of which may be of one thing (a function that was compiled anew after a reset(), what
    follows a break in it), by what events are told apart by."""
    found = {}
    for site, calls, seconds, own, bytes_, threads in rows:
        kind, name, function, file, line, column, end_line, end_column, compile_id = site
        if kind not in _OF:
            continue
        shown = f"aten::{name}" if kind == "op" else name if kind in ("kernel", "machine_code") else ""
        place = (function, file, line, column, end_line, end_column)
        key = (_OF[kind], shown, *place, compile_id, _STATE.get(kind, ""))
        row = found.setdefault(key, {"calls": 0, "seconds": 0.0, "own_seconds": 0.0, "bytes": 0, "threads": 0})
        row["calls"] += calls if kind != "rest" else 0
        row["seconds"] += seconds
        row["own_seconds"] += own
        row["bytes"] += bytes_
        row["threads"] = max(row["threads"], threads)
    return found


def has_changed(before, now):
    """Whether a row is to be written again. Times of what did not run change a little, as what a tick is taken for."""
    if before is None or before["calls"] != now["calls"]:
        return True
    return now["seconds"] - before["seconds"] > 1e-4 * now["seconds"] + 1e-6


def as_cost(key):
    """The fields of a `cost` event that tell it apart."""
    names = ("of", "name", "function", "file", "line", "column", "end_line", "end_column", "compile_id", "state")
    return dict(zip(names, key))

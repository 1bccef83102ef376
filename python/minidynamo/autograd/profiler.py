"""torch.autograd.profiler and torch.profiler: how long named parts of a program take.

What stands in a record_function() is measured, each step of a profile, the operators that run one by one (`aten::add`),
and what becomes of compiled functions: compilations (`_compile.compile_inner (dynamo_timed)`), machine code being made
(`codegen: <graph>`), the runs of an entry (`Torch-Compiled Region: 0/0`) and of the kernels of its graph
(`fused_mul_add`), and the instructions that break graphs (`Graph break: GB0059 at file.py:12`). No memory or device is
watched. In a graph a record_function() does nothing.
"""

import collections
import enum
import json
import os
import threading
import time

from .. import _C, _events
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import is_compiling as _is_compiling
from .._events import stream as _stream

__all__ = ["emit_nvtx", "profile", "record_function"]


# What native code notes, by kind: how it is called, and its category in a trace.
_NATIVE = {
    "op": ("aten::{}", "cpu_op"),
    "region": ("Torch-Compiled Region: {}", "compiled_region"),
    "kernel": ("{}", "kernel"),
    "break": ("Graph break: {}", "graph_break"),
    "machine_code": ("codegen: {}", "compile"),
}


class Part(
    collections.namedtuple("Part", "name start end depth thread category about", defaults=("user_annotation", None))
):
    """One part of the program that was measured; `start` and `end` in nanoseconds, as perf_counter_ns() gives them.

    `about`: what a trace tells of it besides, a dictionary or None.
    """

    __slots__ = ()
    count, is_async, input_shapes, stack, device_time, device_time_total = 1, False, (), (), 0, 0

    @property
    def key(self):
        return self.name

    @property
    def cpu_time_total(self):
        """Microseconds."""
        return (self.end - self.start) / 1e3

    cpu_time = cpu_time_total

    @property
    def time_range(self):
        """From when to when, in microseconds."""
        return Interval(self.start / 1e3, self.end / 1e3)


class Interval(collections.namedtuple("Interval", "start end")):
    """Two times in microseconds."""

    __slots__ = ()

    def elapsed_us(self):
        return self.end - self.start


_running = []  # profiles that record
_compilations = None  # the subscription to their ends, while one records
_open = threading.local()  # .parts: the names this thread is in


class record_function:  # noqa: N801  torch's name
    """`with record_function(name):`, or a decorator: one part of the program, measured by the profiles that run."""

    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        if not _is_compiling():
            self._enter()
        return self

    def __exit__(self, kind, value, traceback):
        if not _is_compiling():
            self._leave()

    def __call__(self, function):
        def inner(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return inner

    def _enter(self):
        parts = _open.__dict__.setdefault("parts", [])
        parts.append(self.name)
        self._start = time.perf_counter_ns()

    def _leave(self):
        end = time.perf_counter_ns()
        parts = _open.parts
        parts.pop()
        part = Part(self.name, self._start, end, len(parts), threading.get_ident())
        for each in _running:
            each._parts.append(part)
        if _stream.on_annotation is not None:
            _stream.on_annotation(self.name, self._start / 1e9, (end - self._start) / 1e9)


def _record_function_enter(name, args=None):
    """A part of the program begins: the part, for _record_function_exit()."""
    part = record_function(name, args)
    part._enter()
    return part


def _record_function_exit(part):
    """That part ends."""
    part._leave()


class emit_nvtx:  # noqa: N801  torch's name
    """Marks for NVIDIA's profiler, which there is none of here: RuntimeError when it is entered, unless not enabled."""

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled = enabled

    def __enter__(self):
        if self.enabled:
            raise RuntimeError("NVTX functions are not installed: minidynamo has no CUDA support")
        return self

    def __exit__(self, kind, value, traceback):
        return False


class ProfilerActivity(enum.Enum):
    """What a profile may be asked to watch; here only CPU is there."""

    CPU = 0
    XPU = 1
    CUDA = 2


class ProfilerAction(enum.Enum):
    """What a profile does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4  # asked for by no schedule


def supported_activities():
    """{ProfilerActivity.CPU}."""
    return {ProfilerActivity.CPU}


def schedule(*, wait, warmup, active, repeat=0, skip_first=0):
    """From the number of a step to what the profile does in it: `wait`, `warmup` and `active` steps in turn.

    Raises AssertionError for negative numbers, or no active step.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments: {wait=}, {warmup=}, {active=}, {repeat=}, {skip_first=}; active "
            "should be positive, no other one negative"
        )
    cycle = wait + warmup + active

    def action(step):
        at = step - skip_first
        if at < 0 or (repeat > 0 and at >= cycle * repeat) or at % cycle < wait:
            return ProfilerAction.NONE
        at %= cycle
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """For `on_trace_ready`: writes a trace into the folder. Raises NotImplementedError for `use_gzip`."""
    if use_gzip:
        raise NotImplementedError("tensorboard_trace_handler(use_gzip=True): traces are written as they are")

    def write(profile):
        os.makedirs(dir_name, exist_ok=True)
        name = f"{worker_name or f'{os.uname().nodename}_{os.getpid()}'}.{time.time_ns()}.pt.trace.json"
        profile.export_chrome_trace(os.path.join(dir_name, name))

    return write


_HEADS = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]


def _cells(row, whole):
    own, total = row.self_cpu_time_total, row.cpu_time_total
    share = lambda time: f"{100 * time / whole if whole else 0:.2f}%"  # noqa: E731
    return [
        row.key, share(own), _time_text(own), share(total), _time_text(total), _time_text(row.cpu_time), str(row.count)
    ]  # fmt: skip


class EventList(list):
    """What was measured, in the order in which it ended; sums of it by name."""

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """The sums, one for each name."""
        found = {}
        for part, own in zip(self, _own_times(self)):
            name = "ProfilerStep*" if part.name.startswith("ProfilerStep#") else part.name
            average = found.setdefault(name, FunctionEventAvg(name))
            average.count += 1
            average.cpu_time_total += part.cpu_time_total
            average.self_cpu_time_total += own / 1e3
        return Averages(found.values())

    def total_average(self):
        """All parts as one row."""
        return self.key_averages().total_average()

    @property
    def self_cpu_time_total(self):
        """Microseconds of all parts."""
        return sum(_own_times(self)) / 1e3

    def table(self, sort_by=None, row_limit=100, **options):
        """The table of key_averages()."""
        return self.key_averages().table(sort_by, row_limit)

    __str__ = table


class Averages(list):
    """For each name what was measured: count, total and own time in microseconds."""

    def total_average(self):
        """All rows as one."""
        whole = FunctionEventAvg("Total")
        for row in self:
            whole.count += row.count
            whole.cpu_time_total += row.cpu_time_total
            whole.self_cpu_time_total += row.self_cpu_time_total
        return whole

    @property
    def self_cpu_time_total(self):
        """Microseconds of all rows."""
        return sum(row.self_cpu_time_total for row in self)

    def table(self, sort_by=None, row_limit=100, **options):
        """The rows as text, in the order of `sort_by`, an attribute of rows."""
        rows = sorted(self, key=lambda row: getattr(row, sort_by), reverse=True) if sort_by else list(self)
        rows = rows if row_limit < 0 else rows[:row_limit]
        whole = sum(row.self_cpu_time_total for row in self)
        cells = [_HEADS, *(_cells(row, whole) for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        rule = "  ".join("-" * width for width in widths)
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in cells]
        return "\n".join([rule, lines[0], rule, *lines[1:], rule, f"Self CPU time total: {_time_text(whole)}", ""])

    __str__ = table


class FunctionEventAvg:
    """One name: times in microseconds."""

    # What is not watched: programs sort by it all the same.
    cuda_time = cuda_time_total = self_cuda_time_total = device_time = device_time_total = self_device_time_total = 0
    cpu_memory_usage = self_cpu_memory_usage = cuda_memory_usage = self_cuda_memory_usage = 0
    device_memory_usage = self_device_memory_usage = flops = 0
    input_shapes, stack, is_async, is_remote, is_legacy, node_id = "", (), False, False, False, 0

    def __init__(self, key):
        self.key, self.count, self.cpu_time_total, self.self_cpu_time_total = key, 0, 0.0, 0.0

    @property
    def cpu_time(self):
        return self.cpu_time_total / self.count


def _time_text(microseconds):
    for limit, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= limit:
            return f"{microseconds / limit:.3f}{unit}"
    return f"{microseconds:.3f}us"


class profile:  # noqa: N801  torch's name
    """`with profile() as prof:` measures the record_function()s run inside, by all threads.

    With `schedule`, from the number of a step to a ProfilerAction, parts count while it says to record; step() ends a
    step, and `on_trace_ready(prof)` is called after those to be saved, and at the end where something was recorded.
    What else torch can watch is accepted and left unwatched.
    """

    _UNWATCHED = frozenset(
        """
        record_shapes profile_memory with_stack with_flops with_modules experimental_config execution_trace_observer
        acc_events use_cuda use_device use_kineto use_cpu custom_trace_id_callback post_processing_timeout_s
        """.split()
    )

    def __init__(self, enabled=True, *, activities=None, schedule=None, on_trace_ready=None, **watched):
        if unknown := watched.keys() - self._UNWATCHED:
            raise TypeError(f"profile() got an unexpected keyword argument {min(unknown)!r}")
        self._enabled = enabled
        self._schedule, self._ready = schedule, on_trace_ready
        self._parts, self._is_saved, self.step_num, self._metadata = [], False, 0, {}

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, traceback):
        self.stop()

    def start(self):
        """Begins to measure."""
        self._action = self._asked()
        if not _is_compiling():  # a trace has no times
            self._begin()

    def stop(self):
        """Ends it."""
        if self._end() and self._ready is not None:
            self._ready(self)

    def step(self):
        """Ends a step and begins the next one."""
        ended, recorded = self._action, self._end()
        self.step_num += 1
        if recorded and ended is ProfilerAction.RECORD_AND_SAVE:
            if self._ready is not None:
                self._ready(self)
            self._is_saved = True
        self._action = self._asked()
        self._begin()

    def _asked(self):
        return ProfilerAction.RECORD if self._schedule is None else self._schedule(self.step_num)

    def _begin(self):
        global _compilations
        self._step = None
        _take_parts()
        if self._enabled and self._action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            if self._is_saved:
                self._parts, self._is_saved = [], False
            _running.append(self)
            _C._observe_parts(True)
            if len(_running) == 1:
                _compilations = _events.subscribe(_note_compilation, ["compile_end"])
            if self._schedule is not None:
                self._step = record_function(f"ProfilerStep#{self.step_num}")
                self._step.__enter__()

    def _end(self):
        """Whether there was something to record."""
        if self not in _running:
            return False
        if self._step is not None:
            self._step.__exit__(None, None, None)
        _take_parts()
        _running.remove(self)
        if not _running:
            _C._observe_parts(False)
            _compilations.remove()
        self._parts.sort(key=lambda part: part.end)
        return True

    def events(self):
        """The parts, in the order in which they ended."""
        return EventList(self._parts)

    function_events = property(events)

    def total_average(self):
        """All parts as one row."""
        return self.events().total_average()

    @property
    def self_cpu_time_total(self):
        """Microseconds of all parts."""
        return self.events().self_cpu_time_total

    def add_metadata(self, key, value):
        """A text that is written with the trace."""
        self._metadata[key] = value

    add_metadata_json = add_metadata

    def toggle_collection_dynamic(self, enable, activities=None):
        """Whether parts count from here on."""
        if enable and self not in _running:
            self._begin()
        elif not enable:
            self._end()

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """What was measured, by name."""
        return self.events().key_averages()

    def table(self, sort_by=None, row_limit=100, **options):
        """The table of key_averages()."""
        return self.key_averages().table(sort_by, row_limit)

    __str__ = table

    def export_chrome_trace(self, path):
        """Writes the parts as JSON that trace viewers read."""
        rows = [
            {
                "ph": "X", "name": part.name, "pid": os.getpid(), "tid": part.thread,
                "cat": part.category, "ts": part.start / 1e3, "dur": (part.end - part.start) / 1e3,
                "args": part.about or {},
            }
            for part in self._parts
        ]  # fmt: skip
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": rows, **self._metadata}, file)


def _take_parts():
    """What native code noted since the last time goes to the profiles that record."""
    taken = []
    for kind, name, start, end, thread in _C._take_observed_parts():
        shown, category = _NATIVE[kind]
        taken.append(Part(shown.format(name), start, end, 0, thread, category))
    for each in _running:
        each._parts.extend(taken)


def _note_compilation(event):
    """A compilation that has just ended, whatever came of it."""
    end = time.perf_counter_ns()
    start = end - int(event.seconds * 1e9)
    name = "_compile.compile_inner (dynamo_timed)"
    part = Part(name, start, end, 0, event.thread, "compile", {"compile_id": event.compile_id})
    for each in _running:
        each._parts.append(part)


def _own_times(parts):
    """How long each part took without those inside it, which began later and ended before it."""
    own = [part.end - part.start for part in parts]
    open_parts = collections.defaultdict(list)  # by thread: those around the one looked at
    for i in sorted(range(len(parts)), key=lambda i: (parts[i].start, -parts[i].end)):
        part, around = parts[i], open_parts[parts[i].thread]
        while around and parts[around[-1]].end < part.end:
            around.pop()
        if around:
            own[around[-1]] -= part.end - part.start
        around.append(i)
    return own


__getattr__ = _absent_names(__name__)

"""What a run costs, as events: counts are exact, times fit together, and they survive however a process ends."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import jsonschema
import pytest

from minidynamo._events import folder, kinds

ROOT = pathlib.Path(__file__).resolve().parents[2]
IDENTITY = "of name function file line column end_line end_column compile_id state".split()

PROGRAM = """
import os, sys, threading, time
import minidynamo as torch
torch.set_num_threads(1)
torch._dynamo.config.background_compile = False
torch._dynamo.config.recompile_limit = 2

@torch.compile
def sleeps(x):
    x = x * 2
    time.sleep(0.003)
    return x + 1

@torch.compile
def short(x, y):
    return (x * 2 + y).relu()

@torch.compile(dynamic=False)
def limited(x, n):
    return x * n

def helper(x):
    return x.relu() + 1

@torch.compile
def plain(x):
    for k in range(2):
        x = helper(x)
        print(end="")
    return x

@torch.compile
def recursive(x, n):
    time.sleep(0)
    return x if n == 0 else recursive(x + 1, n - 1)

@torch.compile
def raises(x):
    x = x * 2
    time.sleep(0.002)
    raise ValueError

x, many = torch.ones(8), torch.ones(1000)
for k in range(10): sleeps(x)
for k in range(20000): short(x, x)
for k in range(7): limited(x, k / 4)
for k in range(9): plain(x)
for k in range(3): recursive(x, 4)
for k in range(4):
    try:
        raises(x)
    except ValueError:
        pass
for k in range(6): many + many

def work():
    for k in range(5): sleeps(x)
threads = [threading.Thread(target=work) for k in range(3)]
for t in threads: t.start()
for t in threads: t.join()

with torch.profiler.record_function("my part"):
    time.sleep(0.001)
with torch.profiler.profile() as prof:
    short(x, x)
assert sum(row.count for row in prof.key_averages() if row.key == "fused_mul_add_relu") == 1
assert threading.active_count() == 1

child = os.fork()
if child == 0:
    for k in range(7): sleeps(x)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0

import multiprocessing
def of_pool():
    for k in range(3): sleeps(x)
other = multiprocessing.get_context("fork").Process(target=of_pool)
other.start()
other.join()
torch._dynamo.reset()
for k in range(2): sleeps(x)
"""


class Run:
    """The events of one process, costs by what they are of."""

    def __init__(self, events):
        self.events = events
        self.last = {tuple(e[n] for n in IDENTITY): e for e in events if e["kind"] == "cost"}
        self.rows = list(self.last.values())
        self.parts = [e for e in events if e["kind"] == "part"]
        summaries = [e for e in events if e["kind"] == "cost_summary"]
        self.summary = summaries[-1] if summaries else None

    def of(self, of, function=None, **wanted):
        return [
            row for row in self.rows
            if row["of"] == of and function in (None, row["function"]) and wanted.items() <= row.items()
        ]  # fmt: skip

    def calls(self, *args, **wanted):
        return sum(row["calls"] for row in self.of(*args, **wanted))

    def seconds(self, *args, field="seconds", **wanted):
        return sum(row[field] for row in self.of(*args, **wanted))


def environment(place, **more):
    return {
        **os.environ, "PYTHONPATH": str(ROOT / "python"), "MINIDYNAMO_TRACE": str(place),
        "MINIDYNAMO_TRACE_COSTS": "1", **more,
    }  # fmt: skip


def runs_in(place):
    return [Run(list(folder.read(file))) for file in sorted(place.iterdir(), key=lambda f: f.stat().st_mtime)]


def run(tmp_path, text, **more):
    program = tmp_path / "program.py"
    program.write_text(text)
    place = tmp_path / "events"
    subprocess.run(
        [sys.executable, "-W", "ignore", program], env=environment(place, **more), check=True,
        stderr=subprocess.PIPE, timeout=120,
    )  # fmt: skip
    return runs_in(place)


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    found = run(tmp_path_factory.mktemp("costs"), PROGRAM)
    return {"all": found, "first": next(r for r in found if r.calls("function", "short"))}


@pytest.fixture(scope="module")
def first(processes):
    return processes["first"]


def test_counts_are_exact(first):
    assert first.calls("function", "sleeps", state="compiled") == 27
    assert first.calls("break", "sleeps") == 27
    assert first.calls("function", "torch_dynamo_resume_in_sleeps_at_11", state="compiled") == 27
    assert first.calls("function", "short", state="compiled") == 20001
    assert first.calls("kernel", "short") == 20001
    assert first.calls("break", "raises") == 4
    assert first.calls("kernel", "sleeps") == 27


def test_lines_and_columns_of_breaks(first):
    (row,) = first.of("break", "sleeps", compile_id="0/0")
    assert (row["line"], row["column"], row["end_line"], row["end_column"]) == (11, 4, 11, 21)
    assert row["file"].endswith("program.py") and row["threads"] == 4
    (function,) = first.of("function", "short")
    assert function["line"] == 14 and function["compile_id"] == "2/0"


def test_what_sleeps_in_a_break_is_the_breaks(first):
    assert 27 * 0.003 <= first.seconds("break", "sleeps", field="own_seconds")
    assert first.seconds("break", "sleeps") <= first.seconds("function", "sleeps")
    (whole,) = first.of("function", "sleeps", compile_id="0/0")
    (part,) = first.of("break", "sleeps", compile_id="0/0")
    assert whole["own_seconds"] + part["seconds"] <= whole["seconds"] * 1.001
    assert 4 * 0.002 <= first.seconds("break", "raises", field="own_seconds")


def test_own_times_are_parts_of_the_whole(first):
    for row in first.rows:
        assert 0 <= row["own_seconds"] <= row["seconds"], row
    threads = 3
    whole = sum(row["own_seconds"] for row in first.of("function") + first.of("break"))
    assert whole <= threads * first.summary["wall_seconds"]
    assert first.seconds("function", "recursive") <= first.summary["wall_seconds"]
    assert first.seconds("function", "short") < first.summary["wall_seconds"]


def test_plain_frames(first):
    assert first.calls("function", "limited", state="compiled") == 2
    assert first.calls("function", "limited", state="plain") == 5
    assert first.calls("function", "plain", state="plain") == 9
    assert first.calls("function", "helper", state="compiled") == 18
    below = first.seconds("function", "helper")
    plain = first.seconds("function", "plain", state="plain")
    assert plain - first.seconds("function", "plain", state="plain", field="own_seconds") >= below * 0.9


def test_bytes_of_kernels(first):
    rows = first.of("kernel", "short", compile_id="2/0")
    assert {row["bytes"] for row in rows if row["calls"] == 20001} == {20001 * 8 * 4 * 2}
    assert first.summary["copy_bandwidth"] == 0 or first.summary["wall_seconds"] > 1
    assert not any(row["bytes"] for row in first.rows if row["of"] != "kernel")


def test_operations(first):
    (row,) = first.of("op", name="aten::ones")
    assert row["calls"] == 2
    (row,) = first.of("op", name="aten::add")
    assert row["calls"] >= 6


def test_the_time_line(first):
    assert 0 < len(first.parts) <= 20000
    wall = first.summary["wall_seconds"]
    for part in first.parts:
        assert 0 <= part["start"] and part["start"] + part["seconds"] <= wall + 1e-3, part
    seen = {(part["category"], part["name"]) for part in first.parts}
    assert {("region", "sleeps"), ("plain", "limited"), ("user_annotation", "my part"), ("op", "aten::ones")} <= seen
    assert ("compile", "short") in seen and ("kernel", "fused_mul_add_relu") in seen
    assert any(name.startswith("GB") and "program.py:11" in name for kind, name in seen if kind == "break")
    assert len({part["thread"] for part in first.parts}) >= 4
    assert first.summary["parts_left_out"] > 20000
    assert len([part for part in first.parts if part["category"] == "break"]) >= 4


def test_processes_that_are_forked_begin_anew(processes):
    counts = sorted(r.calls("function", "sleeps") for r in processes["all"])
    assert counts == [3, 7, 27]
    for process in processes["all"]:
        assert process.events[0]["kind"] == "run"
        assert all(part["start"] >= 0 for part in process.parts)


def test_events_follow_the_schema(processes):
    validator = jsonschema.Draft202012Validator(kinds.schema())
    for process in processes["all"]:
        told = [next(e for e in process.events if e["kind"] == kind) for kind in ("cost", "part", "cost_summary")]
        for event in told + process.rows[:10]:
            validator.validate(event)


def test_observing_is_told(first):
    assert 0 < first.summary["writing_seconds"] <= first.summary["observing_seconds"] < first.summary["cpu_seconds"]


def test_nothing_without_being_asked(tmp_path):
    text = "import minidynamo as torch\ntorch.compile(lambda x: x + 1)(torch.ones(3))\n"
    (process,) = run(tmp_path, text, MINIDYNAMO_TRACE_COSTS="0")
    assert not process.rows and not process.parts and process.summary is None


def test_a_process_that_is_killed_keeps_what_was_written(tmp_path):
    text = """
import time
import minidynamo as torch
@torch.compile
def f(x):
    x = x * 2
    time.sleep(0.001)
    return x + 1
x = torch.ones(3)
while True:
    f(x)
"""
    place = tmp_path / "events"
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", text], env=environment(place))
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            files = list(place.glob("*.jsonl"))
            if files and b'"cost_summary"' in files[0].read_bytes():
                break
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    (found,) = runs_in(place)
    assert found.calls("break", "f") > 0
    assert found.summary["wall_seconds"] > 0 and found.events[-1]["kind"] != "end"


def test_generators_have_only_the_time_in_which_they_run(tmp_path):
    text = """
import time
import minidynamo as torch
def numbers(x):
    try:
        yield x * 2
        yield x * 3
    finally:
        time.sleep(0)
@torch.compile
def f(x):
    generator = numbers(x)
    print(next(generator))
    time.sleep(0.05)
    return x + next(generator)
for k in range(3):
    f(torch.ones(3))
"""
    (process,) = run(tmp_path, text)
    suspended = [row for row in process.rows if row["function"] == "numbers" and row["seconds"] > 0.04]
    assert not suspended
    assert sum(row["own_seconds"] for row in process.of("function") + process.of("break")) < 3 * 0.05 * 2 + 1


def test_what_a_signal_ends_is_measured_to_its_end(tmp_path):
    text = """
import signal, time
import minidynamo as torch
seconds = 0
@torch.compiler.disable
def nap():
    time.sleep(seconds)
@torch.compile
def f(x):
    x = x * 2
    nap()
    return x
def end(*args):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, end)
for seconds in (0, 100):
    signal.setitimer(signal.ITIMER_REAL, seconds and 0.3)
    try:
        f(torch.ones(3))
    except KeyboardInterrupt:
        pass
"""
    (process,) = run(tmp_path, text)
    assert 0.1 < process.seconds("break", "f") <= process.seconds("function", "f") <= process.summary["wall_seconds"]


def test_a_program_that_is_compiled_whole(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import minidynamo as torch\ndef f(x):\n    return x + 1\nfor k in range(30): f(torch.ones(3))\n"
    )
    place = tmp_path / "events"
    command = [sys.executable, "-m", "minidynamo", "run", "--everything", program]
    subprocess.run(command, env=environment(place), check=True, capture_output=True, timeout=120)
    (process,) = runs_in(place)
    assert process.calls("function", "f", state="compiled") == 30
    assert not [row for row in process.rows if "json" in row["file"]]  # of whoever writes this


def test_many_threads_take_few_places_of_the_time_line(tmp_path):
    text = """
import threading
import minidynamo as torch
@torch.compile
def f(x):
    return x * 2 + 1
x = torch.ones(3)
def work():
    for k in range(3): f(x)
for k in range(400):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""
    (process,) = run(tmp_path, text)
    (row,) = process.of("function", "f")
    assert (row["calls"], row["threads"]) == (1200, 400)
    assert len(process.parts) < 1000


def test_a_full_disk_ends_it_quietly(capsys):
    file = folder.EventFile("/dev/full", "0")
    with file.batch():
        file.begin()
    assert file._out is None
    assert "No space left" in capsys.readouterr().err

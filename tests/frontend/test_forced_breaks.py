"""Programs of other tests, broken at every n-th place at which a frame can resume, and at each place in turn: nothing
else about them changes.

In the suite: some test files, n up to 3, every seventh place. With MINIDYNAMO_BREAK_EVERY=12 (`make breaks`) all files,
n up to that, every place.
"""

import importlib
import inspect
import os
import pathlib
import re

import pytest

import minidynamo as torch
from frontend.differential import same

TESTS = pathlib.Path(__file__).resolve().parents[1]
QUICK = ("frontend.test_language", "frontend.test_breaks", "frontend.test_generators", "frontend.test_soundness")
MOST = int(os.environ.get("MINIDYNAMO_BREAK_EVERY", 0))
IMPORTS_SAME = re.compile(r"^from frontend.differential import .*\bsame\b", re.MULTILINE)
CALLS_SAME = re.compile(r"\bsame\(")
# Whole modules: they count calls of a backend, or frames. Tests: they ask for errors at breaks, for variables of a
# frame that no code of it reads any more, which resume functions do not have, or count frames.
NOT_HERE = {"test_forced_breaks", "test_failing_graphs", "test_trace_more"}
NOT_THESE = {
    "test_a_frame_that_is_looked_at",
    "test_error_on_graph_break",
    "test_error_on_graph_break_around_a_compiled_function",
    "test_suppressed_errors_of_backends",
    "test_traced_whole",
}
ONCE = {"frontend.test_custom_ops"}  # defines operators, which can be done once in a process


def modules():
    if not MOST:
        return QUICK
    files = sorted(p for p in TESTS.rglob("test_*.py") if p.stem not in NOT_HERE)
    return [".".join(p.relative_to(TESTS).with_suffix("").parts) for p in files if IMPORTS_SAME.search(p.read_text())]


def calls_of(test):
    """Keyword arguments of every run of a test; none if it takes fixtures."""
    runs = [{}]
    for mark in getattr(test, "pytestmark", []):
        if mark.name != "parametrize":
            return []
        names = mark.args[0].replace(" ", "").split(",") if isinstance(mark.args[0], str) else mark.args[0]
        rows = []
        for value in mark.args[1]:
            given = value.values if isinstance(value, type(pytest.param())) else value if len(names) > 1 else (value,)
            rows.append(dict(zip(names, given)))
        runs = [{**run, **row} for run in runs for row in rows]
    return runs if all(set(inspect.signature(test).parameters) == set(run) for run in runs) else []


def programs(left_out=()):
    for name in modules():
        if name in left_out:
            continue
        module = importlib.import_module(name)
        if getattr(module, "same", None) is not same:
            continue
        for key, test in vars(module).items():
            if key.startswith("test_") and key not in NOT_THESE and inspect.isfunction(test):
                if CALLS_SAME.search(inspect.getsource(test)) and calls_of(test):
                    yield pytest.param(module, test, id=f"{name}.{key}")


def run_with(module, test, monkeypatch, same_with_breaks):
    """The test, its programs handed to another function than same()."""
    asked = []

    def broken(function, make_args=tuple, *, kwargs=None, calls=2, **_):
        asked.append(function)
        same_with_breaks(lambda: same(function, make_args, kwargs=kwargs, calls=calls, backends=()))

    monkeypatch.setattr(module, "same", broken)
    for arguments in calls_of(test):
        test(**arguments)
    assert asked


@pytest.mark.parametrize("module, test", programs())
def test_breaks_change_nothing(module, test, monkeypatch):
    def at_every_nth(run):
        for every in range(1, (MOST or 3) + 1):
            with torch._dynamo.config.patch(break_every=every, recompile_limit=64):
                run()

    run_with(module, test, monkeypatch, at_every_nth)


def was_forced():
    return any("config.break_at" in text for texts in torch._dynamo.utils.counters.values() for text in map(str, texts))


def places():
    """1, 2, 3, ...; of long traces the later ones get sparse."""
    at = 1
    while True:
        yield at
        at += (1 if MOST else 7) + at // 150


@pytest.mark.parametrize("more", [False, True], ids=["places", "instructions"])
@pytest.mark.parametrize("module, test", programs(ONCE))
def test_a_break_at_each_place_changes_nothing(module, test, more, monkeypatch):
    def at_each(run):
        for at in places():
            with torch._dynamo.config.patch(break_at=at, trace_more=more, recompile_limit=64):
                run()
            if not was_forced():
                return

    run_with(module, test, monkeypatch, at_each)


def test_a_break_at_one_place():
    def f(x):
        y = torch.sin(x)
        z = torch.cos(y)
        return torch.tan(z)

    def frames(at, more):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        counter = torch._dynamo.testing.CompileCounter()
        with torch._dynamo.config.patch(break_at=at, trace_more=more):
            torch.compile(f, backend=counter)(torch.ones(3))
        return counter.frame_count, was_forced()

    assert [frames(at, False) for at in (0, 2, 3)] == [(1, False), (2, True), (1, True)]
    assert frames(4, False) == (1, False)
    forced = [frames(at, True)[1] for at in range(1, 40)]
    assert sum(forced) > 10 and forced == sorted(forced, reverse=True)


def test_a_forced_break_breaks():
    def f(x):
        y = torch.sin(x)
        z = torch.cos(y)
        return torch.tan(z)

    for every, frames in ((0, 1), (1, 0), (2, 2), (3, 1)):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        counter = torch._dynamo.testing.CompileCounter()
        with torch._dynamo.config.patch(break_every=every):
            x = torch.ones(3)
            assert torch.equal(torch.compile(f, backend=counter)(x), f(x))
        assert counter.frame_count == frames
        breaks = torch._dynamo.utils.counters["graph_break"]
        assert bool(breaks) == bool(every)
    with torch._dynamo.config.patch(break_every=1):
        torch._dynamo.reset()
        torch.compile(f, fullgraph=True)(torch.ones(3))

"""Programs of other tests, broken at every n-th place at which a frame can resume: nothing else about them changes.

In the suite: some test files, n up to 3. With MINIDYNAMO_BREAK_EVERY=12 (`make breaks`) all files, n up to that.
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
NOT_HERE = {"test_forced_breaks", "test_failing_graphs"}  # the latter counts calls of a backend


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


def programs():
    for name in modules():
        module = importlib.import_module(name)
        if getattr(module, "same", None) is not same:
            continue
        for key, test in vars(module).items():
            if key.startswith("test_") and inspect.isfunction(test) and "same(" in inspect.getsource(test):
                if calls_of(test):
                    yield pytest.param(module, test, id=f"{name}.{key}")


@pytest.mark.parametrize("module, test", programs())
def test_breaks_change_nothing(module, test, monkeypatch):
    asked = []

    def broken(function, make_args=tuple, *, kwargs=None, calls=2, **_):
        asked.append(function)
        for every in range(1, (MOST or 3) + 1):
            with torch._dynamo.config.patch(break_every=every, recompile_limit=64):
                same(function, make_args, kwargs=kwargs, calls=calls, backends=())

    monkeypatch.setattr(module, "same", broken)
    for arguments in calls_of(test):
        test(**arguments)
    assert asked


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

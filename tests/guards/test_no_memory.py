"""Lack of memory while a function is compiled: the right result or MemoryError, and nothing left behind."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
needs_testcapi = pytest.mark.skipif(
    importlib.util.find_spec("_testcapi") is None, reason="this Python comes without _testcapi"
)


@needs_testcapi
@pytest.mark.parametrize("case", ["broken", "whole", "handled"])
def test_allocations_of_python_fail(case):
    done = subprocess.run(
        [sys.executable, HERE / "no_memory.py", case, "1", "25"],
        env={"PYTHONPATH": ":".join(sys.path), "MINIDYNAMO_BACKGROUND_COMPILE": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    tried, raised, raised_in_a_row, defects = map(int, done.stdout.split())
    assert tried > 100
    # Without fullgraph only what fails after the first effect, however many allocations compiling takes before it.
    assert 0 < raised < {"broken": 175, "whole": tried, "handled": 100}[case]
    assert raised < raised_in_a_row <= tried
    assert defects == 0


@pytest.mark.parametrize("kind", ["default", "fullgraph", "eager"])
def test_the_address_space_is_limited(kind):
    done = subprocess.run(
        [sys.executable, HERE / "little_room.py", kind],
        env={"PYTHONPATH": ":".join(sys.path), "MINIDYNAMO_BACKGROUND_COMPILE": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    right, raised, others = done.stdout.split(maxsplit=2)
    assert others.strip() == "{}", done.stderr[-3000:]
    assert int(right) > 0 and int(right) + int(raised) == 14

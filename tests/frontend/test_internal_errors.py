"""Failures of our own: said to be ours, and the program goes on as plain Python."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def failing_new(tmp_path_factory):
    library = tmp_path_factory.mktemp("preload") / "failing_new.so"
    subprocess.run(["c++", "-shared", "-fPIC", "-O1", "-o", library, HERE / "failing_new.cpp"], check=True)
    return library


def test_a_failing_allocation_costs_nothing_but_speed(failing_new):
    run = subprocess.run(
        [sys.executable, HERE / "out_of_memory.py", failing_new, "37"],
        env={"LD_PRELOAD": str(failing_new), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    failed, raised, said = map(int, run.stdout.split()[-3:])
    assert failed > 30 and said == 0, "lack of memory is no defect"
    assert raised < failed / 4, "few failures come when there is no way back"

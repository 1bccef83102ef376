"""Each program of the modules named here is a test: the same on the CPU and on a device, plain and compiled."""

import pathlib
import re

import pytest

from gpu.child_process import run

HERE = pathlib.Path(__file__).parent
PROGRAMS = [
    pytest.param(path.stem, name, id=f"{path.stem.removeprefix('twin_')}-{name}")
    for path in sorted(HERE.glob("twin_*.py"))
    for name in re.findall(r"(?m)^@twin.*\ndef (\w+)\(device, compiled\):", path.read_text())
]


@pytest.mark.parametrize("module, name", PROGRAMS)
def test_twins(module, name):
    run(module, name)


def test_every_program_is_listed():
    marks = sum(len(re.findall(r"(?m)^@twin", path.read_text())) for path in HERE.glob("twin_*.py"))
    assert marks == len(PROGRAMS) > 0

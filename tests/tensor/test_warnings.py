"""Warnings that programs for torch know: transposing other tensors than matrices, tensors from lists of arrays."""

import subprocess
import sys

import pytest

CASES = {
    "torch.zeros(2, 2).T; torch.zeros(2, 2, 2).mT": [],
    "torch.zeros(()).T; torch.zeros(()).mT": ["without dimensions"],
    "torch.zeros(2).T; torch.zeros(2, 2, 2).T": ["has not two dimensions"],
    "torch.zeros(()).T; torch.zeros(3).T": ["without dimensions", "has not two dimensions"],
    "torch.compile(lambda x: x.T + 1, fullgraph=True)(torch.zeros(2, 2, 2))": [],
    "[torch.tensor([numpy.ones(2)]) for _ in range(2)]": ["sequence of NumPy arrays"],
    "torch.tensor((numpy.ones(2), numpy.ones(2)))": ["sequence of NumPy arrays"],
    "torch.as_tensor([[numpy.ones(2)]])": ["sequence of NumPy arrays"],
    "torch.zeros(2).new_tensor([numpy.ones(2)])": ["sequence of NumPy arrays"],
    "torch.tensor([numpy.float64(1)]); torch.tensor(numpy.ones((2, 2))); torch.tensor([])": [],
}
PROGRAM = """
import sys, warnings
sys.path[:] = {path!r}
import numpy
import minidynamo as torch
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    {code}
for each in caught:
    print(each.category.__name__, each.filename, each.message)
"""


@pytest.mark.parametrize("code", CASES)
def test_said_once_in_a_process(code):
    program = PROGRAM.format(path=sys.path, code=code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(CASES[code]), done.stdout
    for line, part in zip(lines, CASES[code]):
        assert line.startswith("UserWarning ") and part in line

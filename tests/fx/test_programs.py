"""Programs of users of torch.fx print what they print with torch 2.13 on a CPU, and compute the same values.

results.json has one program a line: its texts, and its values to six digits.
"""

import json
import math
import pathlib

import pytest

import minidynamo as torch
import minidynamo.fx.experimental.optimization
import minidynamo.fx.passes.shape_prop
import minidynamo.fx.passes.split_module
import minidynamo.nn.utils.fusion
from fx import rewriting_programs, running_programs, tracing_programs

RESULTS = json.loads((pathlib.Path(__file__).parent / "results.json").read_text())
PROGRAMS = [*tracing_programs.PROGRAMS, *rewriting_programs.PROGRAMS, *running_programs.PROGRAMS]


def plain(value):
    if isinstance(value, torch.Tensor):
        return value.detach().tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def agree(one, other):
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(agree, one, other))
    return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-5)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program):
    texts, values = program(torch, torch.fx)
    expected = RESULTS[program.__name__]
    assert "\n".join(texts) == "\n".join(expected["texts"])
    assert agree(plain(values), expected["values"])


def test_every_result_has_its_program():
    assert {program.__name__ for program in PROGRAMS} == set(RESULTS)

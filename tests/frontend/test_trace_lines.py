"""TRACE lines name the instructions that CPython executes, one line each."""

import dis
import os
import pathlib
import re
import subprocess
import sys
import types

import pytest

import minidynamo
import minidynamo as torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import minidynamo as torch

def scale(x, factor):
    return x * factor

def fn(x, items):
    for item in items[0:2]:
        x = scale(x, factor=item) + len(items)
    torch._dynamo.graph_break()
    return x + 1
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "program.py"
    path.write_text(PROGRAM + "\ntorch.compile(fn, backend='eager')(torch.ones(2), [1, 2, 3])\n")
    env = {
        **os.environ,
        "PYTHONPATH": str(pathlib.Path(minidynamo.__file__).parents[1]),
        "TORCH_LOGS": "+dynamo",
        "TORCH_LOGS_FORMAT": "%(message)s",
    }
    done = subprocess.run([sys.executable, str(path)], env=env, stderr=subprocess.PIPE, text=True, check=True)
    return [line for line in done.stderr.split("\n") if line.startswith("TRACE ")]


def first_trace(lines, function):
    """Names and operands from the start of `function` up to the next one."""
    start = next(k for k, line in enumerate(lines) if re.match(rf"TRACE starts_line .* in {function}$", line))
    for line in lines[start:]:
        match = re.match(r"TRACE ([A-Z_]+) (.*?) \[", line)
        if match:
            yield match.groups()


def test_every_line_has_a_name(lines):
    assert all(re.match(r"TRACE (starts_line|FX call|inlined call|[A-Z]\w+ \S+)", line) for line in lines), lines


def test_lines_are_what_dis_shows(lines):
    namespace = {}
    exec(compile(PROGRAM.split("def scale")[1].join(["def scale", ""]), "program", "exec"), namespace)
    code = namespace["fn"].__code__
    assert isinstance(code, types.CodeType)
    traced = first_trace(lines, "fn")
    seen = 0
    for instruction in dis.get_instructions(code):
        fused = instruction.opname.count("_FAST") == 2 or instruction.opname == "BINARY_SLICE"
        for _ in range(2 if fused else 1):
            name, argument = next(traced)
            if not fused:
                value = code.co_consts[instruction.arg] if instruction.opname == "KW_NAMES" else instruction.argval
                expected = str(value) if instruction.arg is not None else "None"
                assert (name, argument) == (instruction.opname, expected)
            seen += 1
        if instruction.opname in ("CALL", "CALL_KW"):
            break
    assert seen > 10


def test_resume_function_prints_plain_loads(lines):
    names = [name for name, _ in first_trace(lines, r"torch_dynamo_resume_in_fn_at_\d+")]
    assert names[:4] == ["RESUME", "LOAD_FAST", "JUMP_FORWARD", "POP_TOP"]


def test_calls_of_functions_at_equal_lines_of_two_files():
    """Each operation names the function it stands in, and so does each turn of a loop."""
    space = {}
    exec(compile("def plus(x):\n    return x + 1\n", "plus.py", "exec"), space)
    exec(compile("def times(x):\n    return x * 2\n", "times.py", "exec"), space)
    plus, times = space["plus"], space["times"]

    def f(x):
        for _ in range(2):
            x = times(plus(x))
        return x

    places = []

    def backend(gm, inputs):
        places.extend(n.stack_trace for n in gm.graph.nodes if n.op == "call_function")
        return gm.forward

    assert torch.compile(f, backend=backend)(torch.ones(2)).tolist() == [10, 10]
    assert len(places) == 4
    for place, name in zip(places, ["plus", "times"] * 2, strict=True):
        assert f'File "{name}.py", line 2, in {name}' in place
        assert "in f\n    x = times(plus(x))" in place

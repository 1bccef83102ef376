"""Explanations name what a program knows: no addresses, no names of the tracer's, whole names of what is local."""

import re

import pytest

import minidynamo as torch


class Outer:
    class Inner:
        def method(self):
            return 1


def local_class():
    class Local:
        def method(self):
            return 1

    return Local


def broken_by(value):
    def f(x):
        return x + torch.full((2,), value)

    with pytest.raises(torch._dynamo.exc.Unsupported) as error:
        torch.compile(f, fullgraph=True)(torch.ones(2))
    return str(error.value)


VALUES = {
    "method of a local class": lambda: local_class()().method,
    "method of a nested class": lambda: Outer.Inner().method,
    "local class": local_class,
    "lambda": lambda: lambda: 0,
    "local function": lambda: local_class().method,
    "object": lambda: local_class()(),
    "builtin": lambda: len,
    "method of a builtin": lambda: [].append,
    "module": lambda: re,
}


@pytest.mark.parametrize("kind", VALUES)
def test_explanations(kind):
    text = broken_by(VALUES[kind]())
    said = text.partition("Developer debug context")[0]
    assert not re.search(r"0x[0-9a-f]{4}|Variable\(|<unknown", said), said
    for quoted in re.findall(r"`([^`]*)`", said):
        assert quoted.count("<") == quoted.count(">"), said


GENERATORS = """
import minidynamo as torch
lambdas = lambda x: (yield x)


def other():
    pass


def decorated(f):
    return f


@decorated
@decorated
def below(x):
    yield x
"""


@pytest.mark.parametrize("name", ["lambdas", "below"])
def test_a_generator_is_shown_at_its_call(tmp_path, name):
    path = tmp_path / "generators.py"
    path.write_text(GENERATORS)
    space = {}
    exec(compile(GENERATORS, path, "exec"), space)
    with pytest.raises(torch._dynamo.exc.Unsupported) as error:
        torch.compile(space[name], fullgraph=True)(torch.ones(2))
    assert error.value.real_stack[-1].filename == __file__ and "torch.compile(space[name]" in str(error.value)
    assert "generators.py" not in str(error.value)

"""Each pass of the pipeline shows in the functional graph of a compiled program (the aot_graphs log)."""

import logging

import pytest

import minidynamo as torch
from minidynamo import _logging


@pytest.fixture
def functional_graph():
    """compile(f)(*args) -> the text of the graph that is compiled."""
    texts = []
    handler = logging.Handler()
    handler.emit = lambda record: texts.append(record.getMessage())

    def text_of(function, *args):
        texts.clear()
        torch._dynamo.reset()
        torch.compile(function, fullgraph=True)(*args)
        (text,) = texts
        return "\n".join(line for line in text.split("\n") if not line.strip().startswith("#"))  # not the source lines

    _logging.set_logs(aot_graphs=True)
    logging.getLogger("minidynamo").addHandler(handler)
    yield text_of
    logging.getLogger("minidynamo").removeHandler(handler)
    _logging.set_logs()


def test_what_nobody_uses_is_gone(functional_graph):
    def f(x):
        x.sin()
        return x + 1

    assert "sin" not in functional_graph(f, torch.ones(3))


def test_operations_that_change_nothing_are_gone(functional_graph):
    text = functional_graph(lambda x: (x * 1).exp(), torch.ones(3))
    assert "mul" not in text and "exp" in text


def test_equal_calls_are_one(functional_graph):
    assert functional_graph(lambda x: x.sin() + x.sin() * 2, torch.ones(3)).count("sin(") == 1


def test_small_values_of_numbers_are_computed_while_compiling(functional_graph):
    text = functional_graph(lambda x: x * (torch.full((2,), 1.5) * 2).sum(), torch.ones(3))
    assert "torch.sum(" not in text and "torch.full(" not in text


def test_of_an_input_only_the_written_part_is_written_back(functional_graph):
    def f(x):
        x[1] = x[0] * 2
        return x.sum()

    text = functional_graph(f, torch.ones(4, 5))
    (commit,) = [line for line in text.split("\n") if "commit(" in line]
    assert "write_view" not in commit, text

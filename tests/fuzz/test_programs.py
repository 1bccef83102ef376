"""Random programs behave the same plain and compiled; more of them with tests/fuzz/run.py."""

import gc

import pytest

import minidynamo as torch
from fuzz import run
from fuzz.programs import program
from fuzz.shrink import shrink

PROGRAMS, EACH = 2000, 10


@pytest.fixture(autouse=True)
def grad_mode():
    """Programs suspend generators inside no_grad(); what these do when they go stays here."""
    yield
    gc.collect()
    torch.set_grad_enabled(True)


@pytest.mark.parametrize("first", range(0, PROGRAMS, EACH))
def test_random_programs(first):
    for seed in range(first, first + EACH):
        source = program(seed, run.size_of(seed))
        failure = run.failure_of(source, seed)
        if failure:
            small = shrink(source, run.fails_alike(seed, failure), steps=300)
            pytest.fail(f"seed {seed}: {run.failure_of(small, seed) or failure}\n{small}")


def test_shrinking_keeps_what_fails():
    source = "def f(x):\n    y = x + 1\n    if y:\n        z = [1, 2, g(y)]\n    return y\n"
    small = shrink(source, lambda text: "g(" in text)
    assert "g(" in small and len(small) < 30


def test_failures_are_noticed():
    """A program that tells compiled code from plain code."""
    source = program(1, 4).replace("    out = []\n", "    out = [torch.compiler.is_compiling()]\n")
    assert "result of call 0 differs" in run.failure_of(source, 1)
    assert "SyntaxError" in run.failure_of("def f(:", 1)


def test_the_ledger_is_read():
    for version, first, last, programs, failures in run.records():
        assert len(version) == 12 and last - first + 1 == programs and 0 <= failures <= programs

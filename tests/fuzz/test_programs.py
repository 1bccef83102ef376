"""Random programs behave the same plain and compiled."""

import linecache
import warnings

import pytest

import minidynamo as torch
from frontend.differential import same
from fuzz.programs import program


def run(seed, size):
    source = program(seed, size)
    file = f"<program {seed}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = {"__name__": "program"}
    exec(compile(source, file, "exec"), scope)

    def arguments():
        a = torch.tensor([1.0, -2.0, 3.0, 0.5])
        return a, torch.tensor([2.0, 0.0, -1.0, 4.0]), seed % 5, [1, 2], {"k": 1, 1: a}, scope["Box"](a + 1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            same(scope["f"], arguments)
        except AssertionError as error:
            raise AssertionError(f"{error}\nseed {seed}\n{source}") from error


@pytest.mark.parametrize("seed", range(80))
def test_random_program(seed):
    run(seed, 4 + seed % 12)

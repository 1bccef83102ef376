"""itertools in traced code: values, order of side effects, and what is consumed."""

import itertools
import operator

import pytest

import minidynamo as torch
from frontend.differential import same


def x():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def add(a, b):
    return a + b


PROGRAMS = {
    "accumulate": lambda x: list(itertools.accumulate([x, x * 2, x * 3])),
    "accumulate function": lambda x: list(itertools.accumulate([x, x + 1], operator.mul)),
    "accumulate initial": lambda x: list(itertools.accumulate([x], add, initial=x - 1)),
    "accumulate nothing": lambda x: [x + 1, list(itertools.accumulate([])), list(itertools.accumulate([], initial=3))],
    "accumulate None": lambda x: [x + v for v in itertools.accumulate([1, 2, 3], None, initial=None)],
    "groupby": lambda x: [(k, [x + v for v in g]) for k, g in itertools.groupby([1, 1, 2, 1])],
    "groupby key": lambda x: [(k, list(g), x + k) for k, g in itertools.groupby(range(7), key=lambda v: v // 3)],
    "groupby skips groups": lambda x: [k + x for k, _ in itertools.groupby([1, 1, 2, 2, 3])],
    "groupby old group": lambda x: [x + 1, [list(g) for _, g in list(itertools.groupby([1, 1, 2]))]],
    "cycle": lambda x: [x * v for v, _ in zip(itertools.cycle([1, 2, 3]), range(7))],
    "cycle nothing": lambda x: [x + 1, list(itertools.cycle([]))],
    "chain": lambda x: [x + v for v in itertools.chain([1, 2], (3,), [], {4: 5})],
    "repeat": lambda x: list(itertools.repeat(x, 3)) + list(itertools.repeat(1, times=-2)),
    "count": lambda x: [x + v for v, _ in zip(itertools.count(5, -2), range(3))],
    "count start": lambda x: [x + v for v, _ in zip(itertools.count(start=0.5), range(3))],
    "islice": lambda x: [x + v for v in itertools.islice(range(20), 2, 13, 4)],
    "islice of count": lambda x: [x * v for v in itertools.islice(itertools.count(), 4)],
    "islice None": lambda x: [x + v for v in itertools.islice([1, 2, 3], None)],
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_one_graph(program):
    same(program, x, breaks=())


@pytest.mark.parametrize("bounds", [(2,), (1, 4), (0, 10, 3), (3, 1), (2, 2), (0, 5, 5)])
def test_islice_leaves_the_rest(bounds):
    def program(x):
        source = iter(range(8))
        taken = list(itertools.islice(source, *bounds))
        return x + len(taken), taken, list(source)

    same(program, x, frames=1, breaks=())


def test_steps_run_when_they_are_asked_for():
    def program(x):
        seen = []

        def note(a, b):
            seen.append(("f", b))
            return a + b

        for v in itertools.accumulate([1, 2, 3], note):
            seen.append(("loop", v))
        return x + len(seen), seen

    same(program, x, frames=1, breaks=())


def test_errors_are_the_programs():
    def program(x):
        try:
            itertools.islice([1], -1)
        except ValueError as error:
            return x + 1, str(error)

    same(program, x, breaks=())


def test_half_used_iterator_that_escapes():
    def program(x):
        it = itertools.accumulate([1, 2, 3])
        next(it)
        return x + 1, it

    _, it = torch.compile(program, backend="eager")(torch.ones(1))
    assert list(it) == [3, 6]

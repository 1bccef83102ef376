"""Loops that a tensor ends: each round runs the same resume code, so that few graphs serve any number of rounds."""

import sys

import pytest

import minidynamo as torch
from frontend.differential import same

# From 3.12 on a loop's end is a jump of its own, behind the conditional one: such a frame runs plain.
old_jumps = pytest.mark.skipif(sys.version_info >= (3, 12), reason="loops end with one conditional jump until 3.11")


def doubled_until(limit):
    def f(x):
        while x.sum() < limit:
            x = x * 2
        return x + 1

    return f


def counted(x):
    n = 0
    while x.sum() < 200:
        x = x * 2
        n += 1
    return x + n


def gathered(x):
    out = []
    while x.sum() < 100:
        out.append(x)
        x = x * 2
    return out


def negated(x):
    while not x.sum() > 30:
        x = x * 2
    return x + 1


def both(x):
    i = 0
    while i < 10 and x.sum() < 30:
        x = x * 2
        i += 1
    return x + i


def of_a_cell(x):
    def grow():
        nonlocal x
        x = x * 2

    while x.sum() < 50:
        grow()
    return x


class Halving(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rounds = 0

    def forward(self, x):
        while x.sum() > 1:
            x = x / 2
            self.rounds += 1
        return x


def start():
    return (torch.tensor([1.0, 2.0]),)


@old_jumps
@pytest.mark.parametrize("limit", [20, 1_000_000, 10**12])
def test_graphs_do_not_depend_on_the_rounds(limit):
    same(doubled_until(limit), start, frames=3, ops=6)


@old_jumps
@pytest.mark.parametrize("f, frames", [(counted, 4), (negated, 3), (both, 4)])
def test_kinds_of_conditions(f, frames):
    same(f, start, frames=frames)


@pytest.mark.parametrize("f", [gathered, of_a_cell, counted, negated, both])
def test_results(f):
    same(f, start)


def test_of_a_method():
    same(lambda x: Halving()(x), lambda: (torch.tensor([64.0, 3.0]),))


def test_under_a_manager():
    def f(x):
        with torch.no_grad():
            while x.sum() < 30:
                x = x * 2
        return x

    same(f, lambda: (torch.tensor([1.0, 2.0], requires_grad=True),))


@old_jumps
def test_left_by_return():
    def f(a):
        x = torch.ones(())
        for _ in range(50):
            n = 0.5 * (x + a / x)
            if (n - x).abs() < 1e-4:
                return n
            x = n
        return x

    same(f, lambda: (torch.tensor(7.0),), frames=5, ops=31)


def test_functions_that_die_let_their_code_go():
    import gc
    import weakref

    class Kept:
        pass

    def once():
        kept = Kept()

        def f(x):
            while x.sum() < 50:
                x = x * 2
            return x, kept

        torch.compile(f, backend="eager")(*start())
        return weakref.ref(kept)

    gone = once()
    gc.collect()
    assert gone() is None


def test_reset_between_rounds():
    def f(x):
        while x.sum() < 50:
            x = x * 2
            torch._dynamo.reset()
        return x

    same(f, start)


def test_comparisons_are_places_to_resume():
    class Weight:
        def __init__(self, value):
            self.value = value

        def __lt__(self, other):
            torch._dynamo.graph_break()
            return self.value < other.value

    light, heavy = Weight(1), Weight(2)

    def f(x):
        x = x * 2
        if light < heavy:
            return x + 1
        return x - 1

    same(f, start, frames=2, ops=2, breaks=["GB0025"])

"""Breaks whose code is raised at several places of the source: programs that get to the places the others miss."""

import contextlib
import functools
import itertools
import sys

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import breaks_with, codes, same
from minidynamo._dynamo import config
from minidynamo._dynamo.exc import UncapturedHigherOrderOpError
from minidynamo._dynamo.utils import counters
from minidynamo.utils.checkpoint import checkpoint, noop_context_fn


def one():
    return (torch.ones(2),)


def test_forced_breaks_are_graph_breaks_that_were_asked_for():
    with config.patch(break_every=1):
        same(lambda x: (x + 1).sin() * 2, one, breaks=["GB0025"])


def test_a_frame_of_its_own_is_asked_for():
    breaks_with("GB0007", lambda x: (x + 1, sys._getframe().f_globals is globals()))


def contexts(marked=None):
    return noop_context_fn()


def test_keywords_of_contexts_of_a_checkpoint():
    def f(x):
        return checkpoint(torch.sin, x, context_fn=functools.partial(contexts, marked=x * 2), use_reentrant=False)

    breaks_with("GB0086", f)


def test_a_checkpoint_changes_what_is_outside():
    seen = []

    def noted(x):
        seen.append(1)
        return x.sin()

    def f(x):
        return checkpoint(noted, x, use_reentrant=False), len(seen)

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    assert torch.compile(f, backend="eager")(torch.ones(2))[1] == 1
    assert "GB0067" in codes()


def test_a_cycle_over_more_than_it_may_remember():
    def f(x):
        taken = 0
        for number in itertools.cycle(range(150_000)):
            taken += 1
            if number == 149_999:
                break
        return x + taken

    same(f, one, calls=1, backends=("eager",), breaks=["GB0192"])


@torch.library.custom_op("morebreaks::cleared", mutates_args=("x",))
def cleared(x: torch.Tensor) -> None:
    x.zero_()


def test_branches_of_cond():
    def writes(x):
        cleared(x)
        return x + 1

    def shares(x):
        y = x + 1
        return y, y.view(-1)

    def raises(x):
        raise ValueError("no")

    for code, branches in (
        ("gb0041", (writes, lambda x: x - 1)),
        ("gb0040", (shares, lambda x: (x + 1, x + 2))),
        ("gb0088", (raises, lambda x: x - 1)),
    ):
        torch._dynamo.reset()
        compiled = torch.compile(lambda x, b=branches: torch.cond(x.sum() > 0, *b, (x,)), backend="eager")
        with pytest.raises(UncapturedHigherOrderOpError, match=code):
            compiled(torch.ones(2))


class Loud:
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        print("left")


def test_a_manager_whose_exit_breaks():
    def f(x):
        with Loud():
            x = x + 1
        return x * 2

    breaks_with("GB0066", f)

    @contextlib.contextmanager
    def loud():
        yield
        print("left")

    def g(x):
        with loud():
            x = x + 1
        return x * 2

    same(g, one)


class Plain:
    pass


def refused(act):
    """What acts on plain Python's behalf and raises TypeError."""

    def f(x):
        x = x + 1
        try:
            act()
        except TypeError as error:
            return x, str(error)
        return x

    return f


class Number(int):
    pass


def test_operators_that_are_not_modelled():
    breaks_with("GB0059", refused(lambda: [1] + Number(2)))
    breaks_with("GB0059", lambda x, a, b: (x + 1, a == b), lambda: (torch.ones(2), memoryview(b"a"), memoryview(b"b")))
    breaks_with("GB0059", refused(lambda: np.ones(2) + None))

    def arrays(a):
        try:
            return a + None
        except TypeError as error:
            return str(error)

    breaks_with("GB0059", arrays, lambda: (np.ones(2),))


def test_what_only_a_run_knows_is_used_as_a_constant():
    def numbers():
        return torch.tensor([1.0, 2.0]), torch.tensor(1)

    breaks_with("GB0124", lambda x, i: x.index_put(([i, i],), torch.tensor(1.0)), numbers)
    with config.patch(capture_scalar_outputs=True):
        breaks_with("GB0170", lambda x, i: (x + 1, {(i + 0).item() > 3: x}), numbers)


@torch._dynamo.allow_in_graph
def kept(given):
    return given["x"] + 1


def test_what_a_node_cannot_hold():
    breaks_with("GB0055", lambda x: kept({"x": x, "other": {1: Plain()}}))


def test_logging_functions_that_wait_for_the_graph():
    with config.patch(reorderable_logging_functions={print}):

        def f(x):
            print([x, 1])
            return x + 1

        same(f, one)
        assert any("Reordering debugging function" in str(text) for c in counters.values() for text in c)


def test_lists_inside_of_each_other_without_end():
    depth = 20_000

    def f(x):
        nested = []
        for _ in range(depth):
            nested = [nested]
        return x + 1, nested

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    made, levels = torch.compile(f, backend="eager")(torch.ones(2))[1], 0
    while made:
        made, levels = made[0], levels + 1
    assert levels == depth and "GB0092" in codes()

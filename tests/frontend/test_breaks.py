"""Breaks, resumption, recompilation: results, state, output, graphs and codes as plain Python's."""

import contextlib
import re

import pytest

import minidynamo as torch
from frontend.differential import same

HISTORY = []


def x():
    return torch.tensor([1.0, 2.0, 3.0])


def one():
    return (x(),)


@contextlib.contextmanager
def tagged(log):
    log.append("enter")
    try:
        yield 3
    finally:
        log.append("exit")


def test_branch_on_data_resumes():
    def f(a):
        b = a.sum()
        if b > 0:
            return a + b.item()
        return a - b.item()

    same(f, one, breaks=["GB0124", "GB0170"])
    same(f, lambda: (-x(),), breaks=["GB0124", "GB0170"])


def counted(function):
    """How often "graph_break" and "unimplemented" are counted in the first call."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.compile(function, backend="eager")(x())
    return [
        {re.search(r"gb/gb(\d{4})", m)[1]: n for m, n in torch._dynamo.utils.counters[category].items()}
        for category in ("graph_break", "unimplemented")
    ]


def test_jumps_on_data_are_counted_where_torch_counts_them():
    def jumps(a):
        b = a + 1
        if b.sum() > 0:
            b = b * 2
        return b

    def called(a):
        return a * 2 if a.sum() > 0 else a

    def calls(a):
        return called(a + 1) + 1

    def prints(a):
        b = a + 1
        print("text")
        return b * 2

    assert counted(jumps) == [{}, {"0170": 1}]
    assert counted(calls) == [{"0170": 1}, {"0170": 1}]
    assert counted(prints) == [{"0059": 1}, {}]


def test_an_exception_that_leaves_is_counted_once():
    def f(a):
        b = a + 1
        raise KeyError(b.ndim)

    with pytest.raises(KeyError):
        counted(f)
    assert list(torch._dynamo.utils.counters["unimplemented"].values()) == [1]


def test_print_keeps_its_place():
    def f(a, log):
        b = a + 1
        log.append("before")
        print("value", b.shape)
        log.append("after")
        return b * 2

    same(f, lambda: (x(), []), frames=2, breaks=["GB0059"])


def test_break_in_callee():
    def callee(a, log):
        log.append(1)
        torch._dynamo.graph_break()
        log.append(2)
        return a.cos()

    def f(a, log):
        b = a * 2
        c = callee(b, log)
        return c.sin(), log

    same(f, lambda: (x(), []), frames=3, breaks=["GB0025"])


def test_break_with_values_on_the_stack():
    def callee(a):
        torch._dynamo.graph_break()
        return a

    def f(a):
        return (a + 1) * callee(a.sin()) + [i * 2 for i in range(2)][1]

    same(f, one, breaks=["GB0025"])


def test_break_in_loop_try_and_with():
    def loop(a):
        for i in range(3):
            a = a + 1
            if i == 1:
                torch._dynamo.graph_break()
        return a

    def guarded(a):
        try:
            a = a + 1
            torch._dynamo.graph_break()
            a = a + {}["missing"]
        except KeyError:
            a = a * 2
        return a

    def inside(a):
        with tagged([]):
            torch._dynamo.graph_break()
            return a + 1

    same(loop, one, frames=0)
    same(guarded, one, frames=0)
    same(inside, one)


def test_break_inside_no_grad_resumes():
    def f(a):
        with torch.no_grad():
            b = a * 2
            torch._dynamo.graph_break()
            return b + 1, torch.is_grad_enabled()

    same(f, one, frames=2, breaks=["GB0025"])


def test_cells_across_a_break():
    def f(a):
        n = 1

        def bump():
            nonlocal n
            n += 1
            return n

        bump()
        torch._dynamo.graph_break()
        bump()
        return a * n, bump

    compiled = torch.compile(f, backend="eager")
    value, bump = compiled(x())
    assert value.tolist() == [3.0, 6.0, 9.0]
    assert bump() == 4


def test_a_thousand_breaks_need_no_stack():
    source = "def f(a, b):\n" + "    a = a + 1\n    b()\n" * 300 + "    return a\n"
    scope = {}
    exec(source, scope)
    torch._dynamo.reset()
    compiled = torch.compile(scope["f"], backend="eager")
    assert compiled(x(), torch._dynamo.graph_break).tolist() == [301.0, 302.0, 303.0]


def test_recompiles_when_a_guarded_value_changes():
    def f(a, n, flag):
        return a + n if flag else a - n

    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(f, backend=counter)
    torch._dynamo.reset()
    for n, flag in [(1, True), (2, True), (1, False), (1, True)]:
        assert compiled(x(), n, flag).tolist() == f(x(), n, flag).tolist()
    assert counter.frame_count == 3


def test_global_list_is_updated_in_order():
    def f(a):
        HISTORY.append(len(HISTORY))
        return a + len(HISTORY)

    HISTORY.clear()
    compiled = torch.compile(f, backend="eager")
    assert [compiled(x())[0].item() for _ in range(3)] == [2.0, 3.0, 4.0]
    assert HISTORY == [0, 1, 2]


def test_variables_of_closures_stay_the_frames_own_after_a_break():
    def deleted(a):
        kept = 12
        shared = lambda: kept  # noqa: E731, F821
        print("break")
        del kept
        a = a + 1
        print("another")
        try:
            return kept  # noqa: F821
        except UnboundLocalError as error:
            seen = [str(error)]
        try:
            return shared()
        except NameError as error:
            return a, [*seen, str(error)]

    def never_set(a):
        if a.sum() > 100:
            late = 1
        shared = lambda: late  # noqa: E731
        print("break")
        kept = 3
        return a + late, shared, kept

    def listed(a):
        def counted():
            nonlocal a
            a = a + 1
            return a

        print("break")
        counted()
        names = sorted(locals())
        print("another")
        counted()
        return a, names, locals()["a"]

    same(deleted, one, breaks=["GB0059", "GB0082"])
    same(never_set, one)
    same(listed, one, breaks=["GB0059"])


@pytest.mark.parametrize("more", [False, True])
def test_a_break_in_nullcontext_of_a_tensor(more):
    def f(a):
        with contextlib.nullcontext(a + 1) as b, torch.no_grad():
            torch._dynamo.graph_break()
            with contextlib.nullcontext([b]) as c:
                print(len(c))
                c.append(b * 2)
        return a, b, c

    with torch._dynamo.config.patch(trace_more=more):
        same(f, lambda: (torch.ones(2),), frames=2, breaks=["GB0059", "GB0025"])

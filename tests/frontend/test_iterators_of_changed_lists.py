"""Iterators that leave a function whose trace has changed what they are over, and iterators that have ended."""

import copy
import itertools

import pytest

import minidynamo as torch
from frontend.differential import same

pytestmark = pytest.mark.usefixtures("replaced_both_ways")


def plain(x, items):
    items.append(7)
    items.append(8)
    it = iter(items)
    return next(it), next(it), it, x + 1


def numbered(x, items):
    items.append(7)
    items.append(8)
    it = enumerate(items)
    next(it)
    return next(it), it, x + 1


def sliced(x, items):
    items.extend([7, 8])
    it = itertools.islice(items, 1, None)
    return next(it), it, x + 1


def chained(x, items):
    items.append(7)
    items.append(8)
    it = itertools.chain(items, [5])
    return next(it), next(it), it, x + 1


def sorted_first(x, items):
    items.append(7)
    items.append(-8)
    items.sort()
    it = iter(items)
    return next(it), it, x + 1


@pytest.mark.parametrize("f", [plain, numbered, sliced, chained, sorted_first])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_the_list_grew(f, length):
    same(f, lambda: (torch.ones(2), list(range(length))))


def test_a_break_while_the_list_is_walked():
    def f(x, keys, table):
        out = []
        for key in table:
            keys.append(key)
        for key in itertools.chain(keys, [0]):
            torch._dynamo.graph_break()
            out.append(key)
        return out, x + 1

    same(f, lambda: (torch.ones(2), [], {"a": 1, "b": 2, "c": 3}))


def ended(x, items, start, change):
    it = start(items)
    for _ in it:
        pass
    change(items)
    return it, items, x + 1


def append(items):
    items.append(3)


def store(items):
    items[2] = 3


def add(items):
    items.add(9)


def nothing(items):
    pass


@pytest.mark.parametrize(
    ("items", "start", "change"),
    [
        ([1, 2], iter, append),
        ({1: 2}, iter, store),
        ({1: 2}, lambda table: iter(table.values()), store),
        ({1: 2}, lambda table: iter(table.items()), store),
        ({1, 2}, iter, add),
        ((1, 2), iter, nothing),
        ("ab", iter, nothing),
        ("aé", iter, nothing),
        (range(2), iter, nothing),
    ],
)
def test_one_that_has_ended_stays_so(items, start, change):
    own = copy.copy(items)
    it, _, _ = torch.compile(ended)(torch.ones(2), own, start, change)
    plain_it, plain_own, _ = ended(torch.ones(2), copy.copy(items), start, change)
    assert type(it) is type(plain_it) and list(it) == [] and own == plain_own


def test_one_that_has_ended_lets_go_of_its_object():
    log = []

    class Own(str):
        def __del__(self):
            log.append(1)

    def f(x):
        y = x + 1
        it = iter(Own())
        for _ in it:
            pass
        return len(log), y

    for function in (f, torch.compile(f)):
        log.clear()
        assert function(torch.ones(2))[0] == 1

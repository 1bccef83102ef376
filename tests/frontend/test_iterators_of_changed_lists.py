"""Iterators that leave a function whose trace has changed what they are over, and iterators that have ended."""

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


def ended_list(x):
    items = [1, 2]
    it = iter(items)
    for _ in it:
        pass
    items.append(3)
    return it, items, x + 1


def ended_dict(x):
    table = {1: 2}
    its = iter(table), iter(table.values()), iter(table.items())
    for it in its:
        for _ in it:
            pass
    table[2] = 3
    return *its, table, x + 1


def ended_set(x):
    numbers = {1, 2}
    it = iter(numbers)
    for _ in it:
        pass
    numbers.add(9)
    return it, numbers, x + 1


def ended_others(x):
    its = iter((1, 2)), iter("ab"), iter(range(2)), iter("aé")
    for it in its:
        for _ in it:
            pass
    return *its, x + 1


@pytest.mark.parametrize("f", [ended_list, ended_dict, ended_set, ended_others])
def test_one_that_has_ended_stays_so(f):
    def left(x):
        return [list(v) if hasattr(v, "__next__") else v for v in f(x)]

    same(f, lambda: (torch.ones(2),))
    compiled = torch.compile(f)
    for plain_value, value in zip(f(torch.ones(2)), compiled(torch.ones(2))):
        if hasattr(plain_value, "__next__"):
            assert type(value) is type(plain_value) and list(value) == []


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

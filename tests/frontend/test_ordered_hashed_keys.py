"""OrderedDicts whose keys hash and compare by code of the program, as caches have them: found by place, in order."""

from collections import OrderedDict

import pytest

import minidynamo as torch
from frontend.differential import same


class Key:
    def __init__(self, v):
        self.v = v

    def __hash__(self):
        return hash(self.v)

    def __eq__(self, other):
        return isinstance(other, Key) and self.v == other.v


class Remembers(tuple):
    """A tuple that keeps its hash, as caches make them of arguments."""

    known = None

    def __hash__(self):
        if self.known is None:
            self.known = tuple.__hash__(self)
        return self.known


class Cache:
    def __init__(self):
        self.order, self.data = OrderedDict(), {}

    def get(self, k):
        if k in self.data:
            self.order.move_to_end(k)
            return self.data[k]

    def put(self, k, v):
        self.data[k] = v
        self.order[k] = None
        self.order.move_to_end(k)
        while len(self.order) > 2:
            oldest = next(iter(self.order))
            del self.order[oldest], self.data[oldest]


def make():
    """The order is not that of the entries."""
    d = OrderedDict((Key(i), i * 10) for i in range(4))
    d.move_to_end(next(iter(d)))
    return torch.tensor([1.0, 2.0]), d


def set_one(t, d):
    d[Key(1)] = t
    d[Key(8)] = 3
    return t + 1


def delete(t, d):
    del d[Key(3)]
    return t + 1, d.pop(Key(1))


def set_default(t, d):
    return t + 1, d.setdefault(Key(1), 5), d.setdefault(Key(50), 6)


def clear(t, d):
    d.clear()
    return t + 1


FUNCTIONS = [
    lambda t, d: (t + 1, list(d.values()), [k.v for k in d], len(d)),
    lambda t, d: (t + 1, d[Key(2)], Key(9) in d, d.get(Key(7))),
    lambda t, d: (t + 1, d.move_to_end(Key(2)), [k.v for k in d]),
    lambda t, d: (t + 1, d.popitem(), d.popitem(last=False)),
    lambda t, d: (t + 1, [k.v for k in reversed(d)], d == OrderedDict(d), d.copy()),
    set_one, delete, set_default, clear,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_graph(function):
    same(function, make, frames=1, breaks=[])


def test_a_cache():
    def f(t, cache):
        for k in ((1,), (2,), (1,), (3,)):
            if cache.get(Remembers(k)) is None:
                cache.put(Remembers(k), t + k[0])
        return list(cache.order), list(cache.data.values())

    cache = Cache()
    plain = Cache()
    fast = torch.compile(f, backend="eager")
    for n in (2, 3, 3):
        t = torch.ones(n)
        assert repr(fast(t, cache)) == repr(f(t, plain))
        assert list(cache.order) == list(plain.order)


def test_another_order_is_seen():
    def f(t, d):
        return t + next(iter(d.values()))

    fast = torch.compile(f, backend="eager")
    t, d = make()
    assert fast(t, d).tolist() == [11.0, 12.0]
    d.move_to_end(next(iter(d)))
    assert fast(t, d).tolist() == [21.0, 22.0]
    d[Key(2)] = 5
    assert fast(t, d).tolist() == [6.0, 7.0]

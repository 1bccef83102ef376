"""Calls, operators, comparisons, lengths, items and truth of instances whose classes in Python are below ones in C."""

import functools
import io
import types

import pytest

import minidynamo as torch
from frontend.differential import breaks_with, same


def x():
    return torch.tensor([1.0, 2.0])


class Own(functools.partial):
    def number(self):
        return len(self.args)


class Answers(functools.partial):
    def __call__(self, *args):
        return ("called", *args)


class Binds(functools.partial):
    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)


class Holder:
    value = 4
    method = Binds(lambda self, y: (self.value, y))


class Stream(io.IOBase):
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return isinstance(other, Stream) and self.v == other.v

    def __lt__(self, other):
        return self.v < other.v

    def __len__(self):
        return self.v

    def __getitem__(self, i):
        return self.v * i

    def __setitem__(self, i, y):
        self.last = (i, y)

    def __delitem__(self, i):
        self.last = i

    def __contains__(self, y):
        return y == self.v

    def __iter__(self):
        return iter([self.v] * 2)

    def __add__(self, other):
        return self.v + other if isinstance(other, int) else NotImplemented

    def __radd__(self, other):
        return 100 + other

    def __neg__(self):
        return -self.v

    def __call__(self, y):
        return y + self.v


class Below(Stream):
    def __eq__(self, other):
        return "below"

    def __ne__(self, other):
        return NotImplemented

    def __radd__(self, other):
        return "below"


class Plain(io.IOBase):
    pass


class Unequal(io.IOBase):
    def __ne__(self, other):
        return "unequal"


class Odd(io.IOBase):
    def __bool__(self):
        return 3

    def __len__(self):
        return -1


class Empty(io.IOBase):
    def __len__(self):
        return 0


def add(a, b=1, *, c=0):
    return a + b + c


PARTIALS = [
    lambda t, p: (p(2), p(t), p(b=3, c=4), p.number(), p.func is add, p.args, t + 1),
    lambda t, p: (list(map(p, [1, 2])), p(t) * 2),
]
STREAMS = [
    lambda t, s, r: (t * 2, s == r, s != r, s == 3, 3 == s, "a" != s, s == Ellipsis, s == s),
    lambda t, s, r: (t * 2, len(s), bool(s), not r, s[5], 3 in s, 9 in s, list(s), sum(s)),
    lambda t, s, r: (t * 2, s + 1, 1 + s, -s, s < r, s > r, s(2), s(t)),
    lambda t, s, r: (t * 2, s in [r], [r, s].index(s), max(s, r).v),
]


@pytest.mark.parametrize("function", PARTIALS)
def test_partials(function):
    same(function, lambda: (x(), Own(add, 5)), frames=1, breaks=[])


def test_partials_with_methods_of_their_own():
    same(lambda t, p: (p(9), t * 2), lambda: (x(), Answers(add, 1)), frames=1, breaks=[])
    same(lambda t, h: (h.method(3), t * 2), lambda: (x(), Holder()), frames=1, breaks=[])


def test_other_arguments_of_a_partial_are_seen():
    def f(t, p):
        return t + p(1)

    fast = torch.compile(f, backend="eager")
    assert fast(x(), Own(add, 5)).tolist() == [7.0, 8.0]
    assert fast(x(), Own(add, 6)).tolist() == [8.0, 9.0]
    assert fast(x(), Own(add, b=2)).tolist() == [4.0, 5.0]


@pytest.mark.parametrize("function", STREAMS)
def test_streams(function):
    same(function, lambda: (x(), Stream(3), Stream(4)), frames=1, breaks=[])


def test_comparisons_in_their_order():
    def f(t, s, b, p, u):
        return t * 2, s == b, b == s, b != s, s != b, p == p, p != s, u != 3, u == u, p == 3, s + b, b + 1

    same(f, lambda: (x(), Stream(3), Below(3), Plain(), Unequal()), frames=1, breaks=[])


def test_what_their_classes_refuse():
    def f(t, odd, plain, s):
        found = []
        for ask in (
            lambda: bool(odd), lambda: len(odd), lambda: len(plain), lambda: plain[0], lambda: plain < plain,
            lambda: plain + 1, lambda: 1 + plain, lambda: s < 3,
        ):  # fmt: skip
            try:
                found.append(ask())
            except Exception as e:  # noqa: BLE001
                found.append(f"{type(e).__name__}: {e}")
        return found, t * 2

    same(f, lambda: (x(), Odd(), Plain(), Stream(3)), frames=1, breaks=[])


def test_branches_on_them():
    def f(t, full, empty, plain):
        if full:
            t = t + 1
        if not empty:
            t = t * 2
        return t - 1 if plain else t

    same(f, lambda: (x(), Stream(2), Empty(), Plain()), frames=1, breaks=[])


def test_a_tensor_and_such_an_instance():
    breaks_with("GB0055", lambda t, s: t + s, lambda: (x(), Stream(2)))


def test_items_that_are_stored():
    def f(t, s):
        s[2] = t
        first = s.last
        del s["k"]
        return t * 2, first, s.last

    same(f, lambda: (x(), Stream(2)))

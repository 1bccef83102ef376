"""Instances of classes below defaultdict, defaultdicts without a factory, and views of dictionaries of such classes."""

import collections
import copy

import pytest

import minidynamo as torch
from frontend.differential import breaks_with, same
from minidynamo._dynamo import config


class Counts(collections.defaultdict):
    def twice(self, k):
        return self[k] * 2


class Stores(collections.defaultdict):
    def __setitem__(self, k, v):
        super().__setitem__(k, v + 100)

    def __eq__(self, other):
        return super().__eq__(other) and self.default_factory == getattr(other, "default_factory", None)


class Answers(collections.defaultdict):
    def __missing__(self, k):
        return f"no {k}"


class Ints(collections.defaultdict):
    def __init__(self, *items):
        super().__init__(int, *items)
        self.extra = 3


def x():
    return torch.tensor([1.0, 2.0])


def uses(t, d):
    d["a"] += 1
    return t + d.twice("a"), len(d), d["new"], list(d)


def appends(t, d):
    d["n"].append(t)
    return t * 2


def takes_another_factory(t, d):
    d.default_factory = list
    d["q"].append(1)
    return t * 2, d.default_factory is list


def loses_its_factory(t, d):
    d.default_factory = None
    try:
        d["q"]
    except KeyError as e:
        return t * 2, repr(e), d.default_factory


def reads(t, d):
    return t + len(d), "a" in d, d.get("zz"), d.keys(), list(d.values()), d.items()


def stores(t, d):
    return t * 2, d["q"], d["q"]


def asks(t, d):
    return t * 2, d[3], len(d)


@pytest.mark.parametrize(
    "function, make",
    [
        (uses, lambda: Counts(int, {"a": 4})),
        (appends, lambda: Counts(list)),
        (takes_another_factory, lambda: Counts(int)),
        (loses_its_factory, lambda: Counts(int)),
        (reads, lambda: Counts(list, {"a": [1]})),
        (stores, lambda: Stores(int)),
        (asks, lambda: Answers(None)),
        (reads, lambda: collections.defaultdict()),
    ],
)
def test_one_that_is_passed_in(function, make):
    same(function, lambda: (x(), make()), frames=1, breaks=[])


def test_another_factory_is_seen_by_a_later_call():
    def f(t, d):
        return t + d["k"]

    fast = torch.compile(f, backend="eager")
    assert fast(x(), Counts(lambda: 1)).tolist() == [2.0, 3.0]
    assert fast(x(), Counts(lambda: 5)).tolist() == [6.0, 7.0]
    with pytest.raises(KeyError):
        fast(x(), Counts())
    assert fast(x(), Counts(lambda: 5, k=7)).tolist() == [8.0, 9.0]


MADE = [
    lambda t: (t, Counts(int, {"a": 1}), Counts(list, a=[1]).default_factory is list),
    lambda t: (t, uses(t, Counts(int))),
    lambda t: (stores(t, Stores(int)), Stores(int) == Stores(int)),
    lambda t: (t, Stores(int) == Stores(list), Stores(int) == {}, Counts(int, {1: 2}) == {1: 2}),
    lambda t: (t, asks(t, Answers(None))),
    lambda t: (t, Ints({1: 2}), Ints().extra, Ints()["k"]),
    lambda t: loses_its_factory(t, Counts(int)),
    lambda t: loses_its_factory(t, Counts()),
    lambda t: takes_another_factory(t, Counts(int)),
    lambda t: (t, type(Counts(int, a=1) | {"b": 2}).__name__, Counts(int, a=1) | {"b": 2}),
    lambda t: (t, Counts.fromkeys("ab", 1)),
    lambda t: (t, Counts(lambda: t + 1)["k"]),
]


@pytest.mark.parametrize("function", MADE)
def test_one_that_is_made(function):
    with config.patch(trace_more=True, force_replace=True):
        same(function, lambda: (x(),))
    breaks_with("GB0147", function, lambda: (x(),))  # as the registry has it


TEXTS = [
    lambda t: (t, repr(Counts(int, a=1)), str(Counts(int)), f"{Counts(int)}"),
    lambda t: (t, copy.copy(Counts(int, a=1)), Counts(int, a=1).copy()),
]


@pytest.mark.parametrize("function", TEXTS)
def test_texts_and_copies(function):
    same(function, lambda: (x(),))


def test_a_factory_that_is_no_function():
    def f(t):
        try:
            Counts(3)
        except TypeError as e:
            return t, str(e)

    same(f, lambda: (x(),))


def test_views_look_past_the_class():
    class Loud(dict):
        def __getitem__(self, k):
            raise RuntimeError(k)

        def __iter__(self):
            raise RuntimeError

    def f(t, keys, values, items):
        return t * 2, len(keys), "a" in keys, sorted(keys), list(values), list(items), ("a", 1) in items

    def make():
        d = Loud(a=1, b=2)
        return x(), d.keys(), d.values(), d.items()

    same(f, make, frames=1, breaks=[])


class Ordered(collections.OrderedDict):
    pass


def test_a_union_is_of_the_class():
    def f(t, counts, ordered):
        return t * 2, counts | {"b": 2}, {"b": 2} | counts, ordered | {"b": 2}, {"b": 2} | ordered

    same(f, lambda: (x(), collections.defaultdict(int, a=1), Ordered(a=1)), frames=1, breaks=[])
    same(f, lambda: (x(), Counts(int, a=1), Ordered(a=1)), breaks=["GB0147"])

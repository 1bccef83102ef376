"""What builtins and the library do differently from one Python to the next, and what CPython's newer tests asked of
all: every test compares with the Python that runs it."""

import collections
import functools
import itertools
import sys

import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo._dynamo import config

pytestmark = [pytest.mark.smoke, pytest.mark.usefixtures("replaced_both_ways")]

SUMMED = [
    [0.1] * 10,
    [1.0, 10e100, 1.0, -10e100],
    [1, 2, 0.1, 0.2, 0.3, True, 0.1],
    [2**62, 2**62, 2**62] + [0.1] * 10,
    [0.1, 2**70] + [0.1] * 10,
    [0.1] * 3 + [1j] + [0.1] * 10,
    [0.1, float("inf"), 0.1],
    [-0.0, -0.0],
    [],
]


@pytest.mark.parametrize("start", [(), (0.1,), (True,), (2**70,), (1j,)], ids=repr)
@pytest.mark.parametrize("values", SUMMED, ids=repr)
def test_sums_of_numbers(values, start):
    values = tuple(values)
    same(lambda: (sum(values, *start), sum((v for v in values), *start)), breaks=())


def test_sums_of_numbers_and_others():
    class Third(int):
        def __radd__(self, other):
            return 100.0

    class Tenth(float):
        pass

    def f(x):
        n = x.shape[0]
        return sum([0.1, 0.2, 0.3, n, 0.1]), sum([1, n, n, 0.1, 0.2, 0.3]), sum([n, 1]), sum([0.1] * 3 + [x, 0.1])

    same(f, lambda: (torch.ones(3),), ops=2, breaks=())
    same(lambda: (sum([0.1] * 3 + [Third(3), 0.1]), sum([Third(3)] + [0.1] * 10), sum([0.1] * 3 + [Tenth(0.1), 0.1])))


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_sums_of_floats_known_only_at_run_time(count):
    def f(x):
        return sum([x[k].item() for k in range(count)])

    with config.patch(capture_scalar_outputs=True):
        same(f, lambda: (torch.tensor([0.1] * 10, dtype=torch.float64),))


def test_sums_of_sizes_keep_to_one_graph():
    def f(x):
        return x.reshape(sum(x.shape)), sum(x.shape, 1.5)

    same(f, lambda: (torch.ones(2, 2),), frames=1, breaks=())


@pytest.mark.parametrize("again", [{2}, {3}, {2, 3}, {1, 4}], ids=repr)
def test_pairs_drawn_while_drawing_a_pair(again):
    class Source:
        count = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.count += 1
            return next(self.pairs) if self.count in again else [self.count]

    def f():
        source = Source()
        source.pairs = pairs = itertools.pairwise(source)
        return [next(pairs), next(pairs), next(pairs)]

    if 1 not in again or sys.version_info >= (3, 12, 1):  # before, that reads freed memory
        same(f)


def test_a_function_that_draws_its_own_iterator_to_the_end():
    def f():
        calls = []

        def function():
            calls.append(None)
            if len(calls) > 1:
                return 0
            list(drawn)
            return 1

        drawn = iter(function, 0)
        try:
            return next(drawn), calls
        except StopIteration:
            return "stopped", calls
        except SystemError as error:
            return str(error), calls

    same(f)


def test_a_cached_property_that_also_refuses_to_be_set():
    class Refusing(functools.cached_property):
        def __set__(self, instance, value):
            raise AttributeError("read only")

    class Held:
        @Refusing
        def value(self):
            return self.given

    def f(held):
        held.given = 1
        first = held.value
        held.given = 2
        return first, held.value

    same(f, lambda: (Held(),))

    def g(held):
        return held.__dict__.get("value"), "value" in held.__dict__

    def read():
        held = Held()
        held.__dict__["value"] = 5
        return (held,)

    same(g, read)
    same(g, lambda: (Held(),))


def test_what_a_cached_property_writes_to():
    class Held:
        def __setattr__(self, name, value):
            raise AssertionError(name)

        @functools.cached_property
        def value(self):
            return [1]

    same(lambda held: (held.value, held.value is held.value, vars(held)), lambda: (Held(),))


def test_classes_below_containers_of_collections():
    class Own(collections.defaultdict):
        def __init__(self):
            self.default_factory = self.make

        def make(self):
            return []

    class Plain(collections.defaultdict):
        pass

    class Row(collections.deque):
        pass

    def made():
        own, plain, row = Own(), Plain(int, a=1), Row([1, 2], 3)
        own["k"].append(1)
        row.append(3)
        return str(dict(own)), plain["b"], repr(plain), plain.default_factory, repr(row), row.maxlen, len(row)

    def given(plain, row):
        row.append(4)
        return plain["b"], repr(plain), plain.copy(), list(row), row[0], len(row)

    same(made)
    same(lambda: repr(Own())[:30])
    same(given, lambda: (Plain(int, a=1), Row([1, 2], 2)))


def test_missing_keys_of_a_default_dictionary():
    def f(d, x):
        d["a"] += 1
        d["b"].append(x) if isinstance(d["b"], list) else None
        return d, x + d["a"]

    same(f, lambda: (collections.defaultdict(int, c=1), torch.ones(2)), frames=1, breaks=())


def test_the_text_of_classes_below_sets_names_them():
    class Set(set):
        pass

    class Frozen(frozenset):
        pass

    same(lambda: (repr(Set([1])), str(Frozen([1])), f"{Set()}", Set([1]).__repr__()))


def test_a_bound_method_bound_again():
    class Plain:
        def method(self):
            return self

    def f(a, b):
        b.method = a.method.__get__(b, Plain)
        return b.method() is a, b.method() is b

    same(f, lambda: (Plain(), Plain()))


def test_slices_of_a_list_that_shrinks_while_values_are_drawn():
    def drawn(values):
        yield from values
        values.clear()

    def f():
        values = list(range(5))
        values[2:4] = drawn(values)
        return values

    def extended():
        values = list(range(5))
        values[::-1] = drawn(values)

    same(f)
    if sys.version_info >= (3, 13):
        same(extended)
    else:  # CPython itself writes past the end
        with pytest.raises(torch._dynamo.exc.Unsupported, match="to extended slice of size 0"):
            torch.compile(extended, backend="eager", fullgraph=True)()

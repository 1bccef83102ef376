"""Sets changed by whole sets: what a bulk operation does to a set's table decides the order the program sees later."""

import operator
import random
from collections import OrderedDict

import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo._dynamo import config

pytestmark = pytest.mark.usefixtures("replaced_both_ways")


def changed(s, o, x):
    s |= {8, 9, 16, 5, 3, 70, 33}
    s -= o
    t = set(x)
    t ^= s
    s ^= t & o
    o &= s
    o |= o
    o -= o
    o |= {40, 8, 1}
    u = s | o
    s.update(u, [3], t)
    s.difference_update({1}, (5,))
    s.intersection_update(s | {7})
    return u, t, s is o, sorted(s)


@pytest.mark.parametrize("seed", range(12))
def test_the_order_is_that_of_the_plain_run(seed):
    numbers = random.Random(seed)
    a, b = ([numbers.randint(0, 200) for _ in range(numbers.randint(0, 40))] for _ in range(2))
    c = [numbers.randint(0, 100) for _ in range(5)]
    same(changed, lambda: (set(a), set(b), tuple(c)))


@pytest.mark.parametrize("seed", range(6))
def test_several_at_once_and_others_than_sets(seed):
    numbers = random.Random(seed)
    parts = [[numbers.randint(0, 120) for _ in range(numbers.randint(0, 60))] for _ in range(4)]

    def f(s, o, a, b, c):
        s.difference_update(a, b)
        s.update({300, 7, 90})
        s.intersection_update(s, set(range(0, 100, 3)) | {7})
        o.difference_update(c, {c[0]: 1} if c else (), a)
        o |= {7, 90, 300}
        o.symmetric_difference_update(c)
        o.difference_update(o, [])

    a, b, c, d = parts
    same(f, lambda: (set(a + d), set(d + b), set(b), set(c), tuple(c)))


def test_a_set_emptied_and_filled():
    def f(group):
        group ^= group & group
        group |= {1, 3}

    same(f, lambda: ({0, 1, 3},), breaks=())


def test_what_was_added_is_changed_later():
    def f(s, o):
        new = {1, 2}
        s |= new
        new.add(3)
        o |= s
        s.clear()
        s |= new
        return new

    same(f, lambda: ({9}, {7}), breaks=())


class Members(set):
    pass


def test_an_instance_of_a_subclass():
    def f(o):
        s = Members([1, 2, 40])
        s.update(o)
        s.symmetric_difference_update({1, 5})
        return s, len(s), 5 in s

    same(f, lambda: ({3, 65},), breaks={"GB0092"})  # its order cannot be had by rebuilding


def test_frozen_operands_and_members_that_are_objects():
    first, second = object(), object()

    def f(s):
        s |= frozenset([1, 2])
        s -= frozenset([2, 3])
        with_objects = {first}
        with_objects |= {second}
        return second in with_objects, len(with_objects)

    same(f, lambda: ({3, 4},))
    with config.patch(trace_more=True):
        same(f, lambda: ({3, 4},))


def spread(rng):
    """A step between numbers that share places in a table, and sizes of tables around those at which they grow."""
    step = rng.choice([1, 4, 8, 16, 32])
    first, second = (rng.sample(range(0, 40 * step, step), rng.randrange(3, 20)) for _ in range(2))
    return first, second[: rng.randrange(6)] + first[:5]


@pytest.mark.parametrize("change", [operator.ior, operator.iand, operator.isub, operator.ixor])
def test_order_of_sets_from_outside_that_others_changed(change):
    def f(x, s, members):
        s = change(s, set(members))
        s.discard(members[0])
        return x + 1

    rng = random.Random(5)
    for _ in range(200):
        first, second = spread(rng)
        counter = torch._dynamo.testing.CompileCounter()
        plain, compiled = set(first), set(first)
        f(torch.ones(1), plain, second)
        torch._dynamo.reset()
        torch.compile(f, backend=counter)(torch.ones(1), compiled, second)
        assert (list(compiled), counter.frame_count) == (list(plain), 1)


def test_order_of_what_frozen_sets_from_outside_are_joined_to():
    def f(x, s, members):
        return x + 1, list(members | s), list(s | members), list(s - members), list(members ^ s), list(members & s)

    rng = random.Random(6)
    for _ in range(100):
        s, members = spread(rng)
        frozen = frozenset(members)
        same(f, lambda s=s, frozen=frozen: (torch.ones(1), set(s), frozen), calls=1, backends=(), frames=1)


def test_order_of_a_member_that_comes_back():
    def f(x):
        made = {16, 24, 0, 40}
        made.discard(24)
        made.add(16)
        return x + 1, list(made), list(made.copy())

    same(f, lambda: (torch.ones(1),), frames=1, breaks=())


def taken_in(x, o):
    d = dict.fromkeys(x)
    a, b = {3}, {1}
    a.update(d)
    b |= d.keys()
    o.update(d)
    kept = list(o)
    return [list(s) for s in ({*x}, {*o, 3}, {1, *set(x)}, {*d}, set(d), frozenset(d), {1}.union(d), a, b)], kept


def test_order_of_sets_that_take_in_sets_and_dictionaries():
    rng = random.Random(7)
    for _ in range(30):
        x = [rng.randrange(200) for _ in range(rng.randrange(2, 14))]
        o = {rng.randrange(200) for _ in range(rng.randrange(6))}
        same(taken_in, lambda x=x, o=o: (list(x), set(o)), calls=1, backends=("eager",))


class Counted(int):
    """Counts how often it is hashed."""

    def __init__(self, *_):
        self.hashed = 0

    def __hash__(self):
        self.hashed += 1
        return int.__hash__(self)


def hashed_keys(x):
    d = dict.fromkeys(map(Counted, x))
    counts = [[k.hashed for k in d]]
    s = frozenset(d)
    s.difference(d)
    counts.append([k.hashed for k in d])
    d[Counted(70)] = 1
    return counts, [k.hashed for k in {**d}], d[Counted(70)]


def test_hashes_of_the_program_are_called_as_often_as_plain():
    same(hashed_keys, lambda: ([3, 1, 2],))
    same(lambda d: [k.hashed for k in d], lambda: (dict.fromkeys(map(Counted, range(3))),))
    same(lambda d: [k.hashed for k in d], lambda: (OrderedDict.fromkeys(map(Counted, range(3))),))


class Watching(int):
    """Whose comparison asks the table that holds it."""

    def __hash__(self):
        return 13

    def __eq__(self, other):
        return len(watched) > 5 or int(self) == int(other)


watched = {}
watched.update({Watching(1): 1, Watching(2): 2})


def test_keys_that_look_into_their_own_dictionary():
    same(lambda x: x + watched[Watching(2)], lambda: (torch.ones(2),))
    same(lambda x: x + sum(watched.values()), lambda: (torch.ones(2),))

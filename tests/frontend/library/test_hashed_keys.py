"""Keys with a __hash__ or __eq__ of their own, and weak references: found as Python finds them."""

import collections
import dataclasses
import sys
import typing
import weakref

import pytest

import minidynamo as torch
from frontend.differential import same


class Name:
    def __init__(self, text):
        self.text = text

    def __hash__(self):
        return hash(self.text)

    def __eq__(self, other):
        return isinstance(other, Name) and self.text == other.text


class Alike(Name):
    def __hash__(self):
        return 7

    def __eq__(self, other):
        return isinstance(other, Alike) and self.text == other.text


@dataclasses.dataclass(frozen=True)
class Point:
    a: int
    b: str = "x"


@dataclasses.dataclass(frozen=True)
class Further(Point):
    c: int = 0


class Pair(typing.NamedTuple):
    a: int
    b: int


class Named(Pair):
    def total(self):
        return self.a + self.b


class Plain:
    value = 3


class Loud:
    asked = 0

    def __hash__(self):
        Loud.asked += 1
        return 1

    def __eq__(self, other):
        return True


class Unhashable:
    def __eq__(self, other):
        return True


class Refusing:
    def __hash__(self):
        raise ValueError("no hash")


FIRST, SECOND = Plain(), Plain()
NAMES = {Name("a"): 2.0, Name("b"): 3.0}
MIXED = {1: 1.0, Name("a"): 2.0, "a": 3.0, Point(1): 4.0, (1, 2): 5.0, None: 6.0, (Point(2), 3): 7.0}
PAIRS = {Named(1, 2): 3.0, (4, 5): 6.0, Further(1): 7.0, Point(1): 8.0}
SET = {Name("a"), Name("b"), Name("c")}
WEAK_KEYS = weakref.WeakKeyDictionary({FIRST: 2.0})
WEAK_SET = weakref.WeakSet([FIRST])


def looked_up(x):
    return x * NAMES[Name("a")] + NAMES.get(Name("c"), 7.0), Name("b") in NAMES, Name("d") in NAMES


def mixed(x):
    return (
        x * MIXED[1] + MIXED[Name("a")] + MIXED["a"] + MIXED[Point(1)] + MIXED[1, 2] + MIXED[None] + MIXED[Point(2), 3]
    )


def named_tuples(x):
    return x * PAIRS[Named(1, 2)] + PAIRS[1, 2] + PAIRS[Pair(4, 5)] + PAIRS[Further(1)] + PAIRS[Point(1)], len(PAIRS)


def iterated(x):
    for name, value in NAMES.items():
        x = x * value + len(name.text)
    return x, [n.text for n in NAMES]


def copied(x):
    fresh = dict(NAMES)
    fresh[Name("z")] = 1.0
    return x + len({**fresh, Name("a"): 3.0}), NAMES == {Name("a"): 2.0, Name("b"): 3.0}, Name("z") in NAMES


def made_here(x):
    table = {Alike("a"): x, Alike("b"): x * 2, Alike("a"): x * 3}
    del table[Alike("b")]
    table[Alike("b")] = x + 1
    return sum(table.values()), [k.text for k in table]


def in_sets(x):
    union, shared = SET | {Name("q")}, SET & {Name("b")}
    return x + len(union), len(shared), Name("b") in shared, Name("a") in SET, SET == {Name("c"), Name("b"), Name("a")}


def order_of_set(x):
    return x + 1, [n.text for n in {Name("c"), Name("a"), Name("b")}]


def counted(x):
    counts = collections.Counter([Name("a"), Name("b"), Name("a")])
    return x + counts[Name("a")], counts.most_common(1)[0][1]


def refused(x):
    seen = []
    for make in (Unhashable, Refusing):
        try:
            seen.append({make(): 1})
        except (TypeError, ValueError) as e:
            seen.append(str(e))
    return x + 1, seen


def missing(x):
    try:
        return x + NAMES[Name("nobody")]
    except KeyError as e:
        return x + len(e.args[0].text)


def weak_keys(x):
    y = x + 1
    for key, value in WEAK_KEYS.items():
        y = y * value + key.value
    return y + WEAK_KEYS[FIRST] + WEAK_KEYS.get(SECOND, 5), FIRST in WEAK_KEYS, SECOND in WEAK_KEYS, len(WEAK_KEYS)


def weak_set(x):
    return x + 1, FIRST in WEAK_SET, SECOND in WEAK_SET, [o.value for o in WEAK_SET]


WHOLE = (
    looked_up, mixed, named_tuples, iterated, copied, made_here, in_sets, order_of_set, counted, refused, missing,
    weak_keys, weak_set,
)  # fmt: skip


@pytest.mark.parametrize("program", WHOLE, ids=lambda p: p.__name__)
def test_in_one_graph(program):
    # From 3.12 on comprehensions belong to their function, which lets go of the guard of a weak set's iteration itself.
    whole = program is not weak_set or sys.version_info < (3, 12)
    frames, breaks = (1, ()) if whole else (None, None)
    same(program, lambda: (torch.tensor([1.0, 2.0]),), frames=frames, breaks=breaks, backends=("eager",))


def changed_dictionary(x, table):
    table[Name("a")] = x.shape[0]
    table.setdefault(Name("b"), 4)
    table.update({Name("c"): 5, Name("a"): 6})
    return x + len(table), table.pop(Name("z"), 3)


def changed_set(x, members):
    members.discard(Name("a"))
    members.add(Name("b"))
    members.add(Name("b"))
    return x + len(members)


def weakly_stored(x, table, members):
    table[FIRST] = 3.0
    members.add(FIRST)
    return x * table[FIRST] + len(table), FIRST in members


@pytest.mark.parametrize(
    "program, make_args",
    [
        (changed_dictionary, lambda: {Name("a"): 1, Name("z"): 2}),
        (changed_dictionary, dict),
        (changed_set, lambda: {Name("a"), Name("c")}),
    ],
)
def test_changes_are_replayed(program, make_args):
    same(program, lambda: (torch.ones(2), make_args()), breaks=(), backends=("eager",))


def test_weak_containers_are_filled():
    for compile_it in (False, True):
        table, members = weakref.WeakKeyDictionary(), weakref.WeakSet()
        call = torch.compile(weakly_stored, backend="eager", fullgraph=True) if compile_it else weakly_stored
        result, there = call(torch.ones(2), table, members)
        assert (result.tolist(), there, list(table.items()), list(members)) == (
            [4.0, 4.0],
            True,
            [(FIRST, 3.0)],
            [FIRST],
        )
        gone = Plain()
        table[gone] = 1
        before = len(table)
        del gone
        assert (before, len(table)) == (2, 1)


def test_what_changes_between_calls_is_seen():
    key, table = Name("a"), {1: 2.0}
    compiled = torch.compile(lambda x: x + key_value(table, key), backend="eager", fullgraph=True)

    def key_value(table, key):
        return table.get(Name("a"), 10.0) + len(key.text) * 100 + (1000 if key in table else 0)

    def check():
        assert compiled(torch.zeros(1)).item() == key_value(table, key)

    check()
    table[Name("a")] = 5.0
    check()
    table[Name("a")] = 6.0
    check()
    key.text = "bc"
    check()
    table[key] = 7.0
    check()
    del table[Name("a")]
    check()


def test_a_fresh_dictionary_needs_no_compilation():
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(lambda x, d: x + sum(d.values()), backend=counter)
    for _ in range(4):
        assert compiled(torch.zeros(1), {Name("a"): 1.0, Point(2): 3.0, (Point(1), 2): 1.0}).item() == 5
    assert counter.frame_count == 1


def effects(x):
    return x + {Loud(): 2.0}[Loud()]


def test_effects_of_comparisons_break():
    same(effects, lambda: (torch.ones(2),), calls=1, breaks=["GB0147"])

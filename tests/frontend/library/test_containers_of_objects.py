"""Sets and dictionaries of objects that come from outside, `__dict__` as a whole: in one graph, and guarded."""

import copy
import dataclasses
import enum

import pytest

import minidynamo as torch
from frontend.differential import same


class Thing:
    def __init__(self, v=2):
        self.v = v


class Hue(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Word(str):
    pass


@dataclasses.dataclass
class Record:
    a: int
    t: object = None


class Slotted:
    __slots__ = ("s", "__dict__")

    def __init__(self):
        self.s, self.d = 3, 4


ONE, TWO, WORD = Thing(3), Thing(4), Word("w")
TENSOR = torch.tensor([1.0, 1.0, 1.0])
WEIGHT = torch.nn.Parameter(torch.tensor([2.0, 2.0, 2.0]))
THINGS = {ONE, TWO}


def x():
    return torch.tensor([1.0, 2.0, 3.0])


def set_of_things_from_outside(x):
    total = 0
    for thing in THINGS:
        total += thing.v
    return x * total, ONE in THINGS, len(THINGS)


def set_given(x, things):
    return x + len(things), ONE in things, sorted(thing.v for thing in things)


def set_of_tensors(x, tensors):
    for t in tensors:
        x = x + t
    return x, TENSOR in tensors


def set_of_parameters(x, parameters):
    for p in parameters:
        x = x * p
    return x


def set_of_members(x, hues):
    return x + (Hue.RED in hues) + 2 * (Hue.BLUE in hues)


def set_of_tuples(x, pairs):
    return x + sum(a for a, _ in pairs), (1, "a") in pairs


def set_of_numbers_of_subclasses(x, levels):
    return x + len(levels), Level.LOW in levels, 1 in levels, 2 in levels


def changed_set(x, things):
    things.discard(ONE)
    things.add(TWO)
    return x * len(things), TWO in things


def members_as_keys(x, table):
    return x * table[Hue.BLUE], Hue.RED in table


def keys_of_subclasses(x, table):
    return x * table["w"] * table[1], list(table)


def devices_as_keys(x, table):
    return x * table[x.device]


def dictionary_of_attributes(x, o):
    return x + o.__dict__["a"], list(o.__dict__), len(o.__dict__), "t" in o.__dict__, dict(o.__dict__)


def attributes_by_vars(x, o):
    for name, value in vars(o).items():
        x = x + value + len(name)
    return x


def attributes_as_keywords(x, o):
    return x + Record(**o.__dict__).a


def attributes_of_slotted(x, o):
    return x + o.s, dict(o.__dict__)


def attributes_after_changes(x, o):
    o.b = x
    del o.a
    o.t = 5
    first = list(o.__dict__.items())
    o.a = 7
    return x + 1, first, list(o.__dict__)


def attributes_taken_over(x, o):
    n = Record.__new__(Record)
    n.__dict__.update(o.__dict__)
    n.a = 9
    return x + n.a + o.a, n


def copied(x, o):
    other = copy.copy(o)
    other.a = 5
    return x * other.a + o.a


def views_given(x, keys, values, items):
    for _, v in items:
        x = x + v
    return x, len(keys), "a" in keys, list(keys), sum(values), keys


CASES = [
    (views_given, lambda: (x(), {"a": 1}.keys(), {"b": 2, "c": 3}.values(), {"d": x()}.items())),
    (set_of_things_from_outside, lambda: (x(),)),
    (set_given, lambda: (x(), {ONE, TWO})),
    (set_given, lambda: (x(), frozenset([TWO]))),
    (set_of_tensors, lambda: (x(), {TENSOR})),
    (set_of_parameters, lambda: (x(), frozenset([WEIGHT]))),
    (set_of_members, lambda: (x(), {Hue.RED})),
    (set_of_tuples, lambda: (x(), {(1, "a"), (2, "b")})),
    (set_of_numbers_of_subclasses, lambda: (x(), {Level.LOW})),
    (changed_set, lambda: (x(), {ONE})),
    (members_as_keys, lambda: (x(), {Hue.BLUE: 3.0, Hue.RED: 2.0})),
    (keys_of_subclasses, lambda: (x(), {WORD: 3.0, Level.LOW: 2.0})),
    (devices_as_keys, lambda: (x(), {torch.device("cpu"): 3.0})),
    (dictionary_of_attributes, lambda: (x(), Record(1, x()))),
    (attributes_by_vars, lambda: (x(), Record(1, x()))),
    (attributes_as_keywords, lambda: (x(), Record(1, 2))),
    (attributes_of_slotted, lambda: (x(), Slotted())),
    (attributes_after_changes, lambda: (x(), Record(1, 2))),
    (attributes_taken_over, lambda: (x(), Record(1, 2))),
    (copied, lambda: (x(), Record(1, 2))),
]


@pytest.mark.parametrize("function, arguments", CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_in_one_graph(function, arguments):
    same(function, arguments, frames=1, breaks=[], backends=("eager",))


def entries(function, *calls):
    """Compiles the function, compares it with plain Python for each call, and tells how often it was compiled."""
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(function, backend=counter)
    for arguments in calls:
        expected, got = function(*arguments), compiled(*arguments)
        assert str(got) == str(expected)
    return counter.frame_count


def test_other_members_are_noticed():
    assert entries(set_given, (x(), {ONE, TWO}), (x(), {ONE, TWO}), (x(), {ONE}), (x(), {TWO})) == 3


def test_other_attributes_are_noticed():
    more = Record(1, 2)
    more.extra = 3
    assert entries(attributes_by_vars, (x(), Record(1, 2)), (x(), Record(1, 2)), (x(), more)) == 2


def test_members_die_with_the_program():
    import gc
    import weakref

    thing = Thing(5)
    gone = weakref.ref(thing)
    assert entries(set_given, (x(), {thing})) == 1
    del thing
    gc.collect()
    assert gone() is None

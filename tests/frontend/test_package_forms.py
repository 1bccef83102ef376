"""Forms that packages use and that are traced whole: told classes, entries of __dict__, fields of objects of C."""

import ast
import collections
import datetime
import functools
import itertools
import pathlib
import sys
import types
import typing
from unittest import mock

import pytest

import minidynamo as torch
from frontend.differential import breaks_with, same
from minidynamo._dynamo.testing import CompileCounter


class Text(str):
    def __str__(self):
        return "another text"


class Told:
    @property
    def __class__(self):
        return int


class Shy:
    @property
    def __class__(self):
        raise AttributeError("no class")


class Record:
    def __init__(self):
        self.a, self.b = 1, 2


class Callable_:
    """called"""

    def __init__(self):
        self.kept = 3

    def __call__(self):
        return 4


class Below(dict):
    def __iter__(self):
        return iter([9])


class Failure(Exception):
    def __init__(self, message):
        super().__init__(message, 5)

    def __str__(self):
        return self.args[0]


class Number(int):
    pass


class Shown:
    def __str__(self):
        return "shown"


class Lasts(datetime.timedelta):
    def __repr__(self):
        return f"Lasts({self.days})"


class BelowC(collections.defaultdict):
    def __repr__(self):
        return "below"

    def __getitem__(self, key):
        return 7


class Numbers(list):
    def __iter__(self):
        return iter([9])


class Pair(tuple):
    __slots__ = ()


class Shorter(Pair):
    def __len__(self):
        return 1


class Key:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return self.v == other.v

    def __hash__(self):
        return hash(self.v)


FAILURE = Failure("failed")
FAILURE.__cause__ = KeyError(7)
TOLD, SHY, MOCKED = Told(), Shy(), mock.NonCallableMock(spec=dict)
COUNTED = collections.defaultdict(list, {1: [2]})
BELOW = Below({1: 2, 3: 4})
VALUES, ITEMS = COUNTED.values(), BELOW.items()
LENGTH = [1, 2].__len__


def sample():
    yield 1


SUSPENDED = sample()
PLAIN, SHOWN, NODE = Record(), Shown(), ast.parse("a").body[0]
LASTS = Lasts(2)
BELOW_C = BelowC(list, {1: 2, "a": 3})
VALUES_OF_C, PAIRS_OF_C = BELOW_C.values(), BELOW_C.items()
KEYS, PAIRS = frozenset([Key(1), Key(2)]), frozenset([(Key(1), 2), (Key(2), 3)])


@functools.lru_cache(maxsize=10)
def environment(cls, *options):
    return len(options)


environment(Record, frozenset(["a", int]), None)


def joined_texts(x):
    return x + 1, "-".join([Text("a"), "b"]), Text("+").join(["a", Text("b")]), "".join(Text("ab"))


def told_class(x):
    return x + 1, isinstance(TOLD, int), isinstance(TOLD, str), isinstance(TOLD, Told), isinstance(SHY, (str, list))


def mocked_class(x):
    return x + 1, isinstance(MOCKED, dict), isinstance(MOCKED, int)


def cleared_attributes(x):
    o = Record()
    kept = o.__dict__.copy()
    o.a = 9
    o.__dict__.clear()
    gone = hasattr(o, "b")
    o.__dict__.update(kept)
    return x + o.a, gone, o.__dict__.popitem(), vars(o)


def deleted_entry(x):
    o = Record()
    del o.__dict__["a"]
    o.__dict__.popitem()
    try:
        o.__dict__.popitem()
    except KeyError as e:
        return x + 1, str(e), hasattr(o, "a")


def wrapped_method(x):
    @functools.wraps("a{}".format)
    def inner(*args):
        return inner.__wrapped__(*args)

    return x + 1, inner(3), inner.__name__, inner.__qualname__, inner.__doc__[:10], inner.__module__


def wrapped_instance(x):
    @functools.wraps(Callable_())
    def inner():
        return inner.__wrapped__() + inner.kept

    return x + inner(), inner.__name__, inner.__doc__


def other_factory(x):
    made = collections.defaultdict(list)
    made[1].append(2)
    made.default_factory = int
    made[2] += 1
    made.default_factory = None
    try:
        made[3]
    except KeyError:
        return x + 1, made, made.default_factory


def names_of_wrappers(x):
    return x + LENGTH(), LENGTH.__name__, LENGTH.__qualname__, LENGTH.__text_signature__, [3].__len__.__name__


def parts_of_exceptions(x):
    return x + FAILURE.args[1], str(FAILURE), FAILURE.__cause__.args, FAILURE.__context__, FAILURE.__suppress_context__


def parts_of_generators(x):
    return x + 1, SUSPENDED.__qualname__, SUSPENDED.gi_running, SUSPENDED.gi_frame is None, SUSPENDED.gi_code.co_name


def parts_of_frames(x):
    return x + SUSPENDED.gi_frame.f_lineno, SUSPENDED.gi_frame.f_code.co_name


def orders_of_sets(x):
    made = frozenset([(Key(1), 2), (Key(2), 3)])
    return x + len(KEYS), [k.v for k in KEYS], [k.v for k, n in PAIRS], sum(n for _, n in made), made == PAIRS


def texts_of_addresses(x):
    return x + 1, repr(PLAIN), str(PLAIN), f"{PLAIN}", f"{SHOWN} {SHOWN!r}", repr(NODE)


def views_of_classes_below_c(x):
    return x + 1, list(VALUES_OF_C), list(PAIRS_OF_C), len(PAIRS_OF_C)


def reversed_instances(x):
    made = Numbers([1, 2])
    made.append(5)
    later = reversed(made)
    text, pair = Text("ab"), Pair((1, 2))
    return (
        x + 1,
        list(reversed(made)),
        later,
        made,
        list(reversed(text)),
        list(reversed(pair)),
    )


def texts_below_c(x):
    return x + LASTS.days, repr(LASTS), f"{LASTS!r}", str(BELOW_C), f"{BELOW_C}", f"{[LASTS]}"


def namespace_of_made_class(x):
    cls = type("Made", (object,), {"a": 1, "f": lambda self: 3})
    own = {name: value for name, value in cls.__dict__.items() if not name.startswith("_")}
    return x + own["a"], sorted(cls.__dict__), cls.__dict__["f"](None), cls.__dict__["__doc__"]


def missing_attribute_of_class(x):
    return x + 1, [hasattr(c, "__abstractmethods__") for c in (pathlib.Path, typing.Generic, int, typing.Mapping)]


def views_of_subclasses(x):
    return x + len(VALUES), list(VALUES), list(ITEMS), len(ITEMS)


def frozensets_in_cache_keys(x):
    return x + environment(Record, frozenset([int, "a"]), None)


TRACED = [
    v for v in list(vars().values()) if isinstance(v, types.FunctionType) and v.__code__.co_varnames[:1] == ("x",)
]


@pytest.mark.parametrize("f", TRACED, ids=lambda f: f.__name__)
def test_it_is_traced_whole(f):
    same(f, lambda: (torch.ones(2),), frames=1, breaks=[])


def test_the_factory_of_a_dictionary_from_outside_is_replaced():
    def f(x, made):
        made.default_factory = int
        made["n"] += 1
        return x + made["n"]

    same(f, lambda: (torch.ones(2), collections.defaultdict(list)), frames=1, breaks=[])


def test_attributes_of_an_argument_are_cleared():
    def f(x, o):
        o.__dict__.clear()
        o.__dict__["c"] = 4
        return x + 1

    same(f, lambda: (torch.ones(2), Record()), frames=1, breaks=[])


def test_the_told_class_runs_once():
    asked = []

    class Counted:
        @property
        def __class__(self):
            asked.append(1)
            return str

    counted = Counted()

    def f(x):
        return x + isinstance(counted, str)

    compiled = torch.compile(f, backend="eager", fullgraph=True)
    for n in (1, 2, 3):
        assert compiled(torch.ones(1)).item() == 2.0
        assert len(asked) == n


def test_arguments_of_an_exception_are_guarded():
    failure = ValueError(1)
    compiled = torch.compile(lambda x: x + failure.args[0], backend="eager", fullgraph=True)
    assert compiled(torch.ones(1)).item() == 2.0
    failure.args = (5,)
    assert compiled(torch.ones(1)).item() == 6.0


def test_an_instance_of_a_class_below_int_holds_a_number():
    compiled = torch.compile(lambda x, n: x + Number(n + 1), backend="eager", fullgraph=True)
    assert [compiled(torch.ones(1), n).item() for n in range(4)] == [2.0, 3.0, 4.0, 5.0]


def test_a_bound_next_moves_its_iterator():
    def f(x, step):
        return x + step(), step()

    same(f, lambda: (torch.ones(2), itertools.count(5).__next__))


def test_a_descriptor_of_a_made_class_does_not_leave_the_trace():
    def f(x):
        cls = type("Made", (object,), {"a": 1})
        return x + cls.a, cls.__dict__["__weakref__"]

    plain, compiled = f(torch.ones(1)), torch.compile(f, backend="eager")(torch.ones(1))
    assert type(plain[1]) is type(compiled[1])


def test_asynchronous_generators_have_their_code():
    async def numbers():
        yield 1

    def f(x):
        numbers()
        return x + 1

    breaks_with("GB0082" if sys.version_info < (3, 12) else "GB0079", f)


def test_a_long_trace_without_operations_is_given_up():
    def f(x):
        total = 0
        for i in range(350_000):
            total += i
        return x + total

    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter)
    assert compiled(torch.ones(1)).item() == compiled(torch.ones(1)).item() == f(torch.ones(1)).item()
    assert counter.frame_count == 0


def test_a_length_of_the_program_is_asked_by_reversed():
    same(lambda x: (x + 1, list(reversed(Shorter("ab")))), lambda: (torch.ones(2),))


def test_a_frame_that_uses_a_huge_list_is_left_to_python():
    many = [0] * 500_001
    counter = CompileCounter()
    compiled = torch.compile(lambda x: x + len(many), backend=counter)
    assert [compiled(torch.ones(1)).item() for _ in range(2)] == [500_002.0] * 2
    assert counter.frame_count == 0

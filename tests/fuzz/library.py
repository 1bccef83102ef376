"""What random programs find already defined, and expressions over it and the standard library."""

HEADER = """import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import math
import operator

import minidynamo as torch

COUNT = [0]
TABLE = {"n": 1}
TOTAL = 0


class Oops(Exception):
    pass


def bump(k):
    global TOTAL
    TOTAL += k % 5
    return TOTAL


def counting(k, t, out):
    for i in range(3):
        got = yield t * i + k
        if got is not None:
            out.append(got)
    return k


def drive(it, value):
    try:
        next(it)
        return it.send(value)
    except StopIteration as stop:
        return ("stopped", stop.value)
    except Oops as error:
        return ("oops", str(error))


def hurl(it):
    try:
        return it.throw(Oops("thrown"))
    except (Oops, StopIteration) as error:
        return (type(error).__name__, error.args)


@contextlib.contextmanager
def managed(k):
    print("enter", k)
    try:
        yield k
    except Oops as error:
        print("caught", error)
    finally:
        print("leave")


class Guarded:
    def __init__(self, quiet):
        self.quiet = quiet

    def __enter__(self):
        return 3

    def __exit__(self, kind, error, traceback):
        print("exit", kind and kind.__name__)
        return self.quiet and kind is not None and issubclass(kind, (Oops, LookupError))


class Row(list):
    def total(self):
        return sum(self)

    def __getitem__(self, k):
        return super().__getitem__(k) if isinstance(k, slice) else list.__getitem__(self, k) + 1


class Sparse(dict):
    def __missing__(self, key):
        self[key] = len(self)
        return self[key]


class Money(int):
    def __add__(self, other):
        return Money(int(self) + int(other))

    def __str__(self):
        return f"${int(self)}"


class Clamped:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner):
        return 5 if instance is None else getattr(instance, self.name, 0)

    def __set__(self, instance, value):
        if value < -50:
            raise ValueError(value)
        setattr(instance, self.name, min(value, 9))


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: int = 2
    tags: list = dataclasses.field(default_factory=list, compare=False)

    def norm(self):
        return abs(self.x) + abs(self.y)


class Named(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.label = cls.__name__
        return made

    def __len__(cls):
        return 3


class Gauge(metaclass=Named):
    level = Clamped()
    __slots__ = ("_level", "label")

    def __init__(self, level):
        self.level = level


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    def mixed(self, k):
        return Color.BLUE if k % 2 else self


Pair = collections.namedtuple("Pair", "first second")


@functools.lru_cache(maxsize=None)
def cached(k):
    return k * k % 11


def decorated(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return inner


@decorated
def squared(k, scale=1):
    "k * k."
    return k * k * scale % 53


def outer_generator(k, t, out):
    got = yield from counting(k, t, out)
    out.append(("inner gave", got))
    try:
        yield got
    finally:
        out.append("closed")

"""

# Expressions that give an int, a str, or an object, where {i} is an int, {l} a list of ints, {d} a dict of str to int.
INTEGERS = (
    "Row({l}).total()", "Row([{i}, 2])[0]", "Sparse({d})['new']", "int(Money({i}) + {i})", "Point({i}).norm()",
    "Point({i}, {i}).x", "Gauge({i}).level", "Gauge.level", "len(Gauge)", "Color.RED.mixed({i}).value",
    "Color(2).value",
    "Pair({i}, 2).first", "Pair(1, {i})[1]", "cached({i})", "squared({i})", "squared({i}, scale={i})",
    "collections.Counter({l})[1]", "math.gcd({i}, 12)", "math.floor({i} / 4)", "operator.itemgetter(0)([{i}, 1])",
    "operator.attrgetter('x')(Point({i}))", "sum(k for k, _ in itertools.groupby(sorted({l})))", "len({l}[1:{i}])",
    "sum(itertools.starmap(operator.mul, zip({l}, {l})))", "len(list(itertools.product({l}[:2], {l}[:2])))",
    "max({l}, default={i})", "min({l} or [7], key=lambda k: (k - 2) ** 2)", "({i}).bit_length()", "round({i} / 3)",
    "int(format({i}, 'd'))", "len(set({l}))", "ord(str({i})[-1])", "dataclasses.replace(Point(1), y={i}).y", "abs({i})",
    "functools.partial(squared, scale=2)({i})", "isinstance(Money({i}), int) + 1",
    "[*{l}, {i}][-1]", "(lambda *a, k=1: len(a) + k)(*{l})",
    "next((k for k in {l} if k > {i}), -1)", "len(dict(sorted({d}.items(), key=lambda p: p[1])))",
    "collections.deque({l}, maxlen=2).maxlen", "sum(collections.deque({l}, maxlen=2))",
    "(type('T', (), {{'v': {i}}})().v)",
)  # fmt: skip
STRINGS = (
    "str(Money({i}))", "repr(Point({i}))", "'{{}}'.format(Pair({i}, 1))", "Color.RED.name", "squared.__name__",
    "squared.__doc__",
    "'-'.join(sorted(Sparse({d})))", "'{{!s:>5}}'.format(Money({i}))", "'%(k)s' % {{'k': {i}}}", "str({l})",
    "str(sorted({d}))",
    "'{{:>4}}|{{!r}}'.format({i}, {l})", "Gauge({i}).label", "repr(Color.BLUE)", "str([Point({i}), ({i}, 'a')])",
)  # fmt: skip
OBJECTS = (
    "Row({l})", "Sparse({d})", "Money({i})", "Point({i}, tags={l})", "Color.RED", "Pair({i}, {l})",
    "collections.Counter({l})",
    "collections.deque({l}, maxlen=3)", "collections.OrderedDict({d})", "dataclasses.asdict(Point({i}))",
    "[Point(k) for k in {l}]",
    "sorted([Point({i}), Point(1, 1)])", "Point({i}) == Point(1)", "Point(1) < Point({i})",
    "Pair(*{l}[:2], *[0, 0])[:2]",
    "collections.ChainMap({{'k': 1}}, {d})['k']", "copy.deepcopy([{l}, {d}])", "frozenset(k % 8 for k in {l})",
    "range({i})",
    "slice(1, {i})",
    "list(map(cached, {l}))", "dict.fromkeys({l}, {i})", "{{**{d}, **{{'n': {i}}}}}", "enumerate({l})", "iter({l})",
    "(k * {i} for k in {l})", "itertools.count({i})", "bytes([1, 2])", "b'%d' % {i}", "{i} if {l} else None",
    "NotImplemented",
)  # fmt: skip

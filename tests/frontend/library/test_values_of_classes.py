"""Values of C classes that never change, read-only views, keys by identity, subclasses of OrderedDict: in one graph."""

import collections
import dataclasses
import datetime
import pathlib
import re
import sys
import types

import pytest

import minidynamo as torch
from frontend.differential import same


class Thing:
    def __init__(self, v=2):
        self.v = v


@dataclasses.dataclass(frozen=True)
class Point:
    a: int
    b: int = 3
    note: str = dataclasses.field(default="", compare=False)


ONE, TWO = Thing(3), Thing(4)
TEXT = "{1} {0.v}"
SHOWN = types.MappingProxyType({"a": 2, "b": 3})
PATTERN = re.compile(r"(?P<letter>\w)(\d+)")


def plus_one(x):
    return x + 1


def x():
    return torch.tensor([1.0, 2.0, 3.0])


def set_of_tensors(x):
    y = x + 1
    seen = {y}
    seen.add(x * 2)
    seen.add(y)
    return x * len(seen), y in seen, x + 3 in seen


def set_of_objects(x):
    a, b = Thing(), Thing()
    s = {a, b, a}
    s.discard(b)
    return x * len(s), a in s, b in s


def keys_made_here(x):
    def inner():
        return 3

    a = Thing()
    d = {a: x, inner: x + 1, (a, 1): x + 2}
    d[Thing()] = x
    return d[a] + d[inner] + d[a, 1], len(d), d.pop(a), a in d


def missing_key(x):
    a = Thing(7)
    try:
        {Thing(): 1}[a]
    except KeyError as error:
        return x * error.args[0].v


def operations_on_sets(x):
    a, b = Thing(), Thing()
    s, t = {a, b}, {b}
    return x * len(s - t) + len(s & t) + len(s | t) + len(s ^ t), t <= s


def order_of_known_objects(x):
    return [o.v for o in {ONE, TWO}], x + 1


def dataclass_keys(x):
    d = {Point(1): 2, Point(2): x}
    d[Point(1)] = 5
    s = {Point(1), (Point(1), 1), (Point(1, 4), 1)}
    return d[Point(2)] * d[Point(1)], len(d), Point(3) in d, len(s), Point(1) in s, hash(Point(1)) == hash(Point(1))


def device(x):
    d = torch.device("cuda", 1)
    return x.to(torch.device("cpu")), d.type, d.index, str(d), x.device == torch.device("cpu"), d


def wrong_device(x):
    try:
        torch.device("nowhere")
    except RuntimeError:
        return x + 1


def size(x):
    s = torch.Size([3, 1])
    t = torch.Size(list(x.shape))
    return x.reshape(s), s, s.numel(), t == x.shape, hash(t) == hash((3,)), torch.Size(), torch.zeros(t)


def dates(x):
    t = datetime.datetime(2020, 1, 2) + datetime.timedelta(hours=5)
    day = datetime.date(2020, 1, 5)
    age = day - datetime.date(2020, 1, 1)
    return x * age.days + t.hour, t.replace(hour=1).isoformat(), day.weekday(), age > datetime.timedelta(1), t


def matches(x):
    m = re.match(r"(\w)(\d+)", "a12")
    n = PATTERN.search("- b7")
    return (
        x * int(m.group(2)),
        m.groups(),
        n["letter"],
        n.groupdict(),
        PATTERN.match("--"),
        re.sub("a", "b", "aab"),
        m.span(),
    )


def record(x):
    return x + (sys.version_info >= (3, 8)), sys.version_info[0], sys.version_info.major


def proxy(x):
    m = types.MappingProxyType({"a": x})
    try:
        m["b"] = 1
    except TypeError as error:
        return m["a"] + 1, str(error), len(m), list(m), {**m}["a"], m == {"a": x}, m | {"b": 2}


def known_proxy(x):
    return x * SHOWN["a"], list(SHOWN.items()), SHOWN.get("q", 5), "b" in SHOWN, SHOWN.copy(), dict(SHOWN), SHOWN


def dict_of_class(x):
    return x + ("__init__" in Thing.__dict__), Thing.__dict__["__init__"].__name__


def paths(x):
    p = pathlib.PurePosixPath("/a/b") / "c.txt"
    return x + len(p.parts), p.name, p.suffix, str(p.parent)


def formats(x):
    return "{0.v} {1[a]} {2!r:>5} {k}".format(ONE, {"a": 1}, "s", k=[1]), TEXT.format(ONE, [2]), x + 1


def wrong_formats(x):
    said = []
    for text in ("{} {0}", "{2}", "{"):
        try:
            text.format([1], ONE)
        except (ValueError, IndexError) as error:
            said.append(str(error))
    return said, x + 1


def mixed_dict_and_keys(x):
    d = {1: 2}
    d |= {5: 6}.items()
    return d, x + 1


@pytest.mark.parametrize(
    "function",
    [set_of_tensors, set_of_objects, keys_made_here, missing_key, operations_on_sets, order_of_known_objects,
     dataclass_keys, device, wrong_device, size, matches, record, proxy, known_proxy, dict_of_class, paths,
     formats, wrong_formats],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_in_one_graph(function):
    if function is matches and sys.version_info >= (
        3,
        13,
    ):  # re.sub() leaves a key below int in the cache that match() reads
        same(function, lambda: (x(),), breaks=["GB0147"])
        return
    with torch._dynamo.config.patch(trace_more=function is paths and sys.version_info >= (3, 13)):  # in C there: GB0007
        same(function, lambda: (x(),), frames=1, breaks=[])


def test_dates_are_made_where_more_is_traced():
    same(dates, lambda: (x(),), breaks=["GB0147"])
    with torch._dynamo.config.patch(trace_more=True):
        same(dates, lambda: (x(),), frames=1, breaks=[])


def of_slice(x, s):
    return x[s], x * len(range(*s.indices(3)))


def of_functions(x, s):
    return x + 1 if plus_one in s else x


def of_keys(x, keys):
    return x * len(keys), "a" in keys, list(keys), keys


def of_device(x, d):
    return x.to(d), d == x.device


def of_span(x, t):
    return x * t.days, t + t


def of_match(x, m):
    return x + m.end(), m[0]


ARGUMENTS = [
    (of_slice, lambda: slice(0, None, 2)),
    (of_functions, lambda: {plus_one, x}),
    (of_keys, lambda: SHOWN),
    (of_device, lambda: torch.device("cpu")),
    (of_span, lambda: datetime.timedelta(days=2)),
    (of_match, lambda: PATTERN.match("a1")),
]


@pytest.mark.parametrize("function, argument", ARGUMENTS, ids=lambda f: f.__name__)
def test_arguments(function, argument):
    kept = argument()
    same(function, lambda: (x(), kept), frames=1, breaks=[])


class Ordered(collections.OrderedDict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.extra = 5


@dataclasses.dataclass
class Output(collections.OrderedDict):
    """As the outputs of models are: fields that are items as well."""

    loss: object = None
    logits: object = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, key):
        return dict(self.items())[key] if isinstance(key, str) else self.to_tuple()[key]

    def __setattr__(self, name, value):
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())


def make_ordered(x):
    o = Ordered(a=x)
    o["b"] = x + 1
    o.move_to_end("a")
    return o["a"] * o.extra, list(o), o, o == Ordered(b=2)


def make_output(x):
    o = Output(loss=x.sum(), logits=x * 2)
    return o.loss + o["logits"] + o[0], o


def change_ordered(x, o):
    o["z"] = x
    del o["a"]
    return x * o.extra, list(o), o.popitem()[0]


def change_output(x, o):
    o.logits = x
    o["loss"] = x.sum()
    return x + o.logits + o[0], list(o.keys()), o.to_tuple()


@pytest.mark.parametrize("function", [make_ordered, make_output], ids=lambda f: f.__name__)
def test_subclasses_of_ordered_dict_are_made(function):
    same(function, lambda: (x(),), frames=1, breaks=[])


@pytest.mark.parametrize(
    "function, make", [(change_ordered, lambda: Ordered(a=1, b=2)), (change_output, lambda: Output(logits=x()))],
    ids=["ordered", "output"],
)  # fmt: skip
def test_subclasses_of_ordered_dict_come_in(function, make):
    same(function, lambda: (x(), make()), frames=1, breaks=[])


class Overriding:
    def __getattribute__(self, name):
        return 8 if name == "made_up" else super().__getattribute__(name)


def test_an_override_asks_object():
    def f(x):
        o = Overriding()
        o.v = 3
        return x * o.made_up, hasattr(o, "q"), o.v

    same(f, lambda: (x(),), frames=1, breaks=[])


def test_stores_to_a_module():
    module = types.ModuleType("module")
    inside = "def count(n):\n    global total\n    total = total + n\n    return total\n"
    exec(inside, module.__dict__)

    def f(x):
        module.total = 2
        module.count(3)
        module.fresh = x + 1
        return x * module.total, hasattr(module, "fresh"), module.fresh

    def once(x):
        vars(module).pop("fresh", None)
        result = f(x)
        return result, module.total, module.fresh

    same(f, lambda: (x(),), frames=1, breaks=[])
    assert once(x())[1] == 5 == torch.compile(once)(x())[1]


def test_mappings_given_as_keywords():
    def given(**keywords):
        return keywords

    def f(x, output):
        u = collections.UserDict(a=x)
        return {**u, "b": 1}, given(**u), given(**output), x + 1

    same(f, lambda: (x(), Output(logits=torch.ones(3))), frames=1, breaks=[])


def test_a_dictionary_takes_pairs_before_its_views_are_sets():
    same(mixed_dict_and_keys, lambda: (x(),), frames=1, breaks=[])

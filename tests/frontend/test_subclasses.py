"""Instances of classes below list, dict, tuple, set, int, float, str; __new__, metaclasses, descriptors, __dict__."""

import enum
import gc
import itertools
import sys

import pytest

import minidynamo as torch
from frontend.differential import same


def x():
    return torch.tensor([1.0, 2.0, 3.0])


class Stack(list):
    """A list with a method and an attribute of its own."""

    def __init__(self, *items, name="stack"):
        super().__init__(items)
        self.name = name

    def peek(self):
        return self[-1]


class Defaults(dict):
    """A dict that answers for missing keys."""

    def __missing__(self, key):
        return key * 2


class Pair(tuple):
    __slots__ = ()

    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))

    @property
    def first(self):
        return self[0]


class Celsius(float):
    def fahrenheit(self):
        return self * 9 / 5 + 32


class Count(int):
    def __add__(self, other):
        return Count(int(self) + other)


class Shout(str):
    def loud(self):
        return self.upper() + "!"


class Tags(set):
    pass


def made_list(a):
    s = Stack(1, 2, name="mine")
    s.append(a)
    s += [4]
    s[0] = 7
    return s, a * s.peek() + len(s) + s[0], s.name, s[1:], type(s + [1]).__name__


def made_dict(a):
    d = Defaults(k=a)
    d["n"] = 2
    d.update({"m": 3}, o=4)
    return d, a * d[5] + d["n"] + len(d) + d.get("zz", 1), "q" in d, list(d)


def made_tuple(a):
    p = Pair(a, 3)
    return p, p.first * p[1], len(p), p + (1,), isinstance(p, tuple), type(p).__name__


def numbers(a):
    c = Celsius(20.0)
    n = Count(3) + 4
    return a * c + n, c.fahrenheit(), type(n).__name__, n == 7, c > 19, n * 2, -n


def text(a):
    s = Shout("ab")
    return a + len(s.loud()), s + "c", s.loud(), f"{s}", {s: 1}["ab"], s == "ab"


def tags(a):
    t = Tags([1, 2])
    t.add(3)
    return t, a + len(t), 2 in t, t | {9}


@pytest.mark.parametrize("function", [made_list, made_dict, made_tuple, numbers, text, tags], ids=lambda f: f.__name__)
def test_made_while_tracing(function):
    same(function, lambda: (x(),), frames=1, breaks=[])


def changes_list(a, s):
    s.append(a)
    s.name = "changed"
    return a + len(s)


def changes_dict(a, d):
    d["new"] = a
    return a + d["k"] + d[4]


def reads_tuple(a, p):
    return a * p.first + len(p)


def reads_numbers(a, c, n):
    return a * c + n, c.fahrenheit()


def test_given_from_outside():
    same(changes_list, lambda: (x(), Stack(1, 2)), frames=1, breaks=[])
    same(changes_dict, lambda: (x(), Defaults(k=3)), frames=1, breaks=[])
    same(reads_tuple, lambda: (x(), Pair(2, 5)), frames=1, breaks=[])
    numbers = (Celsius(3.0), Count(2))
    same(reads_numbers, lambda: (x(), *numbers), frames=1, breaks=[])


def test_guards_on_content():
    compiled = torch.compile(lambda a, s: a + s[0] + len(s))
    for items in ([1, 2], [1, 2, 3], [4, 2], [1, 2]):
        assert torch.equal(compiled(x(), Stack(*items)), x() + items[0] + len(items))


def test_two_that_become_one():
    def grow(a, s, t):
        s.append(1)
        return a + len(t)

    compiled = torch.compile(grow)
    assert torch.equal(compiled(x(), Stack(), Stack()), x())
    one = Stack()
    assert torch.equal(compiled(x(), one, one), x() + 1)


class Meta(type):
    made = 0

    def __call__(cls, *args):
        made = super().__call__(*args)
        made.tag = len(args)
        return made

    def __len__(cls):
        return 3


class WithMeta(metaclass=Meta):
    def __init__(self, v):
        self.v = v


class Single:
    def __new__(cls, kind, v):
        self = object.__new__(Other if kind == "other" else cls)
        self.early = 1
        return self

    def __init__(self, kind, v):
        self.v = v


class Other:
    pass


def metaclass(a):
    m = WithMeta(a)
    return m, a * m.tag + len(WithMeta)


def own_new(a):
    s, o = Single("single", a), Single("other", a)
    return s.v + s.early, type(o).__name__, hasattr(o, "v"), o


def too_many(a):
    try:
        Other(1)
    except TypeError as e:
        return a + 1, str(e)


def unsafe_new(a):
    try:
        object.__new__(Stack)
    except TypeError as e:
        return a + 1, str(e)


@pytest.mark.parametrize("function", [metaclass, own_new, too_many, unsafe_new], ids=lambda f: f.__name__)
def test_construction(function):
    same(function, lambda: (x(),), frames=1, breaks=[])


class Positive:
    """A descriptor that keeps its value in the instance's dictionary."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        if instance is None:
            return self
        return instance.__dict__[self.name]

    def __set__(self, instance, value):
        if value < 0:
            raise ValueError("negative")
        instance.__dict__[self.name] = value

    def __delete__(self, instance):
        del instance.__dict__[self.name]


class Once:
    def __init__(self, f):
        self.f = f

    def __get__(self, instance, owner):
        return self if instance is None else self.f(instance) + 1


class Account:
    _kept = Positive()

    def __init__(self, v):
        self.v = v

    @Once
    def doubled(self):
        return self.v * 2

    def __getattr__(self, name):
        if name.startswith("also_"):
            return len(name)
        raise AttributeError(name)

    @property
    def broken(self):
        raise AttributeError("inside")


def descriptors(a):
    o = Account(3)
    return a + o.doubled, o.also_this, type(Account.doubled).__name__


def property_falls_back(a):
    try:
        return a, Account(1).broken
    except AttributeError as e:
        return a + 1, str(e)


def attribute_dict(a):
    o = Account(2)
    o.__dict__["w"] = 5
    vars(o).update(q=a)
    d = o.__dict__
    o.z = 1
    return a * o.w + d["z"] + len(d), "v" in d, list(d), d.get("nope", 4), o, d.pop("w"), dict(d)


@pytest.mark.parametrize("function", [descriptors, property_falls_back, attribute_dict], ids=lambda f: f.__name__)
def test_attributes(function):
    same(function, lambda: (x(),), frames=1, breaks=[])


def writes_dict(a, o):
    o.__dict__["w"] = a
    return a + o.__dict__["v"], "w" in vars(o)


def test_dict_of_an_instance_from_outside():
    same(writes_dict, lambda: (x(), Account(2)), frames=1, breaks=[])


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


def members(a, level):
    return a * level + Level.HIGH, level.name, level > 2, level is Level.HIGH


def test_int_enum_members():
    same(members, lambda: (x(), Level.HIGH), frames=1, breaks=[])
    same(members, lambda: (x(), Level.LOW), frames=1, breaks=[])


class Posing:
    """Says that it is a list, as mocks do."""

    __class__ = property(lambda self: list)


def posing(a):
    o = Posing()
    return a + 1, isinstance(o, list), isinstance(o, dict)


def test_objects_that_tell_their_class():
    same(posing, lambda: (x(),))


class Meters(float):
    pass


class Raw(bytes):
    pass


class Steps(int):
    pass


class Label(str):
    pass


def measured(a, o):
    return a * 2, type(o), o == o, [o]


@pytest.mark.parametrize(
    "cls, first, second", [(Meters, 1.5, 2.5), (Raw, b"a", b"b"), (Steps, 3, 4), (Label, "a", "b")]
)
def test_values_of_subclasses_are_guarded_by_value_and_not_kept(cls, first, second):
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(measured, backend=counter)
    for value in (first, first, second, first, second):
        o = cls(value)
        before = sys.getrefcount(o)
        result = compiled(x(), o)
        assert result[3][0] is o
        del result
        gc.collect()
        assert sys.getrefcount(o) == before
    assert counter.frame_count == 2


def iterated(a, o, n):
    it = iter(o)
    for _ in range(n):
        next(it)
    torch._dynamo.graph_break()
    rest = a * 2, it
    if isinstance(o, list):
        o.append(4)
    return rest, o


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize(
    "make", [lambda: Stack(1, 2), lambda: Raw(b"ab"), lambda: Label("ab"), lambda: Defaults(a=1, b=2)]
)
def test_an_iterator_holds_the_object_it_is_over(make, n):
    def counts(f):
        o = make()
        (_, it), o = f(x(), o, n)
        held = sys.getrefcount(o)
        left = list(it)
        return held, sys.getrefcount(o), left, type(it)

    torch._dynamo.reset()
    compiled = torch.compile(iterated)
    expected = counts(iterated)
    for _ in range(2):
        assert counts(compiled) == expected


@pytest.mark.parametrize(
    "base, content",
    [(list, [1, 2]), (tuple, (1, 2)), (dict, {1: 2}), (set, {3}), (frozenset, {3}), (str, "ab"), (bytes, b"ab")],
)
def test_an_iterator_of_the_base_leaves_a_method_of_the_same_name(replaced_both_ways, base, content):
    class Own(base):
        def __iter__(self):
            return super().__iter__()

    class Longer(base):
        def __iter__(self):
            return itertools.chain(super().__iter__(), ("end",))

    def f(o):
        return iter(o)

    for cls in (Own, Longer):
        o = cls(content)
        made, expected = torch.compile(f)(o), f(o)
        assert type(made) is type(expected) and list(made) == list(expected) and list(torch.compile(f)(o)) == list(f(o))

"""Class statements with config.trace_more: the class is made in the graph's frame, each call its own; by default they
break with GB0075."""

import collections

import pytest

import minidynamo as torch
from frontend.differential import breaks_with, same
from frontend.test_trace_more import ends
from minidynamo._dynamo import config

SCALE = 3


class Base:
    tag = "base"

    def hello(self):
        return "hello from " + self.tag

    @classmethod
    def made(cls):
        return cls()


class Other:
    other = 5

    def hello(self):
        return "other"


@pytest.fixture(autouse=True)
def more():
    with config.patch(trace_more=True, force_replace=True):
        yield


def x():
    return (torch.ones(3),)


def attributes_and_methods(t):
    class A:
        """What it is."""

        k = 2
        limits = [1, 2]
        pair = (k, SCALE)

        def __init__(self, v):
            self.v = v

        def scaled(self, by=3):
            return self.v * self.k * by

        def __len__(self):
            return self.k

        def __call__(self, z):
            return self.v + z

    a = A(t + 1)
    a.k = 4
    A(t).limits.append(3)
    described = A.__name__, A.__qualname__, A.__doc__, A.__module__, A.__mro__[1:], A.__bases__
    return a.scaled(), a(t), len(a), A.limits, A.pair is a.pair, A.k, described


def inherits(t):
    class B(Base, Other):
        tag = "b"

        def hello(self):
            return super().hello() + "!" + super(Base, self).hello()

        def mine(self):
            return __class__ is B

    class C(B):
        def hello(self):
            return "C" + super().hello()

    b, c = B(), C.made()
    checks = [isinstance(v, k) for v in (b, c, 3) for k in (B, C, Base, Other, (B, int), object)]
    related = [issubclass(a, b) for a in (B, C, Base) for b in (B, C, Other)]
    return b.hello(), c.hello(), c.mine(), c.other, checks, related, type(c) is C, type(c) is type(C()), t + 1


def descriptors(t):
    class D:
        def __init__(self):
            self._v = 1

        @property
        def v(self):
            "The value."
            return self._v

        @v.setter
        def v(self, value):
            self._v = value + t.shape[0]

        @v.deleter
        def v(self):
            self._v = None

        w = property(lambda self: self._v, doc="w")

        @staticmethod
        def double(n):
            return n * 2

        @classmethod
        def build(cls, n):
            d = cls()
            d.v = n
            return d

        alias = build

    d = D.build(D.double(4))
    seen = [d.v, d.w, d.double(d.v)]
    del d.v
    seen += [d.v, D.alias(2).v]
    try:
        d.w = 3
    except AttributeError as error:
        seen.append(type(error).__name__)
    return seen, t * 2


def operators_and_protocols(t):
    class V:
        def __init__(self, n):
            self.n = n

        def __add__(self, other):
            return V(self.n + other.n)

        __radd__ = __add__

        def __eq__(self, other):
            return self.n == other.n

        def __lt__(self, other):
            return self.n < other.n

        def __hash__(self):
            return 7

        def __iter__(self):
            yield self.n
            yield self.n * 2

        def __contains__(self, item):
            return item == self.n

        def __getitem__(self, key):
            return (self.n, key)

        def __bool__(self):
            return self.n > 1

        def __enter__(self):
            return self

        def __exit__(self, *exc):
            self.n += 10
            return True

    a, b = V(1), V(2)
    with a + b as c:
        raise ValueError
    return list(a), (a + b).n, a == b, a < b, 1 in a, a[5], bool(a), bool(b), hash(a), c.n, t - 1


def exceptions(t):
    class Problem(Exception):
        pass

    class Worse(Problem):
        def __init__(self, why):
            super().__init__(why)
            self.why = why

    seen = []
    for kind in (Problem, Worse):
        try:
            raise kind("x")
        except Worse as error:
            seen.append(("worse", error.why, error.args))
        except Problem as error:
            seen.append(("problem", error.args))
    try:
        try:
            raise Worse(1)
        except (Problem, KeyError) as error:
            raise KeyError(2) from error
    except KeyError as error:
        seen.append((error.args, error.__cause__.why))
    return seen, t + 2


def builtin_bases(t):
    class L(list):
        def total(self):
            return sum(self)

    class I(int):  # noqa: E742
        def __add__(self, other):
            return I(int(self) * int(other))

    class D(dict):
        def __missing__(self, key):
            return key * 2

    items = L([1, 2])
    items.append(3)
    return items.total(), len(items), I(3) + 4, D(a=1)["a"], D()["zz"], t


def body_runs_code(t):
    seen = []

    class E:
        seen.append("in")
        for i in range(3):
            seen.append(i)
        total = sum([n for n in (1, 2, 3)])
        if total > 5:
            big = True
        else:
            small = True
        del i
        t2 = t * total
        a: int = 3
        b: "str"
        try:
            missing  # noqa: B018, F821
        except NameError as error:
            seen.append(str(error))

        class Inner:
            depth = 2

        made = Inner()

    return seen, E.total, E.big, hasattr(E, "small"), hasattr(E, "i"), E.t2, E.Inner.depth, E.made.depth


def names_of_both_scopes(n):
    k = 1

    class Outer:
        k = k if False else 2
        own = k

        def read(self):
            return k

        class Nested:
            seen = k

        if k > 1:
            total = n + k

    return Outer.own, Outer().read(), Outer.Nested.seen, Outer.total, n


def several_of_one_statement(t):
    classes = []
    for k in range(3):

        class Numbered:
            number = k

            def get(self):
                return self.number, k  # noqa: B023  the last one, as Python does

        classes.append(Numbered)
    a, b, c = classes
    table = {a: "a", b: "b"}
    return [cls().get() for cls in classes], a is b, table[b], c in table, len({a, b, c}), t


def matched(t):
    class Point:
        __match_args__ = ("x", "y")

        def __init__(self, x, y):
            self.x, self.y = x, y

    def where(p):
        match p:
            case Point(0, y):
                return "axis", y
            case Point(x=a, y=b) if a == b:
                return "diagonal", a
            case Point():
                return "somewhere"
            case _:
                return "nowhere"

    return [where(p) for p in (Point(0, 3), Point(2, 2), Point(1, 2), 7)], t


def getattr_and_setattr(t):
    class Loose:
        def __init__(self):
            self.seen = []

        def __getattr__(self, name):
            return "no " + name

        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)
            if name != "seen":
                self.seen.append(name)

        def __delattr__(self, name):
            self.seen.append("-" + name)
            super().__delattr__(name)

    v = Loose()
    v.a = t + 1
    del v.a
    return v.seen, v.b, getattr(v, "c", 3), hasattr(v, "d")


Pair = collections.namedtuple("Pair", "a b")


def more_builtin_bases(t):
    class P(Pair):
        def total(self):
            return self.a + self.b

    class T(tuple):
        def first(self):
            return self[0]

    class S(str):
        def shout(self):
            return self.upper() + "!"

    class F(float):
        def __mul__(self, other):
            return F(float(self) + other)

    class Z(frozenset):
        pass

    p, made = P(1, 2), T((4, 5))
    seen = [p.total(), p[1], p.b, len(p), made.first(), S("abc").shout(), float(F(1.5) * 2), 3 in Z([3])]
    return seen, (p, made), isinstance(p, tuple), type(p) is P, t


def compared(t):
    class A:
        pass

    class B(A):
        pass

    a = A()
    same_class = type(a) == A, type(a) != B, A == B, a.__class__ is A, A in (B, A), [B, A].index(A)  # noqa: E721
    return same_class, str(A)[-12:], f"{B}"[-12:], t


def many(t):
    total = 0
    for k in range(60):

        class C(Base):
            n = k

            def get(self):
                return self.n + 1

        total += C().get()
    return total, t


def errors_of_making(t):
    seen = []
    try:

        class A(int, str):
            pass
    except TypeError as error:
        seen.append(str(error))
    try:

        class B(Base, Base):
            pass
    except TypeError as error:
        seen.append(str(error))
    try:

        class C(bool):
            pass
    except TypeError as error:
        seen.append(str(error))
    return seen, t


WHOLE = [
    attributes_and_methods, inherits, descriptors, operators_and_protocols, exceptions, builtin_bases, body_runs_code,
    several_of_one_statement, many, matched, more_builtin_bases, compared, getattr_and_setattr, errors_of_making,
]  # fmt: skip


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_traced_whole(function):
    same(function, x, breaks=())
    assert ends(function, x) == (2, 0, 0)


def test_names_of_the_class_body_and_of_the_function():
    same(names_of_both_scopes, lambda: (4,), breaks=())


def test_by_default_it_breaks():
    with config.patch(trace_more=False, force_replace=False):
        breaks_with("GB0075", inherits, x)

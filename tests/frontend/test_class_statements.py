"""Class statements with config.trace_more: the class is made in the graph's frame, each call its own; by default they
break with GB0075."""

import gc
import weakref

import pytest

import minidynamo as torch
from frontend.differential import breaks_with, same
from frontend.test_trace_more import ends
from minidynamo._dynamo import config
from minidynamo._dynamo.testing import CompileCounter

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
                return self.number, k

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
    several_of_one_statement, matched, getattr_and_setattr, errors_of_making,
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


def escaping(t):
    z = t * 2

    class C(Base):
        a: int = 3
        where = __qualname__

        def m(self):
            return z

        def own(self):
            return __class__

        @property
        def p(self):
            return self.m() + 1

        @classmethod
        def c(cls):
            return cls

    made = C()
    made.v = t + 1
    return C, made, [C], {"again": C}


def test_a_class_that_leaves_the_function():
    compiled = torch.compile(escaping, backend="eager", fullgraph=True)
    t = torch.ones(2)
    C, made, again, named = compiled(t)
    D = compiled(t)[0]
    assert again == [C] and named == {"again": C} and D is not C
    assert type(made) is C and made.v.tolist() == [2, 2] and list(vars(made)) == ["v"]
    assert C.__bases__ == (Base,) and C.__annotations__ == {"a": int} and C.where == C.__qualname__
    assert C.__qualname__ == "escaping.<locals>.C" and C.__module__ == __name__
    assert C().own() is C and C.c() is C and D.c() is D and C().p.tolist() == [3, 3]
    assert [k for k in vars(C) if k != "__annotations__"] == [k for k in vars(escaping(t)[0]) if k != "__annotations__"]
    assert C.hello.__qualname__ == "Base.hello" and C.m.__qualname__ == "escaping.<locals>.C.m"


def test_an_exception_of_its_own_class_leaves_the_function():
    def f(t):
        class Own(ValueError):
            def __str__(self):
                return "own"

        if t.shape[0] > 2:
            raise Own(3)
        return t + 1

    same(f, x)
    same(f, lambda: (torch.ones(2),), breaks=())


def test_a_break_after_the_class():
    def f(t):
        class C:
            k = 2

            def times(self, v):
                return v * self.k

        c = C()
        print("between")
        c.k = 5
        return c.times(t), C().times(t), type(c) is C

    breaks_with("GB0059", f, x)


def test_a_break_in_the_body():
    def f(t):
        class C:
            print("in the body")
            k = 2

        return C.k * t

    same(f, x)


def test_attributes_of_the_class_set_later():
    def f(t):
        class C:
            n = 0

            def __init__(self):
                C.n += 1

        C(), C()
        C.more = 3
        return C.n, C().more, C.n, t

    same(f, x)


class Registers:
    known = []

    def __init_subclass__(cls, **keywords):
        Registers.known.append((cls.__name__, keywords))


class Named:
    def __set_name__(self, owner, name):
        self.name = name


class Meta(type):
    pass


def registering(t):
    class A(Registers, flag=1):
        pass

    class B(Registers):
        pass

    return A.__name__, B.__name__, list(Registers.known[-2:]), t


def naming(t):
    class A:
        field = Named()

    return A.field.name, t


def with_metaclass(t):
    class A(metaclass=Meta):
        pass

    return type(A) is Meta, t


def with_slots(t):
    class A:
        __slots__ = ("a",)

    v = A()
    v.a = t
    return v.a, hasattr(v, "__dict__")


def with_finalizer(t):
    class A:
        def __del__(self):
            seen.append(1)

    seen = []
    A()
    return seen, t


def generic(t):
    class A(list[int]):
        pass

    return A.__orig_bases__, A([1]), t


@pytest.mark.parametrize(
    "function", [registering, naming, with_metaclass, with_slots, with_finalizer, generic], ids=lambda f: f.__name__
)
def test_classes_that_others_have_a_say_in(function):
    breaks_with("GB0075", function, x)


def test_a_change_of_the_base_is_seen():
    class Changing:
        def one(self):
            return 1

    def f(t):
        class A(Changing):
            def two(self):
                return self.one() + 1

        return A().two() + t

    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter)
    t = torch.zeros(1)
    assert [compiled(t).item(), compiled(t).item(), counter.frame_count] == [2, 2, 1]
    Changing.one = lambda self: 5
    assert [compiled(t).item(), counter.frame_count] == [6, 2]
    Changing.two = lambda self: 7  # hidden by A's own
    assert [compiled(t).item(), counter.frame_count] == [6, 2]
    Changing.__setattr__ = lambda self, name, value: None
    assert compiled(t).item() == 6
    Changing.__getattribute__ = lambda self, name: lambda *a: 9
    assert compiled(t).item() == f(t).item() == 9


def test_what_the_trace_looked_at_is_gone():
    class Root:
        pass

    def f(t):
        class A(Root):
            def m(self):
                return __class__

            @property
            def p(self):
                return super().__init__

        class B(A):
            held = [t]

        b = B()
        b.me = b
        return isinstance(b, Root), b.m() is A, t + 1

    gc.collect()
    gc.disable()
    try:
        for make in (lambda: torch.compile(f, backend="eager"), lambda: torch.compile(f)):
            compiled = make()
            compiled(torch.ones(2))
            compiled(torch.ones(3))
            assert Root.__subclasses__() == []
    finally:
        gc.enable()


def test_a_class_that_left_can_be_collected():
    def f(t):
        class A(Base):
            def m(self):
                return __class__, t

        return A()

    compiled = torch.compile(f, backend="eager")
    t = torch.ones(2)
    for _ in range(3):
        made = compiled(t)
        gone = weakref.ref(type(made))
        assert made.m() == (type(made), t)
        del made
        gc.collect()
        assert gone() is None


def test_many_compilations_leave_nothing():
    def f(t, n):
        class A(Base):
            number = n

            def m(self):
                return __class__, super().hello()

        return A().m()[1], t + n

    compiled = torch.compile(f, backend="eager", dynamic=False)
    t = torch.ones(2)
    with config.patch(recompile_limit=1000, accumulated_recompile_limit=1000):
        compiled(t, 0)
        gc.collect()
        before = len(gc.get_objects())
        for n in range(40):
            compiled(t, 1000 + n)
        torch._dynamo.reset()
        gc.collect()
        assert len(gc.get_objects()) - before < 40
    assert Base.__subclasses__() == []

"""What becomes of classes made in compiled functions: each call has its own, nobody sees another, guards watch their
bases; and those that are not traced."""

import collections
import functools
import gc
import weakref

import pytest

import minidynamo as torch
from frontend.differential import breaks_with, codes, same
from frontend.test_class_statements import Base, x
from minidynamo._dynamo import config
from minidynamo._dynamo.testing import CompileCounter


@pytest.fixture(autouse=True)
def more():
    with config.patch(trace_more=True, force_replace=True):
        yield


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


def with_descriptors_of_the_library(t):
    class A:
        @functools.cached_property
        def cached(self):
            return [1]

        def plus(self, n):
            return n + 1

        two = functools.partialmethod(plus, 1)

        @functools.singledispatchmethod
        def kind(self, v):
            return "any"

        @kind.register
        def _(self, v: int):
            return "int"

    a = A()
    return a.cached is a.cached, a.two(), a.kind(1), a.kind("x"), t


def with_odd_match_args(t):
    class A:
        __match_args__ = tuple(["n" * t.shape[0]])
        nnn = 4

    match A():
        case A(k):
            return k, t


def generic(t):
    class A(list[int]):
        pass

    return A.__orig_bases__, A([1]), t


@pytest.mark.parametrize(
    "function",
    [registering, naming, with_metaclass, with_slots, with_finalizer, generic],
    ids=lambda f: f.__name__,
)
def test_classes_that_others_have_a_say_in(function):
    breaks_with("GB0075", function, x)


def test_match_args_made_while_tracing():
    same(with_odd_match_args, x)


def test_descriptors_of_the_library():
    same(with_descriptors_of_the_library, x)
    assert codes()  # that what they do is not modelled is said


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


def parts_of_classes():
    """How many objects there are of the kinds that classes are made of."""
    gc.collect()
    kinds = collections.Counter(type(o).__name__ for o in gc.get_objects())
    return {kind: kinds[kind] for kind in ("type", "function", "cell", "getset_descriptor", "property", "classmethod")}


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
        torch._dynamo.reset()
        before = parts_of_classes()
        for n in range(40):
            compiled(t, 1000 + n)
        torch._dynamo.reset()
        assert parts_of_classes() == before
    assert Base.__subclasses__() == []

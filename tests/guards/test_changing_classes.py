"""What classes hold may change between two calls."""

import enum

import pytest

import minidynamo as torch
from guards.changing import agrees


def x():
    return torch.tensor([1.0, 2.0])


def with_class(body, changes, frames):
    """`body(C)` gives the traced function; `changes` get the class."""

    def program(call):
        class Base:
            inherited = 1

            def method(self):
                return self.number

        class C(Base):
            number = 2
            ratio = 0.5
            things = [1, 2]
            table = {"a": 1}

            def __init__(self, own=7):
                self.own = own

            def scale(self, x):
                return x * self.number

            @property
            def doubled(self):
                return self.own * 2

            @staticmethod
            def helper(x):
                return x + 1

            @classmethod
            def named(cls, x):
                return x * cls.number

        f = body(C)
        for change in (lambda C: None, *changes):
            change(C)
            for _ in range(2):
                call(f, x())

    agrees(program, frames)


def made_inside(read):
    return lambda C: lambda x: read(C(), x)


def from_outside(read):
    def body(C):
        o = C()
        return lambda x: read(o, x)

    return body


READS = {
    "number": lambda o, x: x * o.number,
    "inherited": lambda o, x: x * o.inherited,
    "method": lambda o, x: x * o.method(),
    "scale": lambda o, x: o.scale(x),
    "doubled": lambda o, x: x * o.doubled,
    "helper": lambda o, x: o.helper(x),
    "named": lambda o, x: o.named(x),
    "things": lambda o, x: x * len(o.things),
    "table": lambda o, x: x * o.table.get("b", 3),
    "own": lambda o, x: x * o.own,
    "has": lambda o, x: x * 2 if hasattr(o, "extra") else x * 3,
    "get": lambda o, x: x * getattr(o, "extra", 5),
    "truth": lambda o, x: x * 2 if o else x * 3,
    "equal": lambda o, x: x * 2 if o == 3 else x * 3,
    "kind": lambda o, x: x * type(o).number,
    "instance": lambda o, x: x * o.__class__.number,
}
CHANGES = {
    "number": [lambda C: setattr(C, "number", 3), lambda C: setattr(C, "number", 3.0)],
    "inherited": [
        lambda C: setattr(C.__mro__[1], "inherited", 4),
        lambda C: setattr(C, "inherited", 9),
        lambda C: delattr(C, "inherited"),
    ],
    "method": [
        lambda C: setattr(C.__mro__[1], "method", lambda self: 11),
        lambda C: setattr(C, "method", lambda self: 12),
        lambda C: delattr(C, "method"),
        lambda C: setattr(C, "number", 21),
    ],
    "scale": [
        lambda C: setattr(C, "scale", lambda self, x: x - 1),
        lambda C: setattr(C, "scale", staticmethod(lambda x: x - 2)),
        lambda C: setattr(C, "scale", torch.sin),
    ],
    "doubled": [
        lambda C: setattr(C, "doubled", property(lambda self: 3)),
        lambda C: setattr(C, "doubled", 5),
        lambda C: setattr(C, "doubled", property(lambda self: self.own)),
    ],
    "helper": [
        lambda C: setattr(C, "helper", staticmethod(lambda x: x + 2)),
        lambda C: setattr(C, "helper", lambda self, x: x + self.own),
    ],
    "named": [
        lambda C: setattr(C, "number", 8),
        lambda C: setattr(C, "named", classmethod(lambda cls, x: x - cls.number)),
    ],
    "things": [lambda C: C.things.append(3), lambda C: setattr(C, "things", (1,))],
    "table": [lambda C: C.table.update(b=8), lambda C: C.table.pop("b"), lambda C: setattr(C, "table", {"b": 2})],
    "own": [
        lambda C: setattr(C, "own", 3),
        lambda C: setattr(C, "own", property(lambda self: 33, lambda self, v: None)),
        lambda C: setattr(C, "__getattribute__", lambda self, name: 77),
    ],
    "has": [lambda C: setattr(C, "extra", 1), lambda C: delattr(C, "extra")],
    "get": [
        lambda C: setattr(C, "extra", 1),
        lambda C: setattr(C, "extra", 2),
        lambda C: delattr(C, "extra"),
        lambda C: setattr(C, "__getattr__", lambda self, name: 66),
    ],
    "truth": [lambda C: setattr(C, "__len__", lambda self: 0), lambda C: setattr(C, "__bool__", lambda self: True)],
    "equal": [lambda C: setattr(C, "__eq__", lambda self, other: other == 3)],
    "kind": [lambda C: setattr(C, "number", 5)],
    "instance": [lambda C: setattr(C, "number", 5)],
}


@pytest.mark.parametrize("what", READS)
@pytest.mark.parametrize("where", [made_inside, from_outside])
def test_class_changes(what, where):
    # A state seen before finds its entry again.
    seen_again = {"method": 2, "inherited": 1, "table": 1, "has": 1, "get": 1}.get(what, 0)
    frames = None if what == "own" else 1 + len(CHANGES[what]) - seen_again
    with_class(where(READS[what]), CHANGES[what], frames)


def test_init_replaced():
    def body(C):
        return lambda x: x * C(3).own

    def halve(self, own):
        self.own = own / 2

    with_class(
        body, [lambda C: setattr(C, "__init__", halve), lambda C: setattr(C, "__init__", lambda self, o: None)], None
    )


def test_setattr_hook_added():
    def body(C):
        return lambda x: x * C(3).own

    def doubled(self, name, value):
        object.__setattr__(self, name, value * 2)

    with_class(body, [lambda C: setattr(C, "__setattr__", doubled)], 2)


def test_new_added():
    def body(C):
        def f(x):
            return x * C(3).own

        return f

    def make(cls, own):
        o = object.__new__(cls)
        cls.number += 1
        return o

    with_class(body, [lambda C: setattr(C, "__new__", make)], None)


def test_bases_changed():
    def program(call):
        class A:
            def m(self):
                return 1

        class B:
            def m(self):
                return 2

        class C(A):
            pass

        class D(C):
            def m(self):
                return super().m() * 10

        o = D()

        def f(x):
            return x * o.m() + D().m(), isinstance(o, A)

        call(f, x())
        C.__bases__ = (B,)
        call(f, x())
        B.m = lambda self: 5
        call(f, x())
        D.m = A.m
        call(f, x())

    agrees(program, 4)


def test_class_of_an_instance_changed():
    def program(call):
        class A:
            v = 1

        class B:
            v = 2

        o = A()

        def f(x):
            return x * o.v

        call(f, x())
        o.__class__ = B
        call(f, x())
        o.__class__ = A
        call(f, x())

    agrees(program, 2)


def test_metaclass_attributes():
    def program(call):
        class Meta(type):
            flag = 3

            @property
            def special(cls):
                return cls.flag * 2

            def __call__(cls, *args):
                return type.__call__(cls, *args)

        class C(metaclass=Meta):
            pass

        def f(x):
            return x * C.flag

        def g(x):
            return x * C.special

        for change in (
            lambda: None,
            lambda: setattr(Meta, "flag", 4),
            lambda: setattr(C, "flag", 5),
            lambda: delattr(C, "flag"),
        ):
            change()
            call(f, x())
            call(g, x())

    agrees(program)


def test_class_names():
    def program(call):
        class C:
            "text"

        o = C()

        def f(x):
            return x + 1, C.__name__, type(o).__name__, C.__doc__, C.__module__, C.__qualname__

        call(f, x())
        call(f, x())
        C.__name__ = "Renamed"
        call(f, x())
        C.__module__ = "elsewhere"
        call(f, x())
        C.__qualname__ = "Outer.C"
        call(f, x())
        C.__doc__ = "other"
        call(f, x())

    agrees(program, 5)


def test_instance_attributes():
    def program(call):
        class C:
            __slots__ = ("a", "__dict__")
            fallback = 9

        def f(x, o):
            return x * getattr(o, "a", 1) * getattr(o, "b", 2) * o.fallback

        o = C()
        for change in (
            lambda: None,
            lambda: setattr(o, "a", 3),
            lambda: setattr(o, "b", 4),
            lambda: setattr(o, "fallback", 5),
            lambda: delattr(o, "a"),
            lambda: delattr(o, "fallback"),
            lambda: setattr(o, "__dict__", {"b": 8}),
            lambda: vars(o).update(fallback=2),
        ):
            change()
            call(f, x(), o)
            call(f, x(), o)

    agrees(program)


def test_untouched_attribute_vanishes():
    def program(call):
        class C:
            pass

        o = C()
        o.v = [1]

        def f(x):
            return x + 1, o.v

        call(f, x())
        C.v = property(lambda self: "from the class")
        call(f, x())
        del C.v
        call(f, x())
        del o.v
        call(f, x())
        C.v = "class"
        call(f, x())

    agrees(program)


def test_untouched_class_attribute_becomes_a_property():
    def program(call):
        class C:
            v = [1]

        o = C()

        def f(x):
            return x + 1, o.v

        call(f, x())
        C.v = property(lambda self: "property")
        call(f, x())
        C.v = lambda self: 3
        assert call(f, x())[1].__self__ is o

    agrees(program)


def test_untouched_item_vanishes():
    def program(call):
        d = {"a": [1], "b": [2]}

        def f(x):
            return x + 1, d["a"]

        call(f, x())
        d["a"] = [5]
        call(f, x())
        del d["a"]
        call(f, x())

    agrees(program)


def test_enum_members():
    def program(call):
        class Color(enum.Enum):
            RED = 1
            BLUE = 2

        def f(x, c):
            return x * c.value if c is Color.RED else x - c.value

        for c in (Color.RED, Color.RED, Color.BLUE, Color.BLUE, Color.RED):
            call(f, x(), c)

        def g(x):
            return x * Color.RED.value, Color.BLUE, Color(2), Color["RED"]

        call(g, x())
        call(g, x())

    agrees(program, 3)

"""What classes, their members and their descriptors show may change between two calls."""

import abc
import collections
import enum
import sys
import types
import typing

import pytest

import minidynamo as torch
from guards.changing import agrees


def x():
    return torch.tensor([1.0, 2.0])


def with_changes(make, frames, repeat=2):
    """`make()` gives the traced function, its further arguments and the changes."""

    def program(call):
        f, args, *changes = make()
        for change in (lambda: None, *changes):
            change()
            for _ in range(repeat):
                call(f, x(), *args)

    agrees(program, frames)


def sets(owner, name, value):
    return lambda: setattr(owner, name, value)


@pytest.mark.parametrize("kind", [enum.Enum, enum.IntEnum, enum.Flag])
@pytest.mark.parametrize("as_argument", [False, True])
def test_member_of_an_enumeration(kind, as_argument):
    def make():
        E = kind("E", {"A": 1, "B": 2})
        changes = sets(E.A, "_value_", 4), sets(E.A, "_name_", "Z"), sets(E.B, "_value_", 9)
        if as_argument:
            return (lambda x, e: (x * e.value, e.name)), (E.A,), *changes
        return (lambda x: (x * E.A.value, E.A.name)), (), *changes

    with_changes(make, 2)


def test_value_that_the_program_computes():
    def make():
        class E(enum.Enum):
            A = 1.0

            @property
            def value(self):
                return self._value_ + 1

            @types.DynamicClassAttribute
            def name(self):
                return "own " + self._name_

        return (lambda x: (x * E.A.value, E.A.name)), (), sets(E.A, "_value_", 4.0), sets(E.A, "_name_", "Z")

    with_changes(make, None)


def plain_named():
    return collections.namedtuple("N", "a b", defaults=(2.0,))


def typed_named():
    class N(typing.NamedTuple):
        a: float
        b: float = 2.0

    return N


def named_below():
    class Below(typed_named()):
        __slots__ = ()

    return Below


@pytest.mark.parametrize("named", [plain_named, typed_named, named_below])
def test_constructor_of_a_named_tuple(named):
    def make():
        N = named()
        new = N.__new__
        return (
            lambda x: (x * N(1.0)[1], N(b=x, a=3), N(1.0)),
            (),
            sets(new, "__defaults__", (5.0,)),
            sets(new, "__code__", (lambda _cls, a, b: (a, b * 7, a)).__code__),
        )

    with_changes(make, None)


@pytest.mark.parametrize("named", [plain_named, typed_named, named_below])
def test_field_of_a_named_tuple(named):
    def make():
        N = named()
        owner = N.__mro__[-3]
        item = owner.__dict__["a"]
        return (
            lambda x, n: (x * n.a, x * N(3.0).a),
            (N(1.0),),
            sets(owner, "a", property(lambda self: 9.0)),
            sets(owner, "a", 5.0),
            sets(owner, "a", item),
            sets(owner, "a", owner.__dict__["b"]),
            lambda: delattr(owner, "a"),
        )

    with_changes(make, None)


def test_arguments_a_named_tuple_refuses():
    N = collections.namedtuple("N", "a b")

    def program(call):
        call(lambda x: N(x), x())
        call(lambda x: N(x, x, x), x())
        call(lambda x: N(x, c=x), x())
        call(lambda x: N(x, a=x), x())
        call(lambda x: N(*(x, x)), x())

    agrees(program)


def classes():
    class A:
        k = 1.0

    class B:
        k = 2.0

    class C(A, B):
        pass

    return A, B, C


READS = {
    "bases": lambda C: lambda x: x * C.__bases__[0].k,
    "mro": lambda C: lambda x: x * C.__mro__[1].k,
    "instance": lambda C: lambda x: (x + 1, type(C()).__mro__[1]),
    "loop": lambda C: lambda x: [x * c.k for c in C.__mro__[:-1]],
    "length": lambda C: lambda x: x + len(C.__bases__),
    "whole": lambda C: lambda x: (x + 1, C.__mro__, C.__bases__ is C.__bases__),
}


@pytest.mark.parametrize("read", READS)
def test_bases(read):
    def make():
        A, B, C = classes()
        return (
            READS[read](C),
            (),
            sets(C, "__bases__", (B, A)),
            sets(A, "k", 5.0),
            sets(C, "__bases__", (A,)),
            sets(C, "__bases__", (A, B)),
        )

    with_changes(make, None, repeat=4)


def test_classes_change_and_their_bases_do_not():
    def make():
        A, B, C = classes()
        return (lambda x: x * C.__bases__[0].k), (), sets(C, "other", 3), sets(B, "other", 3)

    with_changes(make, 1)


def descriptors():
    class Reads:
        def __get__(self, instance, owner):
            return 5.0

    class Silent:
        number = 3.0

    class C:
        k = Reads()
        other = Silent()

    return C, Reads, Silent


def test_descriptor_learns_to_store():
    def make():
        C, Reads, _ = descriptors()
        made = C()
        made.__dict__["k"] = 1.0
        learn = sets(Reads, "__set__", lambda self, instance, value: None)
        delete = sets(Reads, "__delete__", lambda self, instance: None)
        changes = learn, lambda: delattr(Reads, "__set__"), delete, lambda: delattr(Reads, "__delete__")
        return (lambda x, made: x * made.k), (made,), *changes, sets(C, "k", 7.0)

    with_changes(make, None)


def test_attribute_learns_to_store():
    def make():
        C, _, Silent = descriptors()
        made = C()
        made.other = 2.0
        changes = sets(Silent, "__set__", lambda self, instance, value: None), sets(Silent, "__get__", lambda *_: 8.0)
        return (lambda x, made: x * made.other if isinstance(made.other, float) else x), (made,), *changes

    with_changes(make, None)


@pytest.mark.parametrize("of_class", [False, True])
def test_attribute_becomes_a_descriptor(of_class):
    def make():
        C, _, Silent = descriptors()
        owner = C if of_class else C()

        def f(x):
            return x * owner.other.number if isinstance(owner.other, Silent) else x - owner.other

        return f, (), sets(Silent, "__get__", lambda *_: 6.0), lambda: delattr(Silent, "__get__")

    with_changes(make, None)


def test_class_becomes_abstract():
    def make():
        class Abstract(abc.ABC):  # noqa: B024  that is the question
            number = 2.0

        class Plain:
            number = 3.0

        changes = [sets(c, "__abstractmethods__", s) for c in (Abstract, Plain) for s in ({"run"}, set())]
        return (lambda x: (x * Abstract().number, x * Plain().number)), (), *changes

    with_changes(make, None)


TEXTS = {
    "str": lambda e: str(e),
    "repr": lambda e: repr(e),
    "format": lambda e: f"{e}",
    "conversion": lambda e: f"{e!r:>20}",
}


@pytest.mark.parametrize("text", TEXTS)
def test_text_of_a_member(text):
    def make():
        E = enum.Enum("E", {"A": 1.5, "B": 2.5})
        write = TEXTS[text]
        changes = sets(E.A, "_value_", 9.5), sets(E.A, "_name_", "Z"), sets(E, "__str__", lambda self: "own")
        more = sets(E, "__repr__", lambda self: "own repr"), sets(E, "__format__", lambda self, spec: "own format")
        return (lambda x: (x + 1, write(E.A))), (), *changes, *more

    with_changes(make, None)


def test_members_found():
    def make():
        E = enum.Enum("E", {"A": 1.5, "B": 2.5})

        def f(x):
            return x * E["A"].value, x * E(2.5).value, x * E.A.value, {E.A: 1}.get(E["A"])

        def put(table, key, member):
            return lambda: table.__setitem__(key, member)

        names, values = E._member_map_, E._value2member_map_
        changes = put(names, "A", E.B), put(values, 2.5, E.A), lambda: names.pop("A"), put(names, "A", E.A)
        return f, (), *changes, put(names, "Z", E.A)

    with_changes(make, None)


def test_import_of_what_was_replaced(monkeypatch):
    def module(name, number):
        made = types.ModuleType(name)
        made.number = number
        return made

    def make():
        monkeypatch.setitem(sys.modules, "replaced_package", module("other", 1.0))
        monkeypatch.setitem(sys.modules, "replaced_package.part", module("another", 2.0))

        def f(x):
            import replaced_package
            import replaced_package.part
            from replaced_package.part import number

            return x * replaced_package.number - number

        def put(name, value):
            return lambda: sys.modules.__setitem__(name, value)

        return (
            f,
            (),
            put("replaced_package", module("third", 3.0)),
            put("replaced_package.part", module("replaced_package.part", 5.0)),
            put("replaced_package.part", None),
            put("replaced_package.part", module("part", 6.0)),
            put("replaced_package", types.SimpleNamespace(number=7.0)),
            lambda: sys.modules.pop("replaced_package"),
        )

    with_changes(make, None)

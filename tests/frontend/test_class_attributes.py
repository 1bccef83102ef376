"""Attributes that `type` answers for a class, against what its namespace, its bases and its metaclass hold under the
same names: compiled as plain."""

import abc
import enum
import functools
import itertools
import types

import pytest

import minidynamo as torch

NAMES = (
    "__dict__ __mro__ __name__ __qualname__ __module__ __doc__ __bases__ __base__ __annotations__ "
    "__abstractmethods__ __basicsize__ __itemsize__ __dictoffset__ __weakrefoffset__ __flags__ __type_params__ "
    "__class__ __subclasses__ mro __text_signature__ other"
).split()


class Stores:
    """A descriptor that gives and stores."""

    def __get__(self, instance, owner=None):
        return ("stores", instance is None, getattr(owner, "marker", None))

    def __set__(self, instance, value):
        raise AttributeError("read only")


class Gives:
    def __get__(self, instance, owner=None):
        return ("gives", instance is None, getattr(owner, "marker", None))


SHADOWS = {
    "value": lambda: "shadow",
    "property": lambda: property(lambda self: "from a property"),
    "stores": Stores,
    "gives": Gives,
    "function": lambda: lambda *args: ("called", len(args)),
}
# What a class body may not hold under these names.
REFUSED_IN_A_BODY = {"__qualname__", "__class__"}
MUST_CALL = {"__subclasses__", "mro"}  # type calls them, or finds nothing to call


def shadowing(name, kind, where):
    """A class with another thing under `name`: in its own namespace, in a base's, or in its metaclass's."""
    space = {name: SHADOWS[kind](), "marker": "here"}
    if where == "metaclass":
        return type("Meta", (type,), space)("Shadowed", (), {"marker": "there"})
    base = type("Shadowed", (), space)
    return base if where == "own" else type("Below", (base,), {})


@functools.lru_cache(None)
def reader(name):
    scope = {}
    exec(f"def read(x, k):\n    return x + 1, k.{name}\n", scope)
    return scope["read"]


def shown(thing):
    return (
        type(thing).__name__,
        repr(thing).split(" at 0x")[0],
        isinstance(thing, types.MappingProxyType) and sorted(thing),
    )


def outcome(f, *args):
    try:
        return shown(f(torch.ones(2), *args)[1])
    except Exception as e:
        return type(e).__name__, str(e)


def agree(name, cls):
    f = reader(name)
    plain = outcome(f, cls)
    for more in (False, True):
        torch._dynamo.reset()
        with torch._dynamo.config.patch(trace_more=more):
            compiled = torch.compile(f, backend="eager")
            assert outcome(compiled, cls) == plain, (name, more)
            assert outcome(compiled, cls) == plain, (name, more, "again")


def can_be_made(name, kind, where):
    """Whether Python makes such a class at all."""
    if name in REFUSED_IN_A_BODY and where != "metaclass":
        return False
    if name in MUST_CALL and (where == "metaclass" or kind != "function"):
        return False
    try:
        shadowing(name, kind, where)
    except TypeError:
        return False
    return True


SHADOWED = [case for case in itertools.product(NAMES, SHADOWS, ("own", "base", "metaclass")) if can_be_made(*case)]


def test_nearly_all_classes_can_be_made():
    assert len(SHADOWED) > 0.8 * len(NAMES) * len(SHADOWS) * 3


@pytest.mark.parametrize("name, kind, where", SHADOWED)
def test_shadows(name, kind, where):
    agree(name, shadowing(name, kind, where))


class WithSlot:
    __slots__ = ("a", "__dict__")


class Abstract(abc.ABC):
    @abc.abstractmethod
    def run(self): ...


class Colour(enum.Enum):
    RED = 1


class Annotated:
    """Documented."""

    x: int = 3


class Below(Annotated):
    pass


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "cls",
    [object, type, types.ModuleType, types.FunctionType, BaseException, functools.partial, types.SimpleNamespace, int]
    + [WithSlot, Abstract, Colour, Annotated, Below],
    ids=lambda c: c.__name__,
)
def test_without_shadows(name, cls):
    agree(name, cls)


def test_bases_that_change():
    class A: ...

    class B: ...

    class C(A): ...

    def f(x, k):
        return x + 1, k.__base__, k.__bases__, k.__mro__

    compiled = torch.compile(f, backend="eager")
    assert compiled(torch.ones(1), C)[1:] == (A, (A,), C.__mro__)
    C.__bases__ = (B,)
    assert compiled(torch.ones(1), C)[1:] == (B, (B,), C.__mro__)


def test_a_metaclass_that_learns_to_store():
    class Gives:
        def __get__(self, instance, owner):
            return "metaclass"

    class Meta(type):
        attribute = Gives()

    class K(metaclass=Meta):
        attribute = "class"

    def f(x, k):
        return x + 1, k.attribute

    compiled = torch.compile(f, backend="eager")
    assert compiled(torch.ones(1), K)[1] == f(torch.ones(1), K)[1] == "class"
    Gives.__set__ = lambda self, instance, value: None
    assert compiled(torch.ones(1), K)[1] == f(torch.ones(1), K)[1] == "metaclass"


@pytest.mark.parametrize("kind", SHADOWS)
def test_instances(kind):
    cls = type("Owner", (), {"__dict__": SHADOWS[kind](), "marker": "here"})
    agree("__dict__", cls())


def test_a_metaclass_named_like_an_enumeration():
    class EnumMeta(type):
        __members__ = {"a": 1}

        def __getattr__(cls, name):
            return "looked up " + name

    class NotOne(metaclass=EnumMeta):
        def __init__(self, n):
            self.n = n

    def f(x, o):
        return x * o.n, type(o).__members__

    torch._dynamo.reset()
    before = torch._dynamo.utils.counters["frames"]["total"]
    compiled = torch.compile(f, backend="eager")
    for n in (1, 2, 3):
        assert compiled(torch.ones(1), NotOne(n)) == f(torch.ones(1), NotOne(n))
    assert torch._dynamo.utils.counters["frames"]["total"] - before <= 3

"""What the tests of pure-Python packages do most often: types as values, weak references, stores to exceptions."""

import enum
import functools
import gc
import io
import re
import sys
import threading
import types
import typing
import weakref

import pytest

import minidynamo as torch

LIST, DICT, UNION, OLD_LIST = list[int], dict[str, int], int | None, typing.List[int]  # noqa: UP006


class Generic:
    number = 4
    __class_getitem__ = classmethod(types.GenericAlias)


class Failure(Exception):
    code = 3

    def __init__(self, text):
        super().__init__(text)
        self.n = len(text)


class Labelled(tuple):
    @property
    def width(self):
        return self.n

    @width.setter
    def width(self, v):
        self.n = v


class Named:
    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"<Named {self.n}>"


class Text(str):
    pass


class Stream(io.BytesIO):
    pass


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Thing:
    pass


THING, FAILURE, LABELLED, STREAM = Thing(), Failure("abcd"), Labelled((1, 2)), Stream(b"1")
REFERENCE, SPACES, TEXT = weakref.ref(THING), re.compile(r"\s"), Text("a b c")


def three():
    return 3


def three_more(n):
    return n + 3


@functools.cache
def applied(f, n):
    return f(n)


@functools.lru_cache
def value_of(member):
    return member.value


def missing_of_an_alias(x):
    return x + (1 if getattr(LIST, "__typing_subst__", None) else 2)


def an_alias_asks_its_class(x):
    return x + Generic[int].number


def types_are_compared(x):
    same = [LIST == other for other in (list[int], DICT, list, UNION, OLD_LIST, typing.Any)] + [UNION == (int | None)]
    return x + sum(k * s for k, s in enumerate(same, 1))


def types_are_written(x):
    return x + len(repr(LIST)) + len(f"{UNION}")


def types_are_hashed(x):
    return x + (hash(LIST) == hash(list[int])) + (hash(frozenset({int, OLD_LIST})) % 1000)


def sets_are_hashed(x):
    return x + hash(frozenset({THING, 3})) % 1000 + hash(frozenset()) % 7


def types_are_made(x):
    made = typing.Dict[str, typing.Callable[[int], OLD_LIST]]  # noqa: UP006
    return x + len(made.__args__) + (typing.Union[int, str] == typing.Union[str, int])  # noqa: UP007


def stores_to_an_exception(x):
    FAILURE.a = 5
    FAILURE.b = FAILURE.a + 1
    del FAILURE.a
    FAILURE.n += 1
    FAILURE.n -= 1
    try:
        n = FAILURE.a
    except AttributeError:
        FAILURE.b += 1
    n = FAILURE.b + FAILURE.n + FAILURE.code
    del FAILURE.b
    return x + n


def stores_by_a_property(x):
    LABELLED.n = 4
    LABELLED.width = LABELLED.n + 1
    return x + LABELLED.n + LABELLED.width


def stores_to_a_stream(x):
    STREAM.q = 3
    return x + STREAM.q


def call_of_a_function(x):
    def local(y):
        return y + 1

    return local.__call__(x) + three.__call__() + callable(three.__call__)


def reference_to_a_global(x):
    return x + (weakref.ref(THING)() is THING)


def references_are_one(x):
    local = Thing()
    first, second = weakref.ref(local), weakref.ref(local)
    return x + (first is second) + (first == second) + (weakref.ref(THING) is REFERENCE)


def constructor_of_none(x):
    return x + (None.__new__ in {object.__new__, None.__new__}) + (None.__new__ is object.__new__)


def missing_in_a_list(x):
    try:
        return x + [1, 2].index(Named(3))
    except ValueError as e:
        return x + len(str(e))


def cached_call_with_functions(x):
    return x + applied(three_more, 1) + applied(lambda n: n * 2, 3) + applied(Named, 5).n


def cached_call_with_members(x):
    return x + value_of(Colour.RED) + value_of(Level.LOW)


def characters_of_a_subclass(x):
    return x + len(SPACES.findall(TEXT)) + "a b c d".startswith(TEXT) + len(SPACES.split(TEXT))


PROGRAMS = [
    f for f in list(vars().values()) if isinstance(f, types.FunctionType) and f.__code__.co_varnames[:1] == ("x",)
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_is_traced_whole(f):
    x = torch.ones(2)
    expected = f(x).tolist()
    compiled = torch.compile(f, backend="eager", fullgraph=True)
    assert compiled(x).tolist() == expected
    assert vars(FAILURE) == {"n": 4} or f is not stores_to_an_exception


def test_a_reference_to_what_is_dropped_is_plain_pythons():
    def f(kept):
        r = weakref.ref(kept.pop())
        return r()

    compiled = torch.compile(f, backend="eager")
    assert compiled([Thing()]) is None
    assert compiled([Thing(), THING]) is THING


def test_stores_to_two_exceptions_that_may_be_one():
    def f(a, b):
        a.n, b.n = 1, 2
        return a.n

    compiled = torch.compile(f, backend="eager")
    first, second = Failure("a"), Failure("b")
    assert (compiled(first, second), compiled(first, first), compiled(second, first)) == (1, 2, 1)
    assert (first.n, second.n) == (2, 1)


def test_a_class_that_learns_to_store():
    class Late(Exception):
        pass

    def f(e):
        e.n = 1
        return e.n

    compiled = torch.compile(f, backend="eager")
    assert compiled(Late()) == 1
    Late.n = property(lambda self: 7, lambda self, v: None)
    assert compiled(Late()) == 7


def passing_module():
    made = types.ModuleType("passing")
    sys.modules["passing"] = made  # as while it is imported
    made.name, made.root, made.marker = "n", three, Thing()
    return made


def reads_the_dictionary(module):
    return len(module.__dict__["name"])


def stores_an_attribute(module):
    module.other = 3


@pytest.mark.parametrize("f", [reads_the_dictionary, stores_an_attribute], ids=lambda f: f.__name__)
def test_compiled_code_keeps_no_namespace(f):
    compiled = torch.compile(f, backend="eager")
    for _ in range(2):
        module = passing_module()
        marker = weakref.ref(module.marker)
        assert compiled(module) == f(module)
        assert vars(module).get("other", 3) == 3
        del module, sys.modules["passing"]
        gc.collect()
        assert marker() is None


class Local(threading.local):
    shared = 5


LOCAL = Local()


def test_what_a_thread_keeps_in_a_class_of_its_own():
    def f(x):
        LOCAL.runner = LOCAL.shared + 1
        LOCAL.shared = 2
        missing = hasattr(LOCAL, "task")
        n = LOCAL.runner + LOCAL.shared + missing
        del LOCAL.shared
        return x + n + LOCAL.shared

    compiled = torch.compile(f, backend="eager", fullgraph=True)
    assert compiled(torch.ones(2)).tolist() == f(torch.ones(2)).tolist() == [14.0, 14.0]
    seen = []
    thread = threading.Thread(target=lambda: seen.append(compiled(torch.ones(2)).tolist()))
    thread.start(), thread.join()
    assert seen == [[14.0, 14.0]] and vars(LOCAL) == {"runner": 6}


class RemembersItsHash(tuple):
    _hash = None

    def __hash__(self):
        if self._hash is None:
            self._hash = tuple.__hash__(self)
        return self._hash


KEY = RemembersItsHash((1, 2))


def test_a_key_that_remembers_its_hash():
    def f(x):
        held = {RemembersItsHash((1, 2)): 3, KEY: 4}
        return x + held[KEY] + len(held)

    assert torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1)).tolist() == [6.0]
    assert vars(KEY) == {"_hash": hash((1, 2))}


def test_whether_a_stream_is_closed():
    def f(stream):
        return stream.closed, hasattr(stream, "encoding"), hasattr(stream, "flavour")

    class Raw(io.RawIOBase):
        closed = property(lambda self: asked.append(1))

        def readable(self):
            return True

    compiled, asked = torch.compile(f, backend="eager"), []
    for make in (io.BytesIO, io.StringIO, lambda: io.TextIOWrapper(io.BytesIO())):
        stream = make()
        for _ in range(2):
            assert compiled(stream) == f(stream)
            stream.close()
    stream = io.BufferedReader(Raw())
    asked.clear()
    assert compiled(stream) == (None, False, False)
    assert asked == [1]


OTHER = Thing()
BY_MEMBERS = {frozenset({THING, OTHER}): 3, frozenset({1}): 4}


class CallsASlot:
    __slots__ = ("__call__", "__len__")

    def __init__(self, f):
        self.__call__ = f


SLOT = CallsASlot(lambda y: y + 3)


def test_frozensets_of_objects_are_keys():
    def f(x):
        made = {frozenset({THING, int}): 1}
        made[frozenset({int, THING})] = 2
        return x + BY_MEMBERS[frozenset({OTHER, THING})] + BY_MEMBERS[frozenset({1})] + len(made)

    assert torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1)).tolist() == [9.0]


def test_special_methods_in_slots_are_the_instances_own():
    def f(x):
        try:
            n = len(SLOT)
        except AttributeError:
            n = 10
        return SLOT(x) + CallsASlot(lambda y: y * 2)(x) + n

    assert torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1)).tolist() == [16.0]


class KeyedReference(weakref.ref):
    __slots__ = ("key", "other")


KEYED = KeyedReference(THING)


def test_stores_to_slots_below_classes_in_c():
    def f(x):
        KEYED.key = 5
        KEYED.other = KEYED.key + 2
        n = KEYED.other
        del KEYED.other
        try:
            n = KEYED.other
        except AttributeError:
            n += 1
        return x + n + KEYED.key

    assert torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1)).tolist() == [14.0]
    assert KEYED.key == 5 and not hasattr(KEYED, "other")

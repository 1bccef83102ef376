"""Sources: their spelling, and loading by raw look-ups that never run user code."""

import builtins
import collections
import functools
import types

import pytest

from guards.programs import local, run
from minidynamo import _C

name, load, program = _C._guards.source_name, _C._guards.load, _C._guards.compile
X = local()


def get(source, *arguments, scope=None):
    scope = {} if scope is None else scope
    return load(source, arguments, scope, builtins.__dict__)


@pytest.mark.parametrize(
    "source, text",
    [
        (X, "L['x']"),
        (("global", "cfg"), "G['cfg']"),
        (("attr", ("global", "cfg"), "k"), "G['cfg'].k"),
        (("dict_item", ("dict_item", X, "d"), "a"), "L['x']['d']['a']"),
        (("dict_item", X, 3), "L['x'][3]"),
        (("dict_item", X, (1, "b")), "L['x'][(1, 'b')]"),
        (("item", X, 0), "L['x'][0]"),
        (("default", X, 0), "L['x'].__defaults__[0]"),
        (("kwdefault", X, "k"), "L['x'].__kwdefaults__['k']"),
        (("cell_contents", ("closure", X, 0)), "L['x'].__closure__[0].cell_contents"),
        (("cell_contents", ("free", 2, "n")), "L['n']"),
        (("type_of", X), "type(L['x'])"),
        (("type_attr", X, "m"), "dict(type(L['x']).__dict__)['m']"),
        (("class_attr", X, "m"), "dict(L['x'].__dict__)['m']"),
        (("field", X, "__name__"), "L['x'].__name__"),
        (("instance_dict", X, "v"), "L['x'].__dict__['v']"),
        (("builtin", "len"), "G['__builtins_dict___0']['len']"),
        (("dict_key", X, 1), "list(dict.keys(L['x']))[1]"),
        (("code", X), "L['x'].__code__"),
        (("method_self", X), "L['x'].__self__"),
        (("method_func", X), "L['x'].__func__"),
        (("partial_keywords", X), "L['x'].keywords"),
        (("range_field", X, "stop"), "L['x'].stop"),
        (("module_global", X, "v"), "L['x'].__globals__['v']"),
        (("constant", 5, "G['__import_a_dot_b']"), "G['__import_a_dot_b']"),
    ],
)
def test_names_are_spelled_as_the_reference_does(source, text):
    assert name(source) == text


class Base:
    inherited = "i"
    shadowed = "class"

    def method(self):
        return 1


class Thing(Base):
    __slots__ = ("slot",)


class Slotted:
    __slots__ = ("a", "b")


def make_function():
    captured = 7

    def fn(a, b=2, *, k=3):
        return captured

    return fn


def test_attributes():
    t = Thing()
    t.slot, t.v, t.shadowed = 1, 2, "own"
    for o in (t,):
        assert get(("attr", X, "slot"), o) == (1,)
        assert get(("attr", X, "v"), o) == (2,)
        assert get(("attr", X, "shadowed"), o) == ("own",)
        assert get(("attr", X, "inherited"), o) == ("i",)
        assert get(("attr", X, "method"), o) == (Base.method,)
        assert get(("attr", X, "nothing"), o) is None
        assert get(("instance_dict", X, "v"), o) == (2,)
        assert get(("instance_dict", X, "inherited"), o) is None
        assert get(("type_attr", X, "shadowed"), o) == ("class",)
    vars(t)["late"] = 5
    assert get(("attr", X, "late"), t) == (5,)
    s = Slotted()
    s.a = 1
    assert get(("attr", X, "a"), s) == (1,)
    assert get(("attr", X, "b"), s) is None


def test_classes_and_modules():
    assert get(("attr", X, "inherited"), Thing) == ("i",)
    assert get(("attr", X, "slot"), types.ModuleType("m")) is None
    assert get(("attr", X, "OrderedDict"), collections) == (collections.OrderedDict,)
    assert get(("attr", X, "__name__"), collections) == ("collections",)
    assert get(("type_of", X), 3) == (int,)


def test_what_no_dictionary_holds():
    fn = make_function()
    assert get(("field", X, "__name__"), fn) == ("fn",)
    assert get(("field", X, "__defaults__"), fn) == ((2,),)
    assert get(("field", X, "__kwdefaults__"), fn) == ({"k": 3},)
    assert get(("field", X, "__doc__"), fn) == (None,)
    assert get(("field", X, "__module__"), fn) == (__name__,)
    assert get(("field", X, "__qualname__"), Thing) == ("Thing",)
    assert get(("field", X, "__name__"), int) is None, "nobody can rename it"
    assert get(("field", X, "__name__"), 3) is None


def test_the_mro_of_a_class():
    class Meta(type):
        above = 1

    class C(Base, metaclass=Meta):
        own = 2

    assert get(("class_attr", X, "own"), C) == (2,)
    assert get(("class_attr", X, "inherited"), C) == ("i",)
    assert get(("class_attr", X, "method"), C) == (Base.method,)
    assert get(("class_attr", X, "above"), C) is None
    assert get(("class_attr", X, "own"), C()) is None


def test_containers():
    class L(list):
        def __getitem__(self, i):
            raise AssertionError

    class D(dict):
        def __getitem__(self, i):
            raise AssertionError

    assert get(("item", X, 1), L([1, 2])) == (2,)
    assert get(("item", X, 2), L([1, 2])) is None
    assert get(("item", X, 0), collections.namedtuple("P", "a")(5)) == (5,)
    assert get(("item", X, 1), collections.deque([1, 2])) == (2,)
    assert get(("item", X, 0), {0: 1}) is None
    assert get(("dict_item", X, 1), D({1: 5, "a": 6})) == (5,)
    assert get(("dict_item", X, "b"), D({1: 5, "a": 6})) is None
    assert get(("dict_key", X, 1), {"a": 1, "b": 2}) == ("b",)
    ordered = collections.OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    assert get(("dict_key", X, 1), ordered) == ("a",)
    assert get(("dict_key", X, 2), ordered) is None


def test_functions_methods_partials_ranges():
    fn = make_function()
    assert get(("code", X), fn) == (fn.__code__,)
    assert get(("default", X, 0), fn) == (2,)
    assert get(("default", X, 1), fn) is None
    assert get(("kwdefault", X, "k"), fn) == (3,)
    assert get(("cell_contents", ("closure", X, 0)), fn) == (7,)
    assert get(("module_global", X, "Thing"), fn) == (Thing,)
    b = Thing()
    assert get(("method_self", X), b.method) == (b,)
    assert get(("method_func", X), b.method) == (Base.method,)
    p = functools.partial(fn, 1, k=4)
    assert get(("partial_func", X), p) == (fn,)
    assert get(("partial_args", X), p) == ((1,),)
    assert get(("partial_keywords", X), p) == ({"k": 4},)
    assert get(("partial_func", X), fn) is None
    assert get(("range_field", X, "stop"), range(1, 7, 2)) == (7,)
    assert get(("range_field", X, "step"), slice(1, 7)) == (None,)
    assert get(("range_field", X, "step"), 5) is None


def test_cells_and_unbound_slots():
    cell = types.CellType(4)
    assert get(("cell_contents", ("free", 0, "n")), cell) == (4,)
    assert get(("cell_contents", ("free", 0, "n")), types.CellType()) is None
    assert get(X, ...) is None
    p = program([(X, "NoneMatch", None)])
    assert run(p, ...) == (False, "x is unbound")


def test_globals_and_builtins():
    assert get(("global", "g"), scope={"g": 1}) == (1,)
    assert get(("global", "len"), scope={}) is None
    assert get(("builtin", "len")) == (len,)


class Hostile:
    """Any code of this class that runs is an error."""

    armed = False

    def __eq__(self, other):
        assert not Hostile.armed
        return NotImplemented

    def __hash__(self):
        assert not Hostile.armed
        return hash("a")

    def __getattribute__(self, name):
        assert not Hostile.armed
        return object.__getattribute__(self, name)

    def __getattr__(self, name):
        raise AssertionError

    def __len__(self):
        raise AssertionError

    def __bool__(self):
        raise AssertionError


@pytest.fixture
def armed():
    Hostile.armed = True
    yield
    Hostile.armed = False


def test_no_user_code_runs():
    h = Hostile()
    hostile_key = {h: 1, "b": 2}
    both = {"a": 5, h: 1}
    hostile_set = {h, "b"}
    guards = [
        (("attr", X, "q"), "EqualsMatch", 1),
        (("dict_item", X, "a"), "EqualsMatch", 5),
        (X, "DictContains", "a"),
        (X, "DictNotContains", "a"),
        (X, "SetContains", "a"),
        (X, "SetNotContains", "a"),
        (X, "SetMatch", frozenset({"a", "b"})),
        (X, "DictKeyOrder", ("a", "b")),
        (X, "NoHasattr", "q"),
        (X, "Hasattr", "q"),
        (X, "EqualsMatch", (1, "a")),
        (X, "LengthCheck", 1),
        (X, "DictLength", 2),
        (X, "TrueMatch", None),
        (X, "Nan", None),
    ]
    programs = [program([g]) for g in guards]
    arguments = [h, hostile_key, both, hostile_set, (1, h), [h]]
    Hostile.armed = True
    try:
        results = [[run(p, a)[0] for a in arguments] for p in programs]
    finally:
        Hostile.armed = False
    # A key only user code can compare makes presence and absence both unknown: neither guard passes.
    assert results[2][1] is False and results[3][1] is False
    # "a" is found before the hostile key is met.
    assert results[1][2] is True


def test_overridden_attribute_protocol_hides_everything():
    class Odd:
        def __getattribute__(self, name):
            raise AssertionError

    o = Odd()
    object.__setattr__(o, "v", 1)
    assert get(("attr", X, "v"), o) is None
    # but the stored attribute can still be reached when asked for as such
    assert get(("instance_dict", X, "v"), o) == (1,)


def test_descriptors_are_not_run():
    class WithProperty:
        @property
        def p(self):
            raise AssertionError

    assert get(("attr", X, "p"), WithProperty()) is None
    assert get(("type_attr", X, "p"), WithProperty()) == (WithProperty.p,)


# --- look-ups skipped by version must not miss a store ----------------------------------------------------------------


def stores(d, key):
    yield lambda: d.__setitem__(key, 2)
    yield lambda: d.update({key: 3})
    yield lambda: d.pop(key)
    yield lambda: d.setdefault(key, 4)
    yield lambda: d.clear()
    yield lambda: d.update(zip([key, "z"], [5, 6]))


def test_every_store_into_a_dict_is_seen():
    d = {"k": 1}
    scope = d
    in_dict = ("dict_item", X, "k")
    for value_of in (lambda: get(in_dict, d), lambda: get(("global", "k"), scope=scope)):
        assert value_of is not None
    p = program([(in_dict, "IdMatch", 1)])
    g = program([(("global", "k"), "IdMatch", 1)])
    assert run(p, d)[0] and run(g, scope=scope)[0]
    for store in stores(d, "k"):
        store()
        assert run(p, d)[0] == (d.get("k") == 1) and run(g, scope=scope)[0] == (d.get("k") == 1)
        d["k"] = 1
        assert run(p, d)[0] and run(g, scope=scope)[0]


def test_one_program_over_alternating_dicts_and_modules():
    p = program([(("attr", X, "v"), "EqualsMatch", 1)])
    modules = [types.ModuleType("a"), types.ModuleType("b"), types.SimpleNamespace()]
    for i, m in enumerate(modules):
        m.v = i
    for _ in range(5):
        assert [run(p, m)[0] for m in modules] == [False, True, False]
    modules[0].v, modules[1].v = 1, 0
    assert [run(p, m)[0] for m in modules] == [True, False, False]
    del modules[0].v
    assert not run(p, modules[0])[0]


def test_class_changes_are_seen():
    class A:
        v = 1

    class B(A):
        pass

    p = program([(("attr", X, "v"), "EqualsMatch", 1)])
    o = B()
    assert run(p, o)[0]
    A.v = 2
    assert not run(p, o)[0]
    A.v = 1
    assert run(p, o)[0]
    B.v = property(lambda self: 1)
    assert not run(p, o)[0]
    del B.v
    assert run(p, o)[0]
    o.v = 3
    assert not run(p, o)[0]
    vars(o)["v"] = 1
    assert run(p, o)[0]
    o.__dict__ = {"v": 9}
    assert not run(p, o)[0]
    B.__getattribute__ = lambda self, name: 1
    assert not run(p, B())[0]

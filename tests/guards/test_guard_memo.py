"""What a passed check leaves behind to be quicker the next time never hides a change of what it stands for."""

import gc
import random
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guards.programs import local, run
from guards.test_guard_soundness import Node, facts, values
from minidynamo import _C

program = _C._guards.compile
X = local()
CALLS = 4  # enough for the words to be noted and used


class Other(Node):
    """Of the same layout."""


class Slotted:
    __slots__ = ("p", "q")


class Full:
    """With a dictionary of its own from the start."""

    def __init__(self):
        self.__dict__ = {"p": 1, "q": 2}


def memoize(checked, *arguments, scope=None):
    for _ in range(CALLS):
        assert run(checked, *arguments, scope=scope) == (True, "")
    assert checked.memoized() > 2 * len(PAD), "nothing was memoized, so nothing is tested"


PAD = [(("dict_item", local(1, "pad"), i), "EqualsMatch", i) for i in range(8)]
PADDING = {i: i for i in range(8)}


def noticed(guards, value, change, passes=False):
    """The guards are memoized for `value`; `change(value)` makes them fail, or not."""
    checked = program([*guards, *PAD])
    memoize(checked, value, PADDING)
    change(value)
    for _ in range(2 * CALLS):
        assert run(checked, value, PADDING)[0] is passes


def instance_fact(name, value):
    return (("instance_dict", X, name), "EqualsMatch", value)


@pytest.mark.parametrize("cls", [Node, Full])
@pytest.mark.parametrize(
    "change",
    [
        lambda o: setattr(o, "p", 5),
        lambda o: delattr(o, "p"),
        lambda o: o.__dict__.__setitem__("p", 5),
        lambda o: o.__dict__.clear(),
        lambda o: setattr(o, "__dict__", {"p": 5}),
        lambda o: setattr(o, "__dict__", {}),
        lambda o: vars(o).update(p=1.0),
        lambda o: vars(o).popitem() and vars(o).popitem(),
    ],
)
def test_a_changed_attribute(cls, change):
    o = cls()
    o.p, o.q = 1, 2
    noticed([instance_fact("p", 1), instance_fact("q", 2)], o, change)


@pytest.mark.parametrize("cls", [Node, Full])
@pytest.mark.parametrize(
    "change",
    [
        lambda o: setattr(o, "r", 5),
        lambda o: o.__dict__.__setitem__("r", 5),
        lambda o: setattr(o, "__dict__", {"p": 1, "r": 5}),
        lambda o: (delattr(o, "p"), setattr(o, "r", 1)),
        lambda o: (vars(o).clear(), setattr(o, "r", 1)),
    ],
)
def test_an_attribute_that_appears(cls, change):
    o = cls()
    o.p = 1
    noticed([(("instance_dict", X, "r"), "NotPresent", None)], o, change)
    o = cls()
    o.p = 1
    noticed([(X, "NoHasattr", "r")], o, change)


@pytest.mark.parametrize(
    "change",
    [
        lambda o: setattr(o, "other", 5),
        lambda o: setattr(o, "p", 1),
        lambda o: o.__dict__,
        lambda o: setattr(o, "__dict__", {"p": 1}),
    ],
)
def test_what_does_not_matter(change):
    o = Node()
    o.p = 1
    noticed([instance_fact("p", 1)], o, change, passes=True)


def test_a_class_that_is_exchanged():
    o = Node()
    noticed([(X, "TypeMatch", Node)], o, lambda o: setattr(o, "__class__", Other))


def test_slots():
    o = Slotted()
    o.p = 1
    fact = (("attr", X, "p"), "EqualsMatch", 1)
    noticed([fact], o, lambda o: setattr(o, "p", 2))
    o.p = 1
    noticed([fact], o, lambda o: delattr(o, "p"))
    o = Slotted()
    noticed([(X, "NoHasattr", "q")], o, lambda o: setattr(o, "q", 2))


def test_class_attributes():
    class Here:
        p = 1

    o = Here()
    fact = (("attr", X, "p"), "EqualsMatch", 1)
    noticed([fact], o, lambda o: setattr(o, "p", 2))
    del o.p
    noticed([fact], o, lambda o: setattr(Here, "p", 2))
    Here.p = 1
    noticed([(("type_attr", X, "p"), "EqualsMatch", 1)], o, lambda o: delattr(Here, "p"))


def test_bases():
    class Base:
        p = 1

    class Derived(Base):
        pass

    noticed([(("type_attr", X, "p"), "EqualsMatch", 1)], Derived(), lambda o: setattr(Base, "p", 2))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.__setitem__("a", 5),
        lambda d: d.pop("a"),
        lambda d: d.clear(),
        lambda d: (d.clear(), d.update(b=1)),
        lambda d: (d.popitem(), d.__setitem__("b", 1)),
        lambda d: d.update({str(i): i for i in range(100)}) or d.update(a=2),
    ],
)
def test_dictionaries(change):
    noticed([(("dict_item", X, "a"), "EqualsMatch", 1)], {"a": 1}, change)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.__setitem__("b", 5),
        lambda d: (d.clear(), d.__setitem__("b", 1)),
        lambda d: (d.popitem(), d.__setitem__("b", 1)),
    ],
)
def test_a_key_that_appears(change):
    noticed([(X, "DictNotContains", "b")], {"a": 1}, change)
    noticed([(("dict_item", X, "b"), "NotPresent", None)], {"a": 1}, change)


def test_key_order_and_length():
    def reorder(d):
        d["a"] = d.pop("a")

    noticed([(X, "DictKeyOrder", ("a", "b"))], {"a": 1, "b": 2}, reorder)
    noticed([(X, "DictLength", 2)], {"a": 1, "b": 2}, lambda d: d.popitem())


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.__setitem__(0, 5),
        lambda v: v.clear(),
        lambda v: v.insert(0, 7),
        lambda v: v.pop(),
        lambda v: v.extend(range(100)),
    ],
)
def test_lists(change):
    guards = [(X, "LengthCheck", 2), (("item", X, 0), "EqualsMatch", 1)]
    noticed(guards, [1, 2], change)


def test_globals_change_by_the_name():
    scope = {"n": 1, "other": 0}
    checked = program([(("global", "n"), "EqualsMatch", 1), *PAD])
    memoize(checked, None, PADDING, scope=scope)
    before = checked.memoized()
    for i in range(20):
        scope["other"] = i  # memoized still, however often others change
        assert run(checked, None, PADDING, scope=scope) == (True, "")
    assert checked.memoized() == before
    for i in range(20):
        scope[f"new{i}"] = i
        assert run(checked, None, PADDING, scope=scope) == (True, "")
    assert not run(checked, None, PADDING, scope={"n": 2})[0]
    assert run(checked, None, PADDING, scope={"n": 1})[0]
    scope["n"] = 2
    assert not run(checked, None, PADDING, scope=scope)[0]
    scope["n"] = 1
    assert run(checked, None, PADDING, scope=scope)[0]
    del scope["n"]
    assert not run(checked, None, PADDING, scope=scope)[0]


def test_numbers_at_the_same_address():
    """A float that was let go leaves its place to the next one."""
    o = Node()
    o.p = float("1.5")
    o.q = 0
    checked = program([instance_fact("p", 1.5), *PAD])
    memoize(checked, o, PADDING)
    for i in range(200):
        o.p = float(i)
        assert run(checked, o, PADDING)[0] is False
        o.p = float("1.5")
        assert run(checked, o, PADDING)[0] is True


def test_functions_and_closures():
    def make(cell):
        def inner(n=1):
            return cell, n

        return inner

    f, g = make(1), make(2)

    def other():
        pass

    code = ("code", X, id(globals()))
    noticed([(code, "IdMatch", f.__code__)], f, lambda f: setattr(f, "__code__", g.__code__.replace(co_name="h")))
    f = make(1)
    noticed([(("default", X, 0), "EqualsMatch", 1)], f, lambda f: setattr(f, "__defaults__", (2,)))
    f = make(1)
    cell = ("cell_contents", ("closure", X, 0))
    noticed([(cell, "EqualsMatch", 1)], f, lambda f: setattr(f.__closure__[0], "cell_contents", 3))


def test_another_object_each_time_is_not_memoized_for_good():
    """It is found out, and the rest of the program stays quick."""
    checked = program([instance_fact("p", 1), *PAD])
    for _ in range(200):
        o = Node()
        o.p = 1
        assert run(checked, o, PADDING) == (True, "")
        o.p = 2
        assert not run(checked, o, PADDING)[0]
    assert checked.memoized() == 2 * len(PAD)


def made_anew(kind, *elements):
    return tuple(elements) if kind is tuple else dict(enumerate(elements))


@pytest.mark.parametrize("kind, source", [(tuple, "item"), (dict, "dict_item")])
def test_elements_of_what_is_made_for_each_call(kind, source):
    """As `*args` and `**kwargs` are, at another address each time: what an element leads to stays memoized."""
    o = Node()
    o.p = o.q = 1
    first = (source, X, 0)
    members = [(("instance_dict", first, name), "EqualsMatch", 1) for name in ("p", "q")]
    checked = program([(first, "TypeMatch", Node), *members, ((source, X, 1), "EqualsMatch", 2.5), *PAD])
    kept = []  # so that no address comes back

    def call(element, number=2.5):
        kept.append(made_anew(kind, element, float(str(number))))
        return run(checked, kept[-1], PADDING)[0]

    assert all(call(o) for _ in range(100))
    assert checked.memoized() == 2 * len(PAD) + 6
    assert not call(o, 2.0)
    assert not run(checked, made_anew(kind), PADDING)[0]
    other = Node()
    other.p, other.q = 1, 3
    for _ in range(2 * CALLS):
        assert not call(other) and call(o)
    other.q = 1
    for _ in range(2 * CALLS):
        assert call(other) and call(o)
    o.q = 3
    assert not call(o) and call(other)
    vars(other).clear()
    assert not call(other)


def test_nothing_is_kept_alive():
    class Held:
        pass

    o = Node()
    o.p = Held()
    o.q = (o.p, [o.p])
    seen = weakref.ref(o.p)
    checked = program([(("instance_dict", X, "p"), "TypeMatch", Held), *PAD])
    memoize(checked, o, PADDING)
    del o.p, o.q
    gc.collect()
    assert seen() is None
    assert not run(checked, o, PADDING)[0]


def reachable(value, found):
    if isinstance(value, (list, dict, Node)) and not any(value is f for f in found):
        found.append(value)
    inside = value if isinstance(value, (list, tuple)) else ()
    inside = list(value.values()) if isinstance(value, dict) else inside
    inside = list(vars(value).values()) if isinstance(value, Node) else inside
    for v in inside:
        reachable(v, found)
    return found


def mutate(value, rng):
    """One change in place, somewhere."""
    places = reachable(value, [])
    if not places:
        return
    o = rng.choice(places)
    new = rng.choice([1, 2.5, None, True, "a", [], {}, Node()])
    if isinstance(o, list):
        rng.choice([lambda: o.append(new), o.clear, lambda: o and o.__setitem__(-1, new), o.reverse])()
    else:
        d = o if isinstance(o, dict) else vars(o) if rng.random() < 0.5 else None
        name = rng.choice("pqrab")
        if d is None:
            kind = rng.randrange(4)
            if kind == 0:
                o.__dict__ = dict(vars(o))
            elif kind == 1:
                o.__class__ = Other if type(o) is Node else Node
            elif name in vars(o) and rng.random() < 0.5:
                delattr(o, name)
            else:
                setattr(o, name, new)
        elif d:
            key = rng.choice(list(d))
            old = d[key]
            rng.choice(
                [
                    lambda: d.__setitem__(key, new),
                    lambda: d.pop(key),
                    d.popitem,
                    d.clear,
                    lambda: (d.clear(), d.__setitem__(key, old)),
                    lambda: (d.pop(key), d.__setitem__(key, old)),
                    lambda: d.__setitem__(name, new),
                ]
            )()
        else:
            d[name] = new


@settings(max_examples=150, deadline=None)
@given(values, st.integers(0, 2**32))
def test_random_changes(value, seed):
    """However a graph of objects changes in place, check() says what the guards one by one say."""
    rng = random.Random(seed)
    checked = program([*facts(X, value), *PAD])
    for _ in range(CALLS):
        assert run(checked, value, PADDING)[0]
    for _ in range(12):
        mutate(value, rng)
        for _ in range(rng.choice([1, CALLS])):
            run(checked, value, PADDING)  # check() and explain() agree


@settings(max_examples=100, deadline=None)
@given(st.lists(values, min_size=1, max_size=3), st.integers(0, 2**32), st.sampled_from([tuple, dict]))
def test_random_changes_of_elements(elements, seed, kind):
    """The same where what holds the objects is another one in each call."""
    rng = random.Random(seed)
    checked = program([*facts(X, made_anew(kind, *elements)), *PAD])
    kept = []
    for _ in range(60):
        kept.append(made_anew(kind, *elements))
        run(checked, kept[-1], PADDING)
    for _ in range(12):
        if rng.random() < 0.3:
            rng.shuffle(elements)
        mutate(elements, rng)
        for _ in range(rng.choice([1, CALLS])):
            kept.append(made_anew(kind, *elements))
            run(checked, kept[-1], PADDING)

"""What CPython's own tests showed to differ once more of their frames were compiled."""

import collections
import copy
import enum
import gc
import itertools
import sys
import types
import weakref

import pytest

import minidynamo as torch
from frontend.differential import same

pytestmark = pytest.mark.usefixtures("replaced_both_ways")


def test_a_tuple_inside_of_itself_stays_one_over_a_break():
    def f():
        t = ([],)
        t[0].append(t)
        print("break")
        return t[0][0] is t, t

    same(f, tuple, breaks={"GB0059"})


def test_dictionaries_keep_no_keys_alive():
    def total(d):
        n = 0
        for key in d:
            n += len(key.name)
        return n

    class Key:
        name = "key"

    d = {Key(): 1, Key(): 2}
    dies = [weakref.ref(k) for k in d]
    assert torch.compile(total, backend="eager")(d) == 6
    del d
    gc.collect()
    assert [r() for r in dies] == [None, None]


def test_entries_keep_no_class_alive():
    def make(cls):
        return cls()

    class Made:
        pass

    assert type(torch.compile(make, backend="eager")(Made)) is Made
    dies = weakref.ref(Made)
    del Made
    gc.collect()
    assert dies() is None


class Permission(enum.IntFlag):
    R = 4
    W = 2

    def __str__(self):
        return self._name_


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2

    def __format__(self, spec):
        return self._name_


class Other(enum.IntEnum):
    FIRST = 1


def test_members_of_enumerations_as_text():
    def f():
        return (
            str(Number.ONE), f"{Number.ONE}", repr(Number.ONE), format(Permission.R, ""), format(Permission.R, "3d"),
            str(Other.FIRST), f"{Other.FIRST:>3}",
        )  # fmt: skip

    same(f, breaks=set())


def test_who_is_a_member_the_enumeration_says():
    def f():
        return Number.ONE in Number, Other.FIRST in Number, Number.TWO in Other

    same(f, breaks=set())


def test_sets_are_written_in_the_order_they_have():
    def f(given, word):
        made = set(word)
        return str(given), str(made), list(made), f"{frozenset(word)}", made

    same(f, lambda: (set("gallahad"), "gallahad"))


def test_sets_keep_their_tuples():
    def f(given):
        copied = given.copy()
        return [x is y for x, y in zip(sorted(copied), sorted(given))]

    same(f, lambda: ({(1, 2), (3, 4)},))


def test_classes_in_a_frozen_set():
    kinds = frozenset({int, str, type(None)})

    def f(x):
        return type(x) in kinds, len(kinds)

    for x in (1, None, [], "a"):
        same(f, lambda x=x: (x,), breaks=set())


def test_a_step_beyond_all_numbers():
    def f():
        last = sys.maxsize
        return list(itertools.islice(itertools.count(), 1, 10, last)), list(itertools.islice(range(9), 1, None, last))

    same(f, breaks=set())


class Keyed(set):
    pass


def test_a_set_takes_no_keywords():
    def f():
        return Keyed(sequence=())

    same(f)


def test_fields_of_a_class_below_a_named_tuple():
    class Point(collections.namedtuple("Point", "x y")):
        @property
        def sum(self):
            return self.x + self.y

    def f(p):
        return p.x, p.sum, p[1]

    same(f, lambda: (Point(2, 3),), breaks=set())


def test_an_exception_that_was_only_made():
    def f():
        e = UnicodeEncodeError.__new__(UnicodeEncodeError)
        print("break")
        return str(e), type(e)

    same(f)


class Stores:
    def __set__(self, obj, value):
        obj.__dict__["a"] = value


class Holder:
    a = Stores()


def test_a_descriptor_that_only_stores():
    def f():
        x = Holder()
        before = x.a is Holder.__dict__["a"]
        x.a = 42
        return before, x.a

    same(f)


class Base:
    def __floordiv__(self, other):
        return "left"

    def __rfloordiv__(self, other):
        return "right"


class Below(Base):
    pass


class Own(Base):
    def __rfloordiv__(self, other):
        return "own right"


def test_who_is_asked_first():
    def f():
        return Base() // Below(), Base() // Own(), Below() // Base(), 1 // Below(), Below() // 1

    same(f, breaks=set())


class Foreign(int):
    __eq__ = str.__eq__
    __add__ = str.__add__


@pytest.mark.parametrize("act", [lambda a: a == a, lambda a: a + a])
def test_slots_of_another_type(act):
    def f(a):
        return act(a)

    same(f, lambda: (Foreign(3),))


class Slotted:
    __slots__ = ["x"]


def test_what_cannot_be_referred_to_weakly():
    def f():
        made = Slotted()
        try:
            weakref.ref(made)
        except TypeError as error:
            return str(error)

    same(f, breaks=set())


def test_a_proxy_shows_the_class_behind_it():
    def f(p):
        return p.__class__

    held = Base()
    same(f, lambda: (weakref.proxy(held),))


class Pair(collections.namedtuple("Single", "x")):
    pass


def test_a_named_tuple_made_while_tracing_is_written():
    def f():
        made = Pair(1)
        return repr(made), "%r" % made  # noqa: UP031

    same(f, breaks=set())


def test_a_tee_that_reads_itself():
    def f():
        class Reader:
            first = True

            def __iter__(self):
                return self

            def __next__(self):
                first = self.first
                self.first = False
                if first:
                    return next(b)

        a, b = itertools.tee(Reader())
        return next(a)

    same(f)


class Counted:
    alive = 0

    def __init__(self):
        Counted.alive += 1

    def __del__(self):
        Counted.alive -= 1


@pytest.mark.parametrize("end", ["del", "store"])
def test_what_a_finalizer_changes_is_read_afterwards(end):
    def deleted():
        x = Counted()
        before = Counted.alive
        del x
        return before, Counted.alive

    def stored():
        x = Counted()
        before = Counted.alive
        x = [before]
        return x, Counted.alive

    same({"del": deleted, "store": stored}[end])


class Shows:
    __class__ = 413


def test_a_class_that_shows_another_class():
    def f():
        return Shows().__class__

    same(f, breaks=set())


def test_a_deleted_variable_of_a_closure():
    def f(log):
        y = 1
        log.append(y)
        del y
        print(y)  # noqa: F821

        def inner():
            return y  # noqa: F821

        return inner

    same(f, lambda: ([],))


def replaced_at_same_size(x):
    d, seen = {0: 0}, []
    try:
        for key in d:
            del d[0]
            d[0] = 0
            seen.append(key)
    except RuntimeError as error:
        seen.append(str(error))
    return x + 1, seen


def replaced_values_at_same_size(x):
    d = {0: 0}
    for value in d.values():
        del d[0]
        d[0] = value
    return x + 1


def test_keys_replaced_while_a_dict_is_iterated():
    for f in (replaced_at_same_size, replaced_values_at_same_size):
        same(f, lambda: (torch.ones(2),))
        with torch._dynamo.config.patch(trace_more=True):
            same(f, lambda: (torch.ones(2),))


class OtherIndex(int):
    def __index__(self):
        return 42


class TextIndex(str):
    def __index__(self):
        return 42


def test_numbers_convert_before_their_index():
    same(lambda x: (x + int(OtherIndex(7)), float(OtherIndex(7))), lambda: (torch.ones(2),), frames=1, breaks=())
    same(lambda x: (x + int(TextIndex("7")), float(TextIndex("7"))), lambda: (torch.ones(2),))


def constant(a=(1, 2)):
    return a


def test_tuples_that_code_and_classes_hold():
    def f():
        first, second = lambda: None, lambda: None
        held = [first.__code__.co_consts is second.__code__.co_consts, OtherIndex.__mro__ is OtherIndex.__mro__]
        bases, consts = OtherIndex.__bases__, constant.__code__.co_consts
        print("break")
        return held, bases is OtherIndex.__bases__, consts is constant.__code__.co_consts, bases, consts

    same(f)


def test_a_static_method_dies_with_its_class():
    def f():
        class A:
            @staticmethod
            def method(x):
                return x

        seen = weakref.ref(A.method)
        before = seen() is None
        del A
        gc.collect()
        return before, seen()

    same(f)


class Static:
    @staticmethod
    def method(x):
        return x + 1


def test_a_static_method_that_is_replaced():
    def f(x):
        return Static.method(x)

    compiled = torch.compile(f, backend="eager")
    first = Static.__dict__["method"]
    try:
        assert compiled(1) == 2
        Static.method = staticmethod(lambda x: x + 2)
        assert compiled(1) == 3
        Static.method = lambda x: x + 3
        assert compiled(1) == 4
        Static.method = property(lambda self: self)
        with pytest.raises(TypeError):
            compiled(1)
    finally:
        Static.method = first
    assert compiled(1) == 2


seen = None


@pytest.mark.parametrize("end", ["del", "store", "nested"])
def test_what_a_callback_changes_is_read_after_the_end(end):
    def noticed(_):
        global seen
        seen = 100

    def made():
        global seen
        seen = None
        return eval("lambda: 42")

    def deleted():
        f = made()
        w = weakref.ref(f, noticed)
        del f
        return seen, w()

    def stored():
        f = made()
        w = weakref.ref(f, noticed)
        f = 3
        return seen, w(), f

    def nested():
        f = [made()]
        w = weakref.ref(f[0], noticed)
        print("break")
        f[0] = 3
        return seen, w(), f

    same({"del": deleted, "store": stored, "nested": nested}[end])


def test_a_copy_of_a_namespace_made_here():
    def f(x):
        made = types.SimpleNamespace(a=1, b=[2])
        try:
            copied = copy.copy(made)
        except TypeError as e:
            return str(e), x
        return copied == made, copied.b is made.b, x + 1

    same(f, lambda: (torch.ones(2),))

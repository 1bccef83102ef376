# ruff: noqa: UP031
"""Methods of builtin and library classes that a program has replaced, and functions that change what they are given."""

import bisect
import gc
import random
import types
import unittest.mock
import weakref

import pytest

import minidynamo as torch
from frontend.differential import same

pytestmark = pytest.mark.usefixtures("replaced_both_ways")


def ones():
    return torch.ones(2)


def test_functions_that_change_the_list_they_are_given():
    def f(x):
        items = [10, 20, 30, 40, 50]
        found = bisect.bisect_left(a=items, x=25, lo=1, hi=3), bisect.bisect_right(items, 30)
        bisect.insort_left(a=items, x=25, lo=1, hi=3)
        bisect.insort_right(items, 25)
        bisect.insort(items, 5)
        return found, items, x + 1

    same(f, lambda: (ones(),))


class Text(str):
    def __str__(self):
        return "its own"


class Number(int):
    def __str__(self):
        return "a number"


def test_subclasses_in_a_format():
    def f(x, s, n):
        y = x + 1
        return (
            "%s" % s,
            "%5s|" % s,
            "%s" % (s,),
            f"{s}",
            f"{s}",
            "%s" % n,
            "%d" % n,
            "%r" % s,
            Text("%s") % s,
            y,
        )

    same(f, lambda: (ones(), Text("xxx"), Number(3)))


def drawn(x, g):
    return g.uniform(1.0, 10.0), g.randint(1, 5), g.random(), x + 1


def with_own_numbers():
    g = random.Random(7)
    g.random = [0.1, 0.2, 0.3, 0.4, 0.5].pop
    return g


class Own(random.Random):
    def random(self):
        return 0.75


@pytest.mark.parametrize("make", [lambda: random.Random(7), with_own_numbers, lambda: Own(7)])
@pytest.mark.parametrize("replaced", [None, "random", "_randbelow"])
def test_generators_with_methods_of_their_own(make, replaced):
    compiled = torch.compile(drawn)
    compiled(ones(), random.Random(7))
    for _ in range(2):
        if replaced is None:
            assert drawn(ones(), make())[:3] == compiled(ones(), make())[:3]
            continue
        with unittest.mock.patch.object(random.Random, replaced, lambda self, *n: 2 if n else 0.125):
            assert drawn(ones(), make())[:3] == compiled(ones(), make())[:3]


def test_a_generator_made_while_its_class_is_changed():
    def f(x):
        g = random.Random(3)
        return g.uniform(1.0, 10.0), g.random(), x + 1

    assert torch.compile(f, fullgraph=True)(ones())[:2] == f(ones())[:2]
    compiled = torch.compile(f)
    assert compiled(ones())[:2] == f(ones())[:2]
    with unittest.mock.patch.object(random.Random, "random", lambda self: 0.125):
        assert compiled(ones())[:2] == f(ones())[:2] == (2.125, 0.125)


class Slotted:
    __slots__ = ("a",)


class Described:
    __slots__ = ()
    __dict__ = property(lambda self: {"described": 1})


class Answering:
    __slots__ = ()

    def __getattr__(self, name):
        return {"asked for": name}


@pytest.mark.parametrize("cls", [Slotted, Described, Answering])
def test_vars_of_an_object_without_a_dictionary(cls):
    def f(x, o):
        y = x + 1
        try:
            found = vars(o)
        except TypeError as e:
            found = str(e)
        return found, y

    same(f, lambda: (ones(), cls()))


def test_annotations_of_a_module_come_when_they_are_asked_for():
    def f(x, m):
        y = x + 1
        before = "__annotations__" in m.__dict__
        made = m.__annotations__
        return before, "__annotations__" in m.__dict__, made, y

    for function in (f, torch.compile(f)):
        assert function(ones(), types.ModuleType("made_now"))[:3] == (False, True, {})


class Thing:
    pass


def test_lists_in_circles_and_modules_are_let_go():
    def circle(x, thing):
        a = []
        a.append(a)
        a.append(thing)
        torch._dynamo.graph_break()
        return x + len(a)

    def module(x, m):
        names = m.__dict__
        torch._dynamo.graph_break()
        return x + len(names)

    for function, make in ((circle, Thing), (module, lambda: types.ModuleType("made_now"))):
        compiled = torch.compile(function)
        for _ in range(2):
            o = make()
            gone = weakref.ref(o)
            compiled(ones(), o)
            del o
            gc.collect()
            assert gone() is None

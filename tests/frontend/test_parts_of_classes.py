"""What classes, generators and objects in C tell of themselves: abstract methods, namespaces, code."""

import abc
import datetime
import json
import types

import pytest

import minidynamo as torch
from frontend.differential import breaks_with, same


class Abstract(abc.ABC):
    @abc.abstractmethod
    def f(self): ...


class Concrete(Abstract):
    def f(self):
        return 1


class Plain:
    pass


class Whole(int):
    pass


def x():
    return (torch.tensor([1.0, 2.0]),)


def numbers():
    yield 1


def names_of_abstract_methods(t):
    return t * 2, sorted(Abstract.__abstractmethods__), list(Concrete.__abstractmethods__)


def without_abstract_methods(t):
    try:
        return t, Plain.__abstractmethods__
    except AttributeError as e:
        return t * 2, str(e), hasattr(Plain, "__abstractmethods__")


def a_made_namespace(t):
    cls = type("Made", (), {"a": 1, "t": t, "m": lambda self: 2})
    space = cls.__dict__
    shown = {k: v for k, v in space.items() if k not in ("__dict__", "__weakref__", "m")}
    return t * 2, shown, list(space), "zz" in space, vars(cls).get("no"), type(space) is types.MappingProxyType


def parts_of_a_generator(t):
    g = numbers()
    before = g.gi_code.co_name, g.gi_running, g.gi_code is numbers.__code__
    return t * 2, before, next(g), list(g), g.gi_frame, g.gi_code.co_name


@pytest.mark.parametrize(
    "function",
    [
        names_of_abstract_methods,
        without_abstract_methods,
        a_made_namespace,
        parts_of_a_generator,
    ],
)
def test_one_graph(function):
    same(function, x, frames=1, breaks=[])


def test_a_class_that_becomes_concrete():
    class Later(abc.ABC):
        @abc.abstractmethod
        def f(self): ...

    def f(t):
        return t * 2, bool(Later.__abstractmethods__)

    fast = torch.compile(f, backend="eager")
    assert fast(*x())[1] is True
    Later.f = lambda self: 1
    abc.update_abstractmethods(Later)
    assert fast(*x())[1] is False


def test_a_size_inside_an_object():
    def f(t):
        return t * 2, Whole(t.shape[0]) + 1, t * Whole(len(t))

    fast = torch.compile(f, backend="eager", fullgraph=True)
    for n in (2, 3, 5):
        t = torch.ones(n)
        doubled, one_more, times = fast(t)
        assert (doubled.tolist(), one_more, times.tolist()) == ([2.0] * n, n + 1, [float(n)] * n)


def test_a_method_that_asks_the_locale():
    day = datetime.date(2001, 1, 1)
    breaks_with("GB0156", lambda t: (t * 2, day.strftime("%a")), x)


def test_an_object_in_c_that_is_called():
    encode = json.encoder.c_make_encoder(
        None, None, json.encoder.encode_basestring, None, ":", ",", False, False, False
    )
    breaks_with("GB0156", lambda t: (t * 2, encode([1, 2], 0)), x)


def test_what_a_made_class_has_of_its_own_is_not_handed_on():
    same(lambda t: (t * 2, type(type("Made", (), {}).__dict__["__weakref__"]).__name__), x, frames=1, breaks=[])
    same(lambda t: (t * 2, type(type("Made", (), {}).__dict__).__name__), x, frames=1, breaks=[])
    same(lambda t: (t * 2, callable(type("Made", (), {}).__dict__["__weakref__"])), x)

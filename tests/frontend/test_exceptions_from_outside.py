"""Exception objects made before the traced code began, raised in it; comparing methods of containers."""

import pytest

import minidynamo as torch
from frontend.differential import breaks_with, same

FAILURE = ValueError("outside", 3)
ENDS = StopIteration(4)


class Refuses:
    @property
    def part(self):
        raise MISSING


MISSING = AttributeError("none here")


def x():
    return (torch.tensor([1.0, 2.0]),)


def uncaught(t):
    t = t + 1
    raise FAILURE


def caught(t):
    try:
        raise FAILURE
    except ValueError as e:
        return t + 1, e is FAILURE, e.args, e.__traceback__ is not None


def caught_around_a_call(t):
    def f():
        raise FAILURE

    try:
        f()
    except ValueError as e:
        return t + 1, e is FAILURE


def passed_by(t):
    try:
        raise FAILURE
    finally:
        t = t + 1


def in_a_generator(t):
    def g():
        yield 1
        raise ENDS

    try:
        return t, list(g())
    except RuntimeError as e:
        return t + 1, str(e), e.__cause__ is ENDS


def of_a_property(t):
    o = Refuses()
    return t + 1, hasattr(o, "part"), getattr(o, "part", 5)


@pytest.fixture(autouse=True)
def fresh():
    for e in (FAILURE, ENDS, MISSING):
        e.__traceback__ = e.__context__ = None


@pytest.mark.parametrize("function", [caught, caught_around_a_call, in_a_generator, of_a_property])
def test_as_plain(function):
    same(function, x)


@pytest.mark.parametrize("function", [uncaught, passed_by])
def test_they_leave_as_themselves(function):
    for _ in range(2):
        with pytest.raises(ValueError) as raised:
            torch.compile(function, backend="eager")(*x())
        assert raised.value is FAILURE
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(function, backend="eager", fullgraph=True)(*x())


def test_its_code():
    def f(t):
        try:
            return uncaught(t)
        except ValueError:
            return t

    breaks_with("GB0147", f, x)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="GB0088"):
        torch.compile(uncaught, backend="eager", fullgraph=True)(*x())


def test_comparing_methods():
    def f(t):
        return (
            t + 1, {1: 2}.__eq__({1: 2}), {1: 2}.__ne__({1: 2}), {}.__eq__(3), {}.__lt__({}), [1].__lt__([2]),
            (1,).__eq__([1]), [t].__eq__([t]), {"a": t}.__eq__({"a": t}), (1, 2).__ge__((1, 1)), [t].__ne__([]),
        )  # fmt: skip

    same(f, x, frames=1, breaks=[])

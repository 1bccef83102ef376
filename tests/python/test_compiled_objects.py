"""compile() of objects that are called: it is their class that says what runs."""

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter


def x():
    return torch.tensor([1.0, 2.0])


class Adds:
    def __init__(self, number):
        self.number = number

    def __call__(self, x):
        return x + self.number


class Multiplies:
    def __call__(self, x, by=3):
        return x * self.number * by


class Silent:
    pass


class Static:
    @staticmethod
    def __call__(x, y=1):
        return x + y


class OfClass:
    number = 5

    @classmethod
    def __call__(cls, x):
        return x + cls.number


def test_call_of_the_class_replaced():
    class Own(Adds):
        pass

    counter = CompileCounter()
    made = Own(1)
    f = torch.compile(made, backend=counter)
    assert f(x()).tolist() == [2, 3]
    for replaced in (lambda self, x: x + 20, staticmethod(lambda x: x + 30), classmethod(lambda cls, x: x + 40)):
        Own.__call__ = replaced
        assert f(x()).tolist() == made(x()).tolist()
        assert f(x()).tolist() == made(x()).tolist()
    assert counter.frame_count == 4
    del Own.__call__
    assert f(x()).tolist() == [2, 3]
    Adds.__call__, before = (lambda self, x: x - self.number), Adds.__call__
    try:
        assert f(x()).tolist() == [0, 1]
    finally:
        Adds.__call__ = before


def test_class_of_the_object_replaced():
    made = Adds(2)
    f = torch.compile(made)
    assert f(x()).tolist() == [3, 4]
    made.__class__ = Multiplies
    assert f(x(), by=2).tolist() == [4, 8]
    made.__class__ = Silent
    with pytest.raises(TypeError, match="'Silent' object is not callable"):
        f(x())
    made.__class__ = Adds
    assert f(x()).tolist() == [3, 4]


@pytest.mark.parametrize("cls", [Static, OfClass])
def test_static_and_class_methods(cls):
    counter = CompileCounter()
    made = cls()
    f = torch.compile(made, backend=counter)
    for _ in range(3):
        assert f(x()).tolist() == made(x()).tolist()
    assert counter.frame_count == 1
    if cls is Static:
        assert f(x(), y=4).tolist() == [5, 6]


@pytest.mark.parametrize("made", [Adds(3), Static(), OfClass()])
def test_called_by_a_compiled_function(made):
    counter = CompileCounter()
    inner = torch.compile(made)
    f = torch.compile(lambda x: inner(x) * 2, backend=counter)
    for _ in range(3):
        assert f(x()).tolist() == (made(x()) * 2).tolist()
    assert counter.frame_count == 1

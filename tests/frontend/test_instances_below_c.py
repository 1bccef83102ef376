"""Attributes of instances whose classes are below ones in C: streams and exceptions that are passed in."""

import io

import pytest

import minidynamo as torch
from frontend.differential import same


def x():
    return (torch.tensor([1.0, 2.0, 3.0]),)


class Stream(io.IOBase):
    kind = 4

    def __init__(self):
        self.a = 2
        self._rolled = False

    @property
    def rolled(self):
        return self._rolled

    def plus(self, k):
        return self.a + k

    @staticmethod
    def same(k):
        return k

    @classmethod
    def plus_kind(cls, k):
        return k + cls.kind


class Failure(ValueError):
    def __init__(self, message, value):
        super().__init__(message)
        self.value = value

    def twice(self):
        return self.value * 2


STREAM = Stream()
FAILURE = Failure("m", 3)


def attributes(v):
    return v + STREAM.a + STREAM.kind + STREAM.plus(2) + STREAM.same(1) + STREAM.plus_kind(1), STREAM.rolled


def missing(v):
    try:
        v = v + STREAM.nothing
    except AttributeError as error:
        said = str(error)
    return v, said, hasattr(STREAM, "a"), hasattr(STREAM, "nothing"), getattr(STREAM, "nothing", 9)


def of_an_exception(v):
    return v + FAILURE.value + FAILURE.twice()


@pytest.mark.parametrize("function", [attributes, missing, of_an_exception], ids=lambda f: f.__name__)
def test_traced_whole(function):
    same(function, x, breaks=[])


def test_what_changes_is_seen():
    stream = Stream()

    @torch.compile(fullgraph=True, backend="eager")
    def f(v):
        return v + stream.a + getattr(stream, "more", 0) + stream.kind

    seen = [float(f(torch.tensor(0.0)))]
    stream.a = 3
    seen.append(float(f(torch.tensor(0.0))))
    stream.more = 10
    seen.append(float(f(torch.tensor(0.0))))
    stream.kind = 5
    seen.append(float(f(torch.tensor(0.0))))
    del stream.more, stream.kind
    seen.append(float(f(torch.tensor(0.0))))
    Stream.plain, before = 1, Stream.kind
    Stream.kind = 6
    seen.append(float(f(torch.tensor(0.0))))
    Stream.kind = before
    del Stream.plain
    assert seen == [6, 7, 17, 18, 7, 9]


def stored(v):
    STREAM.a = 5
    y = v + STREAM.a
    STREAM.a = 2
    return y


def test_stores_are_left_to_python():
    same(stored, x)

"""Ints in attributes of arguments and in slices that become symbols."""

import dataclasses

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.smoke


def tensor(n):
    return torch.arange(n, dtype=torch.float32)


def equal(got, want):
    if isinstance(want, tuple):
        return len(got) == len(want) and all(map(equal, got, want))
    return type(got) is type(want) and (torch.equal(got, want) if torch.is_tensor(want) else got == want)


class Held:
    scale = 7

    def __init__(self, k):
        self.k = k

    @property
    def twice(self):
        return 2 * self.k

    def __len__(self):
        return self.k

    def __bool__(self):
        return self.k > 4

    def __index__(self):
        return self.k


class Slotted:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k


@dataclasses.dataclass(frozen=True)
class Record:
    k: int


def counted(x, held):
    held.k += 1
    return x + held.k


def closed_over():
    held = Held(0)

    def function(x, k):
        return x + held.k

    return function, held


ATTRIBUTES = {
    "an object": (lambda x, o: x + o.k, Held, 2),
    "__slots__": (lambda x, o: x + o.k, Slotted, 2),
    "a dataclass": (lambda x, o: x + o.k, Record, 2),
    "a property": (lambda x, o: x + o.twice, Held, 2),
    "an object in a list": (lambda x, o: x + o[0].k, lambda k: [Held(k)], 2),
    "an object in an object": (lambda x, o: x + o.k.k, lambda k: Held(Held(k)), 2),
    "by name": (lambda x, o: x + getattr(o, "k") + vars(o)["k"] + o.__dict__["k"], Held, 2),  # noqa: B009  the built-in is meant
    "an attribute that is written": (counted, Held, 2),
    "a branch": (lambda x, o: x + 1 if o.k > 5 else x - 1, Held, 3),
    "a slice": (lambda x, s: x[s] * 2, lambda k: slice(1, k), 2),
    "a slice's step": (lambda x, s: x[s] * 2, lambda k: slice(None, None, k), 2),
    "a slice in a tuple": (lambda x, s: x[s[0]] * 2, lambda k: (slice(k, None),), 2),
    "a part of a slice": (lambda x, s: x + s.stop, lambda k: slice(0, k), 2),
    "a slice of a list": (lambda x, s: x + sum([1, 2, 3, 4, 5, 6, 7, 8, 9][s]), lambda k: slice(0, k), 7),
    "a range": (lambda x, r: x + sum(r), lambda k: range(k), 7),
    "length": (lambda x, o: x + len(o), Held, None),
    "truth": (lambda x, o: x + (1 if o else 2), Held, None),
    "index": (lambda x, o: x[o], Held, None),
    "a loop": (lambda x, o: sum((x + i for i in range(o.k)), x), Held, None),
    "text and keys": (lambda x, o: (x + 1, f"{o.k}", {o.k: 1}, [0] * o.k, str(o.k), hash(o.k), o.k / 2), Held, None),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_ints_in_attributes_and_slices(name):
    function, make, expected = ATTRIBUTES[name]
    for options in ({}, {"dynamic": True}):
        torch._dynamo.reset()
        compiled = torch.compile(function, backend=(counter := CompileCounter()), **options)
        for k in (2, 3, 4, 5, 6, 7, 8):
            mine, theirs = make(k), make(k)
            assert equal(compiled(tensor(20), mine), function(tensor(20), theirs))
            if isinstance(mine, Held):
                assert mine.k == theirs.k or isinstance(mine.k, Held)
        if expected and not options:
            assert counter.frame_count == expected


def test_ints_in_attributes_of_modules_and_globals_stay_constants():
    class Inner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.k = 2
            self.held = Held(2)

        def forward(self, x):
            return x + self.k + self.held.k

    module = Inner()
    for owner in (module, module.held):
        torch._dynamo.reset()
        compiled = torch.compile(module, backend=(counter := CompileCounter()), dynamic=True)
        for k in (2, 3, 4):
            owner.k = k
            assert equal(compiled(tensor(3)), module(tensor(3)))
        assert counter.frame_count == 3


def test_an_int_in_an_object_of_a_closure():
    function, held = closed_over()
    compiled = torch.compile(function, backend=(counter := CompileCounter()))
    for held.k in (2, 3, 4, 5):
        assert equal(compiled(tensor(3), 0), function(tensor(3), 0))
    assert counter.frame_count == 2

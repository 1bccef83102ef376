"""Instances with __del__ that a trace makes: their ends come where plain Python has them."""

import gc

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

SEEN = []
HELD = {}


class Mortal:
    def __init__(self, n=1):
        self.n = n

    def __del__(self):
        SEEN.append(("end", self.n))


class Below(Mortal):
    pass


class Listed(list):
    def __del__(self):
        SEEN.append("end of a list")


class Failing(Mortal):
    def __init__(self):
        super().__init__(7)
        raise ValueError("no")


class Holder:
    pass


def returned(x):
    return x + 1, Mortal(2)


def dropped(x):
    d = Mortal(3)
    SEEN.append("made")
    return x + d.n


def dropped_early(x):
    d = Mortal(4)
    d = None
    SEEN.append(d)
    return x + 1


def stored(x):
    HELD["a"] = Mortal(5)
    SEEN.append("stored")
    return x + 1


def replaced(x):
    HELD["b"] = Mortal(6)
    HELD["b"] = Mortal(7)
    SEEN.append("replaced")
    return x + 1


def held_by_an_object(x):
    o = Holder()
    o.d = Mortal(8)
    return x + 1, o


def deleted_from_an_object(x):
    o = Holder()
    o.d = Mortal(8)
    del o.d
    SEEN.append("deleted")
    return x + 1, o


def replaced_in_an_object(x):
    o = Holder()
    o.d = Mortal(8)
    o.d = None
    SEEN.append("replaced")
    return x + 1, o


def popped(x):
    made = [Mortal(9), Mortal(10)]
    made.pop()
    SEEN.append("popped")
    return x + 1, made


def held_by_a_closure(x):
    d = Mortal(11)

    def inner():
        return d.n

    return x + 1, inner


def broken(x):
    x = x + 1
    d = Mortal(13)
    torch._dynamo.graph_break()
    SEEN.append("after")
    return x + d.n, d


def failed(x):
    try:
        Failing()
    except ValueError:
        SEEN.append("caught")
    return x + 1


def of_classes_below(x):
    return x + 1, Below(14), Listed([1])


def some_of_several(x):
    made = [Mortal(n) for n in range(3)]
    SEEN.append("made")
    return x + sum(d.n for d in made), made[1]


def in_callees(x):
    def make(n):
        return Mortal(n)

    def use(n):
        d = make(n)
        return d.n

    first = use(1)
    SEEN.append("used")
    return x + first, make(2)


def in_a_cycle(x):
    d = Mortal(15)
    d.me = d
    return x + 1


def nested(x):
    return x + 1, (Mortal(16), {"k": Mortal(17)})


def swapped(x):
    a, b = Mortal(18), Mortal(19)
    a, b = b, a
    del a
    SEEN.append("swapped")
    return x + 1, b


def in_a_generator(x):
    def numbers():
        d = Mortal(20)
        yield d.n
        SEEN.append("end of the generator")

    return x + sum(numbers())


def raised_past(x):
    d = Mortal(23)
    raise KeyError(d.n)


WHOLE = [returned, held_by_an_object, held_by_a_closure, of_classes_below, nested]
PARTLY = [
    dropped, dropped_early, stored, replaced, deleted_from_an_object, replaced_in_an_object, popped, broken, failed,
    some_of_several, in_callees, in_a_cycle, swapped, in_a_generator, raised_past,
]  # fmt: skip


def seen(f):
    gc.collect()
    HELD.clear()
    gc.collect()
    SEEN.clear()
    for _ in range(3):
        try:
            f(torch.ones(1))
        except KeyError as e:
            SEEN.append(str(e))
        SEEN.append("returned")
        gc.collect()
        SEEN.append("collected")
    return list(SEEN)


@pytest.mark.parametrize("f", [*WHOLE, *PARTLY], ids=lambda f: f.__name__)
def test_ends_come_in_their_place(f):
    plain = seen(f)
    torch._dynamo.reset()
    counter = CompileCounter()
    assert seen(torch.compile(f, backend=counter)) == plain
    if f in WHOLE:
        assert counter.frame_count == 1


@pytest.mark.parametrize("f", WHOLE, ids=lambda f: f.__name__)
def test_what_outlives_the_call_is_traced(f):
    torch._dynamo.reset()
    assert torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1))[0].item() == 2.0

"""Objects with a __del__ that compiled functions make: the end of each comes when it comes in plain Python, and where
all of them live on the graph does not break."""

import contextlib
import gc
import weakref

import pytest

import minidynamo as torch
from frontend.differential import Box
from minidynamo._dynamo.testing import CompileCounter

SAID = []
BOX = Box()
KEPT = None


class Quits:
    def __init__(self, v):
        self.v = v

    def __del__(self):
        SAID.append(("end", self.v))


class Owner(Quits):
    def __init__(self, v):
        super().__init__(v)
        self.child = Quits(v + 1)


class Refuses:
    def __init__(self):
        raise ValueError

    def __del__(self):
        SAID.append("end of a refused one")


class Items(list):
    def __del__(self):
        SAID.append(("items", len(self)))


class Manages(Quits):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        SAID.append("exit")


def made(v):
    return Quits(v)


def used(v):
    q = Quits(v)
    return q.v + 1


def returned(x):
    q = Quits(1)
    return x + q.v, q


def nested(x):
    return {"k": [Quits(1)], "x": x + 1, "o": Owner(2)}


def from_a_function(x):
    q = made(3)
    SAID.append("b")
    return x + q.v, q


def stored(x):
    BOX.q = Quits(1)
    SAID.append("a")
    return x + BOX.q.v


def below_list(x):
    items = Items([1, 2])
    items.append(3)
    return x + len(items), items


def two_names(x):
    q = Quits(1)
    p = q
    q = None
    SAID.append("still there")
    return x + 1, p


def swapped(x):
    a, b = Quits(1), Quits(2)
    a, b = b, a
    return x + 1, a, b


def weakly(x):
    q = Quits(1)
    r = weakref.ref(q)
    return x + r().v, q


def captured(x):
    q = Quits(1)

    def f(y):
        return y + q.v

    return f(x), f


def dropped(x):
    q = Quits(1)
    SAID.append("a")
    return x + q.v


def bound_anew(x):
    q = Quits(1)
    SAID.append("a")
    q = Quits(2)
    SAID.append("b")
    return x + q.v, q


def deleted(x):
    q = Quits(1)
    SAID.append("a")
    del q
    SAID.append("b")
    return x + 1


def replaced_attribute(x):
    BOX.q = Quits(1)
    SAID.append("a")
    BOX.q = Quits(2)
    SAID.append("b")
    del BOX.q
    SAID.append("c")
    return x + 1


def from_containers(x):
    kept, d, s = [Quits(1), Quits(2)], {"a": Quits(3)}, {Quits(4)}
    SAID.append("a")
    kept.pop()
    d["a"] = 0
    SAID.append("b")
    s.clear()
    SAID.append("c")
    return x + 1, kept


def in_a_function(x):
    SAID.append("a")
    y = x + used(3)
    SAID.append("b")
    return y


def only_its_part(x):
    owner = Owner(5)
    child = owner.child
    SAID.append("b")
    return x + 1, child


def only_for_its_part(x):
    SAID.append("a")
    y = x + Quits(2).v
    SAID.append("b")
    child = Owner(5).child
    SAID.append("c")
    return y, child


def looked_at(q):
    SAID.append("use")
    return q.v


def only_as_an_argument(x):
    looked_at(Quits(9))
    SAID.append("done")
    return x + 1


def as_a_manager(x):
    with Manages(3) as m:
        y = x + m.v
        SAID.append("in")
    m = None
    SAID.append("after")
    return y


def through_a_closure(x):
    q = Quits(1)

    def swap():
        nonlocal q
        q = Quits(2)
        SAID.append("swapped")

    swap()
    return x + q.v


def through_a_global(x):
    global KEPT
    KEPT = Quits(1)
    SAID.append("a")
    KEPT = Quits(2)
    SAID.append("b")
    KEPT = None
    SAID.append("c")
    return x + 1


def over_a_break(x):
    q, r = Quits(1), Quits(2)
    s = q.v
    torch._dynamo.graph_break()
    SAID.append("b")
    return x + s, r


def refused(x):
    try:
        Refuses()
    except ValueError:
        SAID.append("caught")
    return x + 1


def in_a_loop(x):
    for i in range(3):
        q = Quits(i)
        SAID.append(i)
        x = x + q.v
    return x


def in_a_comprehension(x):
    total = sum([Quits(i).v for i in range(3)])
    SAID.append("end")
    return x + total


def in_a_generator(x):
    def g():
        q = Quits(1)
        yield q.v
        SAID.append("g")
        yield q.v + 1

    found = list(g())
    SAID.append("z")
    return x + found[0]


def in_a_manager(x):
    @contextlib.contextmanager
    def manager():
        q = Quits(1)
        yield q
        SAID.append("exit")

    with manager() as q:
        y = x + q.v
    SAID.append("after")
    return y


def in_an_exception(x):
    try:
        q = Quits(1)
        raise ValueError(q)
    except ValueError:
        SAID.append("b")
    SAID.append("c")
    return x + 1


def raising(x):
    q = Quits(1)
    raise ValueError(q.v)


WHOLE = [
    returned, nested, from_a_function, stored, below_list, two_names, swapped, weakly, captured,
]  # fmt: skip
LOSING = [
    dropped, bound_anew, deleted, replaced_attribute, from_containers, in_a_function, only_its_part, only_for_its_part,
    only_as_an_argument, as_a_manager, through_a_closure, through_a_global, over_a_break,
    refused, in_a_loop, in_a_comprehension, in_a_generator, in_a_manager, in_an_exception, raising,
]  # fmt: skip


def said(function):
    """What is said during three calls, and when what they returned goes."""
    found = []
    for n in (2, 3, 2):
        BOX.__dict__.clear()
        gc.collect()
        SAID.clear()
        try:
            result = function(torch.ones(n))
        except ValueError as e:
            result = str(e)
        found.append(list(SAID))
        del result
        found.append(list(SAID))
    return found


@pytest.mark.parametrize("function", WHOLE + LOSING)
def test_ends_come_when_they_come_in_python(function):
    assert said(torch.compile(function, backend="eager")) == said(function)


@pytest.mark.parametrize("function", WHOLE)
def test_one_graph(function):
    counter = CompileCounter()
    torch.compile(function, backend=counter, fullgraph=True)(torch.ones(2))
    assert counter.frame_count == 1


def test_a_lost_one_is_found_once():
    """The frame is traced again, breaks where the object is made, and is not traced whole by later compilations."""

    def lost(x):
        q = Quits(1)
        return x + q.v

    counter = CompileCounter()
    fast = torch.compile(lost, backend=counter)
    for n in (2, 3, 4, 5):
        assert fast(torch.ones(n)).tolist() == [2.0] * n
    assert counter.frame_count == 2

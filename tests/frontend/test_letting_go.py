"""Code of the program that runs when an object goes, in the middle of a function that lets go of it: what it changes is
neither lost nor overwritten."""

import weakref
from collections import OrderedDict, deque

import pytest

import minidynamo as torch
from frontend.differential import Box

pytestmark = pytest.mark.usefixtures("no_defects")


class Acting:
    def __init__(self, then):
        self.then = then

    def __del__(self):
        self.then()


def acting_on(box):
    """Adds to the box when it goes."""
    known = weakref.ref(box)

    def add():
        if known():
            known().n += 100

    return Acting(add)


MAKERS = {
    "object": lambda d: d,
    "list": lambda d: [d],
    "three": lambda d: [1, d, 2],
    "dict": lambda d: {"k": d},
    "key": lambda d: {d: 1},
    "set": lambda d: {d},
    "deque": lambda d: deque([d]),
    "bounded": lambda d: deque([d], maxlen=1),
    "ordered": lambda d: OrderedDict(k=d),
    "nested": lambda d: [[d]],
}
STATEMENTS = {
    "object": ["box.c = None", "del box.c"],
    "list": [
        "box.c.clear()", "box.c[:] = []", "del box.c[0]", "del box.c[:]", "box.c.pop(0)", "box.c.remove(box.c[0])",
        "box.c *= 0", "box.c[0:1] = [1]", "box.c[0] = 1",
    ],
    "three": ["del box.c[1]", "box.c[1:2] = []", "box.c[::-1] = [3, 4, 5]", "del box.c[1::2]", "box.c[1::2] = [0]"],
    "dict": ["box.c.clear()", "box.c.pop('k')", "box.c.popitem()", "box.c.update(k=1)", "box.c['k'] = 1"],
    "key": ["box.c.clear()", "box.c.popitem()", "del box.c[next(iter(box.c))]"],
    "set": ["box.c.clear()", "box.c.pop()", "box.c -= set(box.c)"],
    "deque": ["box.c.clear()", "box.c.pop()", "box.c[0] = 1", "del box.c[0]"],
    "bounded": ["box.c.append(1)", "box.c.extend([1])"],
    "ordered": ["del box.c['k']", "box.c['k'] = 1"],
    "nested": ["box.c.clear()", "box.c[0].clear()", "box.c[0] = 1", "box.c = None", "box.c.pop()"],
}  # fmt: skip
CASES = [(kind, statement) for kind, statements in STATEMENTS.items() for statement in statements]


def totals(call, make, acting):
    """What the box has counted after each of several calls; `acting`: for which of them something acts at its end."""
    found = []
    for acts in acting:
        box = Box(n=0)
        box.c = make(acting_on(box) if acts else Box())
        assert call(torch.ones(2), box).tolist() == [2, 2]
        found.append(box.n)
    return found


@pytest.mark.parametrize(("kind", "statement"), CASES, ids=[f"{k}: {s}" for k, s in CASES])
@pytest.mark.parametrize("acting", [[True, True, False], [False, False, True, True]], ids=["first", "later"])
def test_what_an_object_does_at_its_end(kind, statement, acting):
    """Seen while tracing the frame is split there; where it was not there yet, its end comes after all effects."""
    space = {}
    exec(f"def f(x, box):\n    {statement}\n    box.n += 1\n    return x + 1\n", space)
    f, compiled = space["f"], torch.compile(space["f"])
    assert totals(compiled, MAKERS[kind], acting) == totals(f, MAKERS[kind], acting)


def test_globals_and_cells():
    cell = None

    def f(x, box):
        global kept
        kept = None
        box.n += 1
        return x + 1

    def g(x, box):
        nonlocal cell
        cell = None
        box.n += 1
        return x + 1

    def h(x, box):
        nonlocal cell
        del cell
        box.n += 1
        return x + 1

    global kept
    for function in (f, g, h):
        for acting in ([True, True], [False, True, True]):
            torch._dynamo.reset()
            compiled = torch.compile(function)
            for acts in acting:
                box = Box(n=0)
                kept = cell = acting_on(box) if acts else Box()
                if function is f:
                    cell = None
                else:
                    kept = None
                assert compiled(torch.ones(2), box).tolist() == [2, 2]
                assert box.n == (101 if acts else 1)


def test_a_callback_of_a_weak_reference():
    def f(x, box):
        box.parts.clear()
        box.n += 1
        return x + 1

    compiled = torch.compile(f)
    for _ in range(2):
        part = Box()
        box = Box(n=0, parts=[part])

        def add(_, box=box):
            box.n += 100

        box.ref = weakref.ref(part, add)
        del part
        compiled(torch.ones(2), box)
        assert box.n == 101

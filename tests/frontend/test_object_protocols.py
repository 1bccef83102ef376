"""Special methods in Python's order, and objects that die when they would."""

import gc
import weakref

import pytest

import minidynamo as torch
from frontend.differential import same


class Asked:
    """Knows nobody, and writes down that it was asked."""

    def __init__(self, log):
        self.log = log

    def __eq__(self, other):
        self.log.append("eq")
        return NotImplemented

    def __divmod__(self, other):
        self.log.append("divmod")
        return 1, 2

    def __len__(self):
        return 0


def test_both_sides_are_asked():
    def f(x, log):
        a, b = Asked(log), Asked(log)
        return x + 1, a == b, a != b, divmod(a, 2), bool(a)

    same(f, lambda: (torch.ones(2), []))


def test_objects_of_c_types_are_compared_by_python():
    def f(x, a, b):
        return x + 1, a == b

    same(f, lambda: (torch.ones(2), bytearray(b"ab"), bytearray(b"ab")))
    same(f, lambda: (torch.ones(2), slice(1, 2), slice(1, 2)))


def test_results_of_folding_are_not_shared():
    code = test_both_sides_are_asked.__code__

    @torch.compile
    def f(x):
        return x + 1, list(code.co_lines())

    first, again = f(torch.ones(2))[1], f(torch.ones(2))[1]
    assert first == again == list(code.co_lines())


class Node:
    pass


def test_an_object_dies_with_its_variable():
    @torch.compile
    def f(x):
        node = Node()
        node.me = node
        print(end="")
        seen = weakref.ref(node)
        before = seen() is not None
        del node
        gc.collect()
        return x + 1, before, seen() is None

    for _ in range(3):
        assert f(torch.ones(2))[1:] == (True, True)


def test_a_trace_keeps_no_object():
    class Holder:
        def set(self, x):
            self.me = self
            return x + 1

    holder = Holder()
    torch.compile(holder.set)(torch.ones(2))
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


class Counted:
    """Says what it is asked; `length` is what __len__ gives or raises."""

    def __init__(self, log, length, hint=2):
        self.log, self.length, self.hint = log, length, hint

    def __iter__(self):
        self.log.append("iter")
        yield from "ab"

    def __len__(self):
        self.log.append("len")
        if isinstance(self.length, Exception):
            raise self.length
        return self.length

    def __length_hint__(self):
        self.log.append("hint")
        return self.hint


USES = {
    "list": list,
    "tuple": tuple,
    "sorted": sorted,
    "star": lambda c: [0, *c],
    "join": lambda c: "-".join(c),
    "set": set,
    "extend": lambda c: [1].extend(c),
    "slice": lambda c: [1, 2].__setitem__(slice(0, 1), c),
    "for": lambda c: [k for k in c],
}


@pytest.mark.parametrize("length", [2, 9, -1, "x", TypeError("no"), KeyError("k")], ids=str)
@pytest.mark.parametrize("use", USES)
def test_objects_are_asked_for_their_length(use, length):
    def f(x, log):
        try:
            found = USES[use](Counted(log, length))
        except (ValueError, KeyError) as error:
            found = type(error).__name__
        return x + 1, str(sorted(found)) if isinstance(found, set) else found

    same(f, lambda: (torch.ones(2), []))

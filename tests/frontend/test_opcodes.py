"""Instructions that few programs contain: traced into one graph, with plain Python's results."""

import dis
import types

import pytest

import minidynamo as torch
from frontend.differential import same

STEPS = None


def x():
    return torch.tensor([1.0, 2.0, 3.0])


def one():
    return (x(),)


def test_globals_are_stored_in_one_graph():
    def f(a):
        global STEPS
        STEPS = a.shape[0]
        STEPS += 1
        b = a * STEPS
        return b, STEPS

    def tensor_stored(a):
        global STEPS
        STEPS = a + 1
        return STEPS * 2

    same(f, one, frames=1, breaks=[])
    assert STEPS == 4
    same(tensor_stored, one, frames=1, breaks=[])
    assert STEPS.tolist() == [2.0, 3.0, 4.0]


def test_imports_inside_functions():
    def f(a):
        import math as m
        from functools import reduce
        from math import pi, sqrt

        return a * pi, sqrt(4.0), reduce(lambda p, q: p * q, [1, 2, 3]), m.floor(2.5)

    def missing(a):
        try:
            from math import nothing_of_that_name
        except ImportError as e:
            return a + 1, str(e), e.name
        return nothing_of_that_name

    same(f, one, frames=1, breaks=[])
    same(missing, one)


# Compiled here, since pytest rewrites the assertions of test modules.
ASSERTIONS = """
def caught(a, n):
    try:
        assert n > 1, "too small"
    except AssertionError as e:
        return a - 1, e.args
    return a + n

def left(a, n):
    assert n > 1
    return a + n
"""


@pytest.mark.parametrize("n", [1, 2])
def test_assertions(n):
    scope = {}
    exec(compile(ASSERTIONS, "<assertions>", "exec"), scope)
    same(scope["caught"], lambda: (x(), n), breaks=["GB0034"] if n == 1 else [])
    same(scope["left"], lambda: (x(), n), breaks=["GB0088"] if n == 1 else [])


def test_sets_are_spread():
    def f(a, items):
        s = {*items, 3, *range(2)}
        return a * len(s), s, 4 in s

    same(f, lambda: (x(), [4, 4, 1]), frames=1, breaks=[])


def test_cells_are_deleted():
    def f(a):
        k = a + 1

        def read():
            return k

        first = read()
        del k
        try:
            second = read()
        except NameError as e:
            second = str(e)
        k = a * 2
        return first, second, read()

    same(f, one, breaks=["GB0082"])  # which the registry lists
    with torch._dynamo.config.patch(trace_more=True):
        same(f, one, frames=1, breaks=[])


def test_length_in_a_pattern():
    # Sequence patterns ask MATCH_SEQUENCE, which has no rule, then GET_LEN: here the first answer is put in its place.
    def pair(a, items):
        yes = True
        match items:
            case [p, q]:
                return a + p * q, yes
        return a

    code = bytearray(pair.__code__.co_code)
    for i in dis.get_instructions(pair):
        if i.opname == "MATCH_SEQUENCE":
            code[i.offset : i.offset + 2] = bytes([dis.opmap["LOAD_CONST"], pair.__code__.co_consts.index(True)])
    edited = types.FunctionType(pair.__code__.replace(co_code=bytes(code)), globals())
    for items in ([2, 3], (4, x()), [1]):
        same(edited, lambda items=items: (x(), items), breaks=[])
        assert edited(x(), items)[0].tolist() == pair(x(), items)[0].tolist()

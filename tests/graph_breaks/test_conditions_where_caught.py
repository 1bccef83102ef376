"""Codes that say an exception would be raised break inside `try` and `with` too; with trace_more the handler is traced.

The programs assert for themselves: PYTEST_DONT_REWRITE.
"""

import enum
import functools
import operator
import sys
import unittest

import pytest

import minidynamo as torch
from graph_breaks.condition_rows import check, vector


class Colour(enum.Enum):
    RED = 1


class Word(enum.StrEnum):
    A = "a"


class Plain:
    pass


class Holder:
    def __init__(self, held):
        self.held = held


class Named:
    __str__ = object.__repr__


class Base:
    first = operator.itemgetter(0)
    added = functools.partial(operator.add, 3)


class Below(Base):
    def ask(self, x):
        return super().first((x, 1))

    def add(self, x):
        return super().added(x)


def unpacked(x):
    try:
        (a, b), c = (3, 4)
    except TypeError:
        return x + 1
    return x + a + b + c


def unpacked_under_no_grad(x):
    def number():
        return 3.5

    try:
        with torch.no_grad():
            a, b = number()
    except TypeError:
        return x * 2
    return x + a + b


def starred(x):
    try:
        a, *b = 5
    except TypeError:
        return x + 1
    return x + a + len(b)


def wrong_length(x):
    try:
        a, b = "xyz"
    except ValueError as error:
        return x + len(error.args)
    return x


def unbound(x):
    try:
        return x + y  # noqa: F821
    except UnboundLocalError:
        return x - 1
    y = 2  # noqa: F841


def unbound_under_no_grad(x):
    with torch.no_grad():
        while False:
            w = 1
        try:
            return x * w
        except NameError:
            return x


def empty_cell(x):
    def read():
        return y

    try:
        return x + read()
    except NameError:
        return x - 1
    y = 2


def raised_none(x):
    nothing = None
    try:
        raise nothing
    except TypeError:
        return x + 1


def no_member(x):
    try:
        return x + Colour(7).value
    except ValueError:
        return x + 1


def no_member_by_name(x):
    try:
        return x + len(Word(value="q"))
    except ValueError:
        return x


CAUGHT = [
    ("GB0062", starred),
    ("GB0063", unpacked),
    ("GB0063", unpacked_under_no_grad),
    ("GB0077", wrong_length),
    ("GB0011", unbound),
    ("GB0011", unbound_under_no_grad),
    ("GB0091", empty_cell),
    ("GB0057", raised_none),
    ("GB0054", no_member),
    ("GB0054", no_member_by_name),
]


@pytest.mark.parametrize(("code", "function"), CAUGHT, ids=[f.__name__ for _, f in CAUGHT])
def test_breaks_where_a_handler_waits(code, function):
    check(code, function)


@pytest.mark.parametrize("function", [f for _, f in CAUGHT], ids=[f.__name__ for _, f in CAUGHT])
def test_handlers_are_traced_with_trace_more(function):
    with torch._dynamo.config.patch(trace_more=True):
        assert torch.equal(torch.compile(function, fullgraph=True)(*vector()), function(*vector()))


def asserted_below_no_grad(x):
    def need(d):
        assert "k" in d and d["k"] > 3

    with torch.no_grad():
        need({"k": 1})
    return x


def deleted_again():
    held = Plain()

    def f(x):
        held.a = x
        del held.a
        try:
            del held.a
        except AttributeError:
            x = x + 5
        return x

    return f


async def later(x):
    return await x


def asked_of_coroutine(x):
    made = later(x)
    made.close()
    return x + 1


def set_tensor(x):
    x.decay, x.owner = 0.5, Holder(x * 2)
    x.decay += 1
    return x.owner.held * x.decay, hasattr(x, "decay"), getattr(x, "other", 3)


def set_result(x):
    y, z = x + 1, x * 2
    y.note, z.note = z, 4
    return y.note * y.note.note


ROWS = [
    ("GB0005", lambda x: x + len(list(map(str, [Named()]))[0][:3])),
    ("GB0006", lambda x: Below().ask(x)),
    # Partials have begun to bind in CPython 3.13.
    *([("GB0006", lambda x: Below().add(x))] if sys.version_info < (3, 13) else []),
    ("GB0007", lambda x: x + (__import__("math") is not None)),
    ("GB0010", deleted_again()),
    ("GB0033", lambda x: x + torch.ops.aten.equal(x, x)),
    ("GB0034", asserted_below_no_grad),
    ("GB0055", lambda x: torch.stack((x, Holder(1)))),
    ("GB0055", lambda x: x + Holder(1)),
    ("GB0055", lambda x: Holder(1) * x),
    ("GB0055", lambda x: x[Holder(1)]),
    ("GB0055", lambda x: torch.sin(len)),
    ("GB0059", lambda x: x + memoryview(b"abc")[0]),
    ("GB0059", lambda x: x + len(bytearray(b"ab"))),
    ("GB0082", asked_of_coroutine),
    ("GB0109", lambda x: list(map(torch.Tensor.tolist, [x.to(torch.uint8)]))),
    (None, lambda x: x + 1 if (x == Holder(1)) is False else x),
    (None, set_tensor),
    (None, set_result),
]


@pytest.mark.parametrize(("code", "function"), ROWS)
def test_other_ways_to_the_condition(code, function):
    check(code, function)


def test_attributes_of_tensors_are_there_after_the_call():
    def f(x):
        y = x + 1
        x.tag, y.tag = 3, x
        return y

    given = torch.ones(2)
    y = torch.compile(f, fullgraph=True)(given)
    assert (given.tag, y.tag is given) == (3, True)


def test_compressed_sparse_tensors_are_sparse():
    held = {"k": [torch.eye(3).to_sparse_csr()]}
    check("GB0015", lambda x: x + held["k"][0].to_dense(), lambda: (torch.ones(3),))


def test_warnings_of_unittest_are_looked_up():
    case = unittest.FunctionTestCase(lambda: None)
    with torch._dynamo.config.patch(enable_trace_unittest=True):
        check("GB0060", lambda x: x + callable(getattr(case, "assertWarnsRegex")))  # noqa: B009  by this name


def sized_before(x):
    fits = x.shape[0] == 7
    y = x + 1
    assert fits, "seven"
    return y


def sized_and_caught(x):
    try:
        assert len(x) == 3
    except AssertionError:
        return x - 1
    return x


@pytest.mark.parametrize("function", [sized_before, sized_and_caught])
def test_assertions_of_sizes(function):
    whole = torch.compile(function, fullgraph=True, dynamic=True)
    with pytest.raises(torch._dynamo.exc.Unsupported) as refused:
        whole(torch.ones(4))
    assert refused.value.gb_code == "GB0002"


def test_sizes_that_hold_are_asserted():
    def f(x):
        fits = x.shape[0] > 2
        assert fits
        return x + 1

    torch.compile(f, fullgraph=True, dynamic=True)(torch.ones(4))

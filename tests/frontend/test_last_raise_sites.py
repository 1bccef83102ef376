"""More breaks whose code is raised at several places: what objects, iterators, arrays and tensors end a graph with."""

import ctypes
import functools
import itertools
import operator
import sys
import time
import types
from unittest import mock

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import Defects, breaks_with, codes, same
from minidynamo._dynamo import config
from minidynamo._dynamo.exc import Unsupported
from minidynamo._dynamo.utils import counters


def one():
    return (torch.ones(2),)


def says(text, f):
    same(f, one)
    assert any(text in str(reason) for reasons in counters.values() for reason in reasons)


class Plain:
    written = property(lambda self: 1, operator.is_)


absolute = ctypes.CDLL(None).abs


def test_an_object_that_c_calls():
    breaks_with("GB0156", lambda x: (x + 1, absolute(-3)))


def test_arrays():
    def length(a):
        try:
            return a + 1, len(a)
        except TypeError as error:
            return str(error)

    breaks_with("GB0158", length, lambda: (np.array(3.0),))
    breaks_with("GB0170", lambda a: (a + 1, [not a]), lambda: (np.ones(1),))


def test_a_switch_of_the_mode_is_returned():
    def f(x):
        with torch.no_grad():
            return x + 1, type(torch.set_grad_enabled(False)).__name__, torch.set_grad_enabled(True)

    torch._dynamo.reset()
    counters.clear()
    torch.compile(f, backend="eager")(torch.ones(2))
    assert "GB0092" in codes() and torch.is_grad_enabled()


def test_iterators_over_what_has_changed():
    def over_dict(x, d):
        keys = iter(d)
        first = next(keys)
        d[first] = 7
        return x + 1, keys

    breaks_with("GB0092", over_dict, lambda: (torch.ones(2), {1: 2, 3: 4}))

    def backward(x, items):
        last = reversed(items)
        items.append(next(last))
        return x + 1, last

    breaks_with("GB0092", backward, lambda: (torch.ones(2), [1, 2, 3]))


def test_attributes():
    def deleted(x, marked):
        del marked.mark
        return x + 1, marked.mark

    def marked():
        made = Plain()
        made.mark = 1
        return torch.ones(2), made

    breaks_with("GB0010", deleted, marked)

    def stored(x):
        Plain().written = 3
        return x + 1

    says("STORE_ATTR-caused graph break", stored)


def test_keywords_of_a_partial_object_are_returned_with_it():
    def f(x):
        made = functools.partial(max, 1, key=abs)
        return made.keywords, x + 1, made

    torch._dynamo.reset()
    counters.clear()
    keywords, _, made = torch.compile(f, backend="eager")(torch.ones(2))
    assert keywords is made.keywords and "GB0092" in codes()


def test_tensors():
    breaks_with("GB0110", lambda x: x.uniform_(**{"from": 0.5, "to": 0.5}))
    with config.patch(capture_scalar_outputs=True):
        breaks_with(
            "GB0033",
            lambda x, i: (x + 1, x[(i + 0).item() :].storage_offset()),
            lambda: (torch.arange(4.0), torch.tensor(2)),
        )

    def f(x):
        try:
            return (x + 1).numpy()
        except RuntimeError:
            return x

    with mock.patch.dict(sys.modules, numpy=None):
        torch._dynamo.reset()
        counters.clear()
        torch.compile(f, backend="eager")(torch.ones(2))
        assert "GB0106" in codes()


def test_a_set_that_iterates_in_another_order_when_made_again():
    def f(x):
        made = {48, 32, 168, 240, 280}
        made.discard(240)
        return x + 1, made, made.copy()

    breaks_with("GB0092", f)


def test_iterators_and_namespaces_that_hold_themselves():
    def over_itself(x):
        items = []
        it = iter(items)
        items.append(it)
        return x + 1, it

    def called_with_itself(x):
        items = []
        it = map(items.append, ())
        items.append(it)
        return x + 1, it

    def named(x):
        space = types.SimpleNamespace(a=1)
        space.b = space
        return x + 1, space

    for f in (over_itself, called_with_itself, named):
        torch._dynamo.reset()
        counters.clear()
        value, made = torch.compile(f)(torch.ones(2))
        assert "GB0092" in codes() and value.tolist() == [2, 2]
        assert made.b is made if f is named else type(made) is type(f(torch.ones(2))[1])


def test_a_library_iterator_made_by_way_of_itself():
    def f(x):
        items = []
        given = (items,)
        it = itertools.starmap(print, given)
        items.append(it)
        return x + 1, given, it

    torch._dynamo.reset()
    counters.clear()
    _, given, it = torch.compile(f, fullgraph=True)(torch.ones(2))
    assert given[0][0] is it and type(it) is itertools.starmap


@torch._dynamo.allow_in_graph
def kept(x, given):
    return x + 1


@torch._dynamo.allow_in_graph
def cut(x, where):
    assert type(where) is slice
    return x[where]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_slices_are_arguments_of_a_node(backend):
    def f(x):
        return cut(x, slice(1, x.shape[0] - 1)) + cut(x, slice(None, None, 2))[:1]

    torch._dynamo.reset()
    compiled = torch.compile(f, backend=backend, fullgraph=True, dynamic=True)
    for n in (4, 7):
        assert torch.equal(compiled(torch.arange(n)), f(torch.arange(n)))


def test_a_range_is_no_argument_of_a_node():
    breaks_with("GB0055", lambda x: kept(x, range(3)))


def test_arguments_that_a_node_cannot_hold():
    breaks_with("GB0055", lambda x: kept(x, {1, 2}))
    breaks_with("GB0055", lambda x: kept(x, [Plain()]))


def refused(f, *args):
    torch._dynamo.reset()
    with pytest.raises(Unsupported) as caught:
        torch.compile(f, backend="eager", fullgraph=True)(*args)
    return caught.value.gb_code


def test_truth_of_what_only_a_run_knows():
    x, a = torch.ones(2), np.ones(1)
    assert torch.compile(lambda a: bool(a + 1), fullgraph=True)(a) is True  # read, as of tensors
    assert refused(lambda a: (a + 1, a in [a + 1]), a) == "GB0170"
    with config.patch(capture_scalar_outputs=True):
        assert refused(lambda x: (x + 1, bool(x.sum().item())), x) == "GB0170"
        assert refused(lambda x: (x + 1, list(filter(None, [x.sum().item()]))), x) == "GB0170"


class Odd(float):
    pass


def test_hashes_of_nans():
    """They tell one NaN from another."""

    def f(x, number):
        return x + 1, hash(number) == object.__hash__(number)

    torch._dynamo.reset()
    compiled = torch.compile(f, backend="eager")
    for _ in range(3):
        assert compiled(torch.ones(2), float("nan"))[1]
        assert compiled(torch.ones(2), Odd("nan"))[1]

    def made(x):
        number = Odd("nan")
        return hash(number) == object.__hash__(number)

    assert torch.compile(made, backend="eager")(torch.ones(2))
    for value in (float("nan"), complex(0, float("nan")), frozenset([float("nan")])):
        breaks_with("GB0147", lambda x, v: (x + 1, hash(v)), lambda v=value: (torch.ones(2), v))


class Coded(Exception):
    def __init__(self, code, text="t"):
        super().__init__(text)
        self.code = code


class Numbered(OSError):
    def __init__(self, number, text, place):
        super().__init__(number, text)
        self.place = place


def test_exceptions_that_leave_the_trace_are_made_once():
    """What their __init__ does has been traced; it does not run again."""

    def f(x):
        try:
            raise Coded(5, "n")
        except Coded as error:
            caught = error
        return x + 1, Coded(3, text="why"), Numbered(2, "b", 7), caught.code

    torch._dynamo.reset()
    _, coded, numbered, code = torch.compile(f, fullgraph=True)(torch.ones(2))
    assert (coded.args, coded.code, code) == (("why",), 3, 5)
    assert (numbered.args, numbered.errno, numbered.place, str(numbered)) == ((2, "b"), 2, 7, "[Errno 2] b")


def test_fields_of_records_made_in_c():
    def f(x, found, times):
        return x + found.values, found.indices, times.tm_year, found

    now = time.gmtime(0)
    x = torch.ones(2)
    torch._dynamo.reset()
    compiled = torch.compile(f, fullgraph=True)
    for count in (3, 4):
        found = torch.topk(torch.arange(float(count)), 2)
        plain, own = f(x, found, now), compiled(x, found, now)
        assert own[0].tolist() == plain[0].tolist() and own[1] is found.indices and own[2:] == (1970, found)

    def g(x):
        found = torch.topk(x, 2)
        torch._dynamo.graph_break()
        return found.values + 1

    with Defects() as defects:
        assert torch.compile(g)(torch.arange(3.0)).tolist() == [3, 2]
    assert defects == []

"""Tracebacks of compiled functions that broke and went on: one entry for each frame of the user, with the function's
own code, the line, the variables and the caller."""

import sys
import traceback

import pytest

import minidynamo as torch


def boom(x):
    raise KeyError("here")


def broken(x, k, fail):
    y = x + 1
    torch._dynamo.graph_break()
    z = y * 2
    fail(z)
    return y + z + k


def two_breaks(x, k, fail):
    y = x + 1
    torch._dynamo.graph_break()
    z = y * 2
    torch._dynamo.graph_break()
    z = z + k
    return fail(z) + y


def at_the_break(x, k, fail):
    y = x + 1
    w = fail(y)
    return y + w + k


def reraised(x, k, fail):
    y = x + 1
    torch._dynamo.graph_break()
    try:
        fail(y)
    except KeyError:
        raise


def chained(x, k, fail):
    y = x + 1
    torch._dynamo.graph_break()
    try:
        fail(y)
    except KeyError as e:
        raise ValueError("other") from e


def in_handler(x, k, fail):
    y = x + 1
    torch._dynamo.graph_break()
    try:
        fail(y)
    except KeyError:
        fail(y * k)


def in_with(x, k, fail):
    with torch.no_grad():
        y = x + 1
        torch._dynamo.graph_break()
        fail(y)
    return y + k


def closed_over(x, k, fail):
    y = x + 1

    def inner():
        return y + k

    torch._dynamo.graph_break()
    y = inner()
    fail(y)
    return y


def nested(x, k, fail):
    y = x + 1
    torch._dynamo.graph_break()
    return broken(y, k, fail) + y


def of_generator(x, k, fail):
    def steps(y):
        yield y
        fail(y)

    y = x + 1
    torch._dynamo.graph_break()
    return [step for step in steps(y)]


def by_data(x, k, fail):
    y = x + 1
    if y.sum() > 0:
        y = y * 2
        fail(y)
    return y + k


def own_error(x, k, fail):
    y = x + 1
    torch._dynamo.graph_break()
    return y / [][k]


def grouped(x, k, fail):
    y = x + 1
    torch._dynamo.graph_break()
    try:
        fail(y)
    except KeyError as e:
        raise ExceptionGroup("several", [e, ValueError("too")]) from None


def without_traceback(x, k, fail):
    y = x + 1
    torch._dynamo.graph_break()
    try:
        fail(y)
    except KeyError as e:
        raise e.with_traceback(None)  # noqa: B904


def caused_without(x, k, fail):
    y = x + 1
    torch._dynamo.graph_break()
    try:
        fail(y)
    except KeyError as e:
        e.__traceback__ = None
        raise ValueError("other") from e


def grouped_without(x, k, fail):
    y = x + 1
    torch._dynamo.graph_break()
    try:
        fail(y)
    except KeyError as e:
        e.__traceback__ = None
        raise ExceptionGroup("several", [e, ValueError("too").with_traceback(None)]) from None


FUNCTIONS = [broken, two_breaks, at_the_break, reraised, chained, in_handler, in_with, closed_over, nested]
FUNCTIONS += [of_generator, by_data, own_error, grouped, without_traceback, caused_without, grouped_without]


def entries(tb):
    out = []
    while tb:
        out.append((tb.tb_frame.f_code, tb.tb_lineno, tb.tb_frame.f_lineno, tb.tb_frame))
        tb = tb.tb_next
    return out


def exceptions(e, seen=None):
    seen = {} if seen is None else seen
    if e is None or id(e) in seen:
        return []
    seen[id(e)] = e
    out = [e] + exceptions(e.__cause__, seen) + exceptions(e.__context__, seen)
    for member in getattr(e, "exceptions", ()):
        out += exceptions(member, seen)
    return out


def caught(f, *args):
    try:
        f(*args)
    except Exception as e:
        return e
    raise AssertionError("nothing was raised")


def places(e):
    return [(type(x), [(c, line, at) for c, line, at, _ in entries(x.__traceback__)[1 if x is e else 0 :]])
            for x in exceptions(e)]  # fmt: skip


@pytest.fixture(params=[False, True], ids=["", "trace_more"])
def more(request):
    with torch._dynamo.config.patch(trace_more=request.param):
        yield request.param


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_code_and_lines(f, more):
    args = torch.ones(2), 3, boom
    want = caught(f, *args)
    compiled = torch.compile(f, backend="eager")
    for _ in range(3):
        got = caught(compiled, *args)
        assert places(got) == places(want)
        assert traceback.format_exception(got)[2:] == traceback.format_exception(want)[2:]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_variables(f, more):
    """Arguments that are not replaced, and what the rest of the function still needs or has made."""
    args = torch.ones(2), 3, boom
    plain = entries(caught(f, *args).__traceback__)[1]
    compiled = torch.compile(f, backend="eager")
    for _ in range(3):
        frame = entries(caught(compiled, *args).__traceback__)[1][3]
        assert frame.f_code is f.__code__
        assert frame.f_globals is f.__globals__
        assert set(frame.f_locals) <= set(plain[3].f_locals)
        assert set(frame.f_locals) >= {"x", "k", "fail"}
        for name, value in frame.f_locals.items():
            if isinstance(value, torch.Tensor):
                assert value.tolist() == plain[3].f_locals[name].tolist()
        assert frame.f_back.f_code is caught.__code__


def test_frames_are_shared_and_can_be_cleared(more):
    compiled = torch.compile(in_handler, backend="eager")
    e = caught(compiled, torch.ones(2), 3, boom)
    own = entries(e.__traceback__)[1][3]
    assert entries(e.__context__.__traceback__)[0][3] is own
    own.clear()
    assert "y" not in own.f_locals
    traceback.clear_frames(e.__traceback__)


def test_seen_by_the_caller(more):
    compiled = torch.compile(broken, backend="eager")

    def caller(x):
        try:
            compiled(x, 1, boom)
        except KeyError:
            return [frame for frame, _ in traceback.walk_tb(sys.exc_info()[2])]

    for _ in range(2):
        codes = [frame.f_code for frame in caller(torch.ones(2))]
        assert codes == [caller.__code__, broken.__code__, boom.__code__]


def test_arguments_are_let_go(more):
    """A frame in a traceback holds what it holds plain, and nothing once the exception is gone."""
    import gc
    import weakref

    class Held: ...

    held = Held()
    gone = weakref.ref(held)
    compiled = torch.compile(broken, backend="eager")
    e = caught(compiled, torch.ones(2), 1, boom)
    del e

    def fail(z, h=held):
        raise KeyError

    e = caught(compiled, torch.ones(2), 1, fail)
    del held, fail
    assert gone() is not None
    del e
    gc.collect()
    assert gone() is None

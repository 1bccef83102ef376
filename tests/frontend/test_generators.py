"""Generators in traced code: send, throw, close, delegation, and those that leave the function."""

import contextlib

import pytest

import minidynamo as torch
from frontend.differential import same


def x():
    return torch.tensor([1.0, 2.0])


def echo(log):
    sent = yield "start"
    while True:
        try:
            sent = yield sent
        except ValueError as e:
            log.append(("caught", str(e)))
            sent = yield "recovered"
        finally:
            log.append("step")


def sends(a):
    log = []
    g = echo(log)
    out = [next(g), g.send(1), g.send(2), g.throw(ValueError("v")), g.send(3)]
    g.close()
    return a + len(out), out, log, next(g, "closed")


def outer(log):
    try:
        got = yield from inner(log)
        log.append(("got", got))
        yield got
    except KeyError:
        log.append("key")
        yield "handled"


def inner(log):
    try:
        yield 1
        yield 2
    except TypeError:
        log.append("type")
        return "from inner"
    finally:
        log.append("inner done")


def throws_into_delegate(a):
    log = []
    g = outer(log)
    first, second = next(g), g.throw(TypeError)
    g.close()
    h = outer(log)
    next(h)
    third = h.throw(KeyError("k"))
    return a + 1, first, second, third, log


def closes_delegate(a):
    log = []
    g = outer(log)
    next(g)
    g.close()
    return a + len(log), log


def wrong_uses(a):
    seen = []
    g = echo([])
    for use in (lambda: g.send(1), lambda: next(stops()), lambda: ignoring().close()):
        try:
            use()
        except (TypeError, RuntimeError) as e:
            seen.append((type(e).__name__, str(e), type(e.__cause__).__name__))
    return a + len(seen), seen


def stops():
    raise StopIteration("early")
    yield


def ignoring():
    g = stubborn()
    next(g)
    return g


def stubborn():
    while True:
        try:
            yield 1
        except GeneratorExit:
            pass


def throws_before_start(a):
    g = echo([])
    try:
        g.throw(ValueError, "never began")
    except ValueError as e:
        return a + 1, str(e), next(g, "over")


@contextlib.contextmanager
def manager(log, swallow):
    log.append("enter")
    try:
        yield 5
    except ValueError as e:
        log.append(str(e))
        if not swallow:
            raise
    finally:
        log.append("exit")


def manager_with_errors(a):
    log = []
    with manager(log, True) as v:
        a = a + v
        raise ValueError("inside")
    try:
        with manager(log, False):
            raise ValueError("passes")
    except ValueError as e:
        log.append(("outside", str(e)))
    return a, log


@pytest.mark.parametrize(
    "function",
    [sends, throws_into_delegate, closes_delegate, throws_before_start, manager_with_errors],
    ids=lambda f: f.__name__,
)
def test_traced_whole(function):
    same(function, lambda: (x(),), frames=1, breaks=[])


def test_wrong_uses():
    same(wrong_uses, lambda: (x(),))


def numbers(a, n=2, *, extra=0):
    for i in range(n):
        yield a * i


def returned(a):
    k = 3
    return (i + k for i in [1, 2]), plain(a), a + 1


def plain(a):
    yield a
    yield a + 1


def with_keywords(a):
    return numbers(a, extra=1), a + 1


def test_not_started_it_leaves_as_a_generator():
    torch._dynamo.reset()
    compiled = torch.compile(returned, fullgraph=True)
    for _ in range(2):
        first, second, third = compiled(x())
        assert type(first).__name__ == "generator" and first.__name__ == "<genexpr>"
        assert list(first) == [4, 5] and list(first) == []
        assert [v.tolist() for v in second] == [[1.0, 2.0], [2.0, 3.0]] and third.tolist() == [2.0, 3.0]
    same(with_keywords, lambda: (x(),))


def chained(a):
    def fail():
        raise KeyError("second")

    try:
        try:
            raise ValueError("first")
        except ValueError:
            fail()
    except KeyError as e:
        return a + 1, type(e.__context__).__name__, e.__suppress_context__


def reraised_by_a_callee(a):
    def again():
        raise

    try:
        try:
            raise ValueError("first")
        except ValueError:
            again()
    except ValueError as e:
        return a + 1, str(e)


def notes(a):
    e = ValueError("v")
    e.add_note("one")
    e.add_note("two")
    return a + len(e.__notes__), e.__notes__


class Coded(Exception):
    def __init__(self, code, text="t"):
        super().__init__(text)
        self.code = code

    @property
    def doubled(self):
        return self.code * 2


def own_exception(a):
    try:
        raise Coded(3, text="why")
    except Coded as e:
        return a + e.doubled, e.args, str(e)


def builtin_fields(a):
    try:
        raise OSError(2, "none", "file")
    except OSError as e:
        return a + e.errno, e.strerror, e.filename


@pytest.mark.parametrize(
    "function", [chained, reraised_by_a_callee, notes, own_exception, builtin_fields], ids=lambda f: f.__name__
)
def test_exceptions(function):
    same(function, lambda: (x(),), frames=1, breaks=[])


def whole_and_rest(a, v):
    match v:
        case {"kind": "scale", "by": by, **rest}:
            return a * by, rest
        case [first, *others, last]:
            return a + first + last, others
        case Coded(code=c):
            return a - c
        case int(n) | float(n) if n > 3:
            return a + n
        case str():
            return a - 1, "text"
        case None:
            return a + 100
        case _:
            return a * 2


@pytest.mark.parametrize(
    "value", [{"kind": "scale", "by": 3, "z": 1}, [1, 2, 3], (4, 5), 7, 2, 3.5, "s", None, {"kind": 1}, b"xy"], ids=repr
)
def test_match(value):
    same(whole_and_rest, lambda: (x(), value), frames=1, breaks=[])


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


class Odd:
    __match_args__ = ["x"]


def positional(a, p):
    match p:
        case Point(0, y):
            return a + y
        case Point(px, 0):
            return a * px
        case Odd(1):
            return a
    return a - 1


def test_class_patterns():
    for p in (Point(0, 2), Point(3, 0), Point(1, 1)):
        same(positional, lambda p=p: (x(), Point(p.x, p.y)), frames=1, breaks=[])
    same(positional, lambda: (x(), Odd()))


def test_iterators_over_what_was_changed_before():
    def f(x, table, group, items):
        del table["b"]
        group.add(5)
        items.append(3)
        views = iter(table.items()), iter(table), iter(group), iter(items), reversed(items)
        next(views[0]), next(views[3])
        torch._dynamo.graph_break()
        return x + 1, [list(v) for v in views]

    same(f, lambda: (torch.ones(2), {"a": 1, "b": 2, "c": 3}, {1, 2}, [1, 2]))


def logging_generator(a, log):
    try:
        for i in range(3):
            yield a + i
    finally:
        log.append("closed")


def left_by_break(a):
    log = []
    for v in logging_generator(a, log):
        a = a + v
        break
    log.append("behind")
    return a, log


def left_by_return(a):
    log = []

    def inner():
        for v in logging_generator(a, log):
            return v * 3

    return inner(), log


def left_in_a_variable(a):
    log = []
    g = logging_generator(a, log)
    first = next(g)
    g = None
    log.append("behind")
    return first, log


def left_at_the_end(a, log):
    g = logging_generator(a, log)
    return next(g)


def left_in_a_with(a):
    def under():
        with torch.no_grad():
            yield a * 2
            yield a * 3

    return next(under()), torch.is_grad_enabled()


@pytest.mark.parametrize("f", [left_by_break, left_by_return, left_in_a_variable, left_in_a_with])
def test_generators_that_are_left_are_closed(f):
    same(f, lambda: (x(),), frames=1, breaks=[])


def test_a_generator_left_at_the_end_is_closed():
    same(left_at_the_end, lambda: (x(), []), frames=1, breaks=[])


def test_a_generator_of_a_frame_that_raised_is_closed_by_python():
    def f(a):
        log = []

        def failing():
            g = logging_generator(a, log)
            next(g)
            raise ValueError

        try:
            failing()
        except ValueError as e:
            log.append(type(e).__name__)
        return a + 1, log

    same(f, lambda: (x(),))

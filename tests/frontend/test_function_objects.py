"""Function objects in traced code: attributes, functools.wraps, partial objects that escape."""

import functools

import pytest

import minidynamo as torch
from frontend.differential import same


def x():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def scaled(v, factor, *, offset=0, **more):
    """Documented."""
    return v * factor + offset + len(more)


scaled.unit = "m"


def attributes(v):
    def f():
        return v + f.count

    f.count = 1
    f.count += 1
    f.other = [v]
    had = hasattr(f, "other"), hasattr(f, "missing")
    del f.other
    return f(), f.count, had, hasattr(f, "other"), f.__name__, f.__module__, f.__doc__, f.__defaults__


def missing_attribute(v):
    def f():
        """Text."""

    seen = []
    for action in (lambda: f.nothing, lambda: delattr(f, "nothing"), lambda: setattr(f, "__name__", 3)):
        try:
            action()
        except (AttributeError, TypeError) as error:
            seen.append((type(error).__name__, str(error)))
    return v + 1, seen, f.__doc__


def wrapped(v):
    def plain(a: int, b=2) -> float:
        """Adds."""
        return a + b

    @functools.wraps(plain)
    def wrapper(*args):
        return plain(*args) * 2

    return wrapper(v), wrapper.__name__, wrapper.__doc__, wrapper.__wrapped__ is plain, wrapper.__qualname__


def partials(v):
    p = functools.partial(scaled, factor=2, offset=v)
    q = functools.partial(p, factor=3, extra=1)
    return p(v), q(v), q(v, offset=0), sorted(q.keywords), p.args


@pytest.mark.parametrize("f", [attributes, missing_attribute, wrapped, partials])
def test_same(f):
    same(f, x, breaks=())


def test_attributes_survive_the_trace():
    def make(v):
        def f(a: int):
            return a

        f.tag = v
        f.__name__ = "renamed"
        torch._dynamo.graph_break()
        f.late = 2
        return v + 1, f

    _, f = torch.compile(make, backend="eager")(*x())
    assert f.tag.tolist() == [1.0, 2.0, 3.0] and f.__name__ == "renamed" and f.late == 2
    assert f.__annotations__ == {"a": int}


def test_attribute_of_an_outside_function_is_set():
    def f(v):
        scaled.calls = getattr(scaled, "calls", 0) + 1
        return v + scaled.calls

    try:
        compiled = torch.compile(f, backend="eager")
        assert [compiled(*x())[0].item() for _ in range(3)] == [2.0, 3.0, 4.0]
        assert scaled.calls == 3
    finally:
        del scaled.calls


def test_partial_that_escapes():
    def make(v):
        return v + 1, functools.partial(scaled, v, 2, offset=v * 2)

    for backend in ("eager", "llvm"):
        _, p = torch.compile(make, backend=backend)(*x())
        assert type(p) is functools.partial and p.func is scaled and p.args[1] == 2
        assert list(p.keywords) == ["offset"] and p.keywords["offset"].tolist() == [2.0, 4.0, 6.0]
        assert p().tolist() == [4.0, 8.0, 12.0]


def test_wrapper_that_escapes():
    def make(v):
        def plain(a):
            return a + v

        @functools.wraps(plain)
        def wrapper(a):
            return plain(a) * 2

        wrapper.mark = 1
        return v + 1, wrapper

    _, w = torch.compile(make, backend="eager")(*x())
    assert (w.__name__, w.mark, w.__wrapped__.__name__) == ("plain", 1, "plain")
    assert w(torch.ones(3)).tolist() == [4.0, 6.0, 8.0]


def test_partial_given_from_outside():
    p = functools.partial(scaled, factor=2, offset=1)

    def f(v):
        return p(v, extra=1) + len(p.keywords)

    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(f, backend=counter, fullgraph=True)
    assert compiled(*x()).tolist() == f(*x()).tolist()
    p.keywords["offset"] = 5
    assert compiled(*x()).tolist() == f(*x()).tolist()
    p.keywords["another"] = 0
    assert compiled(*x()).tolist() == f(*x()).tolist()
    assert counter.frame_count == 3


def test_gradient_mode_set_by_a_call():
    def f(v):
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        inside = torch.is_grad_enabled()
        torch._dynamo.graph_break()
        after = torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        return v + 1, before, inside, after

    def g(v):
        with torch.set_grad_enabled(False):
            torch._dynamo.graph_break()
            inside = torch.is_grad_enabled()
        return v + 1, inside, torch.is_grad_enabled()

    same(f, x)
    same(g, x)
    assert torch.is_grad_enabled()


def test_tuples_of_code_objects_are_tuples():
    def g(first, second=2):
        return first

    def f(x):
        return x + len(g.__code__.co_varnames), g.__code__.co_varnames[: g.__code__.co_argcount] == ("first", "second")

    same(f, lambda: (torch.ones(2),), frames=1, breaks=[])

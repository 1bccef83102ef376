"""Debuggers: what a session of pdb shows of compiled code is what it shows of plain code."""

import asyncio
import gc
import io
import pdb
import re
import sys

import pytest

import minidynamo as torch


def plain(f):
    return f


def eager(f):
    return torch.compile(f, backend="eager")


def unnumbered(text):
    """Breakpoints are numbered on through a process."""
    return re.sub(r"reakpoint \d+", "reakpoint", text)


def session(program, mark, commands):
    """What pdb prints for the commands while the program runs; sessions after the first one go on at once."""
    out, sessions = io.StringIO(), []

    def stop(*args, **kwargs):
        lines = commands if not sessions else ["c"]
        debugger = pdb.Pdb(stdin=io.StringIO("\n".join(lines) + "\n"), stdout=out, nosigint=True, readrc=False)
        sessions.append(debugger)
        debugger.set_trace(sys._getframe(1))

    torch._dynamo.reset()
    hook, sys.breakpointhook = sys.breakpointhook, stop
    gc.disable()  # finalizers of other tests would be stepped into
    try:
        result = program(mark)
    finally:
        gc.enable()
        sys.breakpointhook = hook
        sys.settrace(None)
    return unnumbered(out.getvalue()), result, len(sessions)


def inner(y):
    z = y * 2
    w = z + 1
    return w


def stopping(y):
    z = y * 2
    breakpoint()
    w = z + 1
    return w


def in_the_function(mark):
    @mark
    def f(x, n):
        a = x + n
        if n == 1:
            breakpoint()
        b = inner(a)
        c = b - 1
        return c + a

    return [f(torch.ones(2), n).tolist() for n in range(4)]


def in_a_callee(mark):
    @mark
    def f(x):
        a = x + 1
        b = stopping(a)
        c = b - 1
        return c + a

    return [f(torch.ones(2)).tolist() for _ in range(2)]


def after_a_break(mark):
    @mark
    def f(x):
        a = x + 1
        unused = a * 3  # noqa: F841
        print("break", file=io.StringIO())
        b = a - 1
        breakpoint()
        c = b - 1
        return c

    return f(torch.ones(2)).tolist()


def in_a_loop(mark):
    @mark
    def f(x):
        for i in range(3):
            x = x + i
            if i == 1:
                breakpoint()
            x = x * 2
        return x

    return f(torch.ones(2)).tolist()


def in_a_handler(mark):
    @mark
    def f(x):
        try:
            y = x + 1
            raise KeyError(1)
        except KeyError as error:
            breakpoint()
            return y, repr(error)

    return f(torch.ones(2))[1]


def in_a_module(mark):
    class Inner(torch.nn.Module):
        def forward(self, x):
            h = x * 3
            breakpoint()
            h = h - 1
            return h

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            q = x + 1
            r = self.inner(q)
            return r * 2

    return mark(Outer())(torch.ones(2)).tolist()


def in_a_lambda(mark):
    f = mark(lambda x: (x + 1, breakpoint(), x * 2)[2])
    return f(torch.ones(2)).tolist()


def in_a_generator(mark):
    def pieces(x):
        for i in range(2):
            y = x + i
            if i:
                breakpoint()
            yield y

    @mark
    def f(x):
        t = 0
        for piece in pieces(x):
            t = t + piece
        return t

    return f(torch.ones(2)).tolist()


def in_a_comprehension(mark):
    f = mark(lambda x: [x + i for i in range(2) if i or breakpoint() is None])
    return [t.tolist() for t in f(torch.ones(2))]


def in_a_coroutine(mark):
    async def waits(x):
        y = x + 1
        breakpoint()
        await asyncio.sleep(0)
        return y

    @mark
    def f(x):
        z = x * 2
        return asyncio.run(waits(z))

    return f(torch.ones(2)).tolist()


def in_a_recursion(mark):
    @mark
    def f(x, n):
        if n == 0:
            breakpoint()
            return x
        return f(x + 1, n - 1)

    return f(torch.ones(2), 2).tolist()


def in_a_with(mark):
    @mark
    def f(x):
        with torch.no_grad():
            y = x + 1
            breakpoint()
            z = y * 2
        return z

    return f(torch.ones(2)).tolist()


def in_a_class(mark):
    @mark
    def f(x):
        class Made:
            value = x + 1
            breakpoint()

        return Made.value

    return f(torch.ones(2)).tolist()


def in_a_closure(mark):
    @mark
    def f(x):
        k = 3

        def changes(y):
            nonlocal k
            k += 1
            breakpoint()
            return y * k

        return changes(x) + k

    return f(torch.ones(2)).tolist()


SESSIONS = [
    (in_a_generator, ["p i, y", "n", "n", "u", "p t", "c"]),
    (in_a_comprehension, ["p i", "u", "p x", "c"]),
    (in_a_coroutine, ["p y", "n", "n", "c"]),
    (in_a_recursion, ["p x, n", "u", "p n", "u", "p n, x", "d", "r", "n", "n", "c"]),
    (in_a_with, ["p y", "n", "p z", "n", "n", "c"]),
    (in_a_class, ["p value", "u", "p x", "c"]),
    (in_a_closure, ["p k, y", "u", "p k", "d", "n", "n", "c"]),
    (in_the_function, ["p a, n", "n", "p b", "n", "p c", "u", "p n", "d", "s", "c"]),
    (in_the_function, ["r", "n", "n", "c"]),
    (in_the_function, ["s", "s", "args", "n", "p z", "u", "p a", "d", "r", "c"]),
    (in_the_function, ["ll", "whatis a", "source f", "until", "c"]),
    (in_the_function, ["!a = a * 10", "p a", "n", "p b", "c"]),
    (in_the_function, ["tbreak inner", "c", "p y", "n", "n", "c"]),
    (in_a_callee, ["p y, z", "u", "p a, x", "d", "n", "p w", "n", "n", "n", "p b", "n", "p c", "c"]),
    (after_a_break, ["p a, b, unused", "n", "p c", "c"]),
    (in_a_loop, ["p x, i", "n", "n", "n", "p i", "c"]),
    (in_a_handler, ["p y, error", "n", "n", "c"]),
    (in_a_module, ["p h", "n", "p h", "n", "r", "c"]),
    (in_a_lambda, ["p x", "n", "c"]),
]


@pytest.mark.parametrize("program, commands", SESSIONS, ids=[f"{s[0].__name__}-{k}" for k, s in enumerate(SESSIONS)])
def test_a_session_is_that_of_plain_code(program, commands):
    assert session(program, eager, commands) == session(program, plain, commands)


def test_breakpoints_in_compiled_code():
    """Set by line, by function and with a condition, in code that was compiled and broken before."""

    def f(x, n):
        a = x + n
        b = inner(a)
        print("break", file=io.StringIO())
        c = b - 1
        d = inner(c)
        return c + d

    first = f.__code__.co_firstlineno
    lines = [
        f"b {first + 4}",
        "b inner, y[0] > 5",
        "c",
        "p a, b",
        "u",
        "p mark",
        "d",
        "n",
        "p c",
        "c",
        "p y",
        "n",
        "c",
        "q",
    ]

    def debugged(mark):
        compiled, out = mark(f), io.StringIO()
        for n in range(2):
            compiled(torch.ones(2), n)
        debugger = pdb.Pdb(stdin=io.StringIO("\n".join(lines)), stdout=out, nosigint=True, readrc=False)
        try:
            debugger.runcall(lambda mark: [compiled(torch.ones(2), n) for n in (1, 2)], "mark")
        except pdb.bdb.BdbQuit:
            out.write("left")
        finally:
            sys.settrace(None)
            debugger.clear_all_breaks()
        return unnumbered(out.getvalue())

    torch._dynamo.reset()
    seen = debugged(eager)
    assert seen == debugged(plain)
    assert "(tensor([2., 2.]), tensor([5., 5.]))" in seen


def test_code_is_compiled_again_when_the_debugger_has_gone():
    def f(x):
        return inner(x) + 1

    torch._dynamo.reset()
    compiled = eager(f)
    compiled(torch.ones(2))
    events = []
    sys.settrace(lambda frame, event, arg: events.append(frame.f_code.co_name))
    try:
        compiled(torch.ones(2))
    finally:
        sys.settrace(None)
    assert events == ["f", "inner"]
    torch._dynamo.utils.counters.clear()
    with torch.compiler.on_compile(lambda event: events.append(event.function)):
        compiled(torch.ones(2))
        compiled(torch.ones(3))
    assert events[2:] == ["f"]  # the first call ran what was there


def test_a_frame_that_called_the_debugger_stays_plain():
    calls = []
    hook, sys.breakpointhook = sys.breakpointhook, lambda *a, **k: calls.append(sorted(sys._getframe(1).f_locals))

    def f(x, deep):
        a = x + 1
        b = a * 2
        (stopping(b) if deep else breakpoint())
        return a + 1

    torch._dynamo.reset()
    try:
        report = torch._dynamo.explain(f)(torch.ones(2), False)
        assert (report.graph_break_count, report.graph_count) == (1, 0)
        for deep in (False, True):
            torch._dynamo.reset()
            compiled = eager(f)
            for _ in range(3):
                compiled(torch.ones(2), deep)
    finally:
        sys.breakpointhook = hook
    assert calls == [["a", "b", "deep", "x"]] * 4 + [["y", "z"]] * 3


def test_post_mortem():
    """Frames, lines, and the variables that code after the last break still needed."""

    @eager
    def f(x):
        a = x + 1
        name = "hello"
        print("break", file=io.StringIO())
        b = a.reshape(7)
        return b, name

    def failed():
        try:
            f(torch.ones(2))
        except RuntimeError as error:
            return error.__traceback__

    out = io.StringIO()
    lines = ["p a, name", "ll", "u", "q"]
    debugger = pdb.Pdb(stdin=io.StringIO("\n".join(lines)), stdout=out, nosigint=True, readrc=False)
    debugger.reset()
    debugger.interaction(None, failed())
    text = out.getvalue()
    assert "-> b = a.reshape(7)" in text and "(tensor([2., 2.]), 'hello')" in text and "failed()" in text

"""Code of the program that runs while guards are checked or a function is compiled: comparisons, finalisers, signal
and log handlers, backends. The result is that of the plain function, or its error."""

import functools
import gc
import logging
import signal
import time

import pytest

import minidynamo as torch
from frontend.differential import Box
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.usefixtures("no_defects")


def ones():
    return torch.ones(2)


def outcome(f, *args):
    """Result as list, or type and text of the exception."""
    try:
        r = f(*args)
    except Exception as e:
        return type(e), str(e)
    return r.tolist() if isinstance(r, torch.Tensor) else r


class Key:
    """A key whose comparison changes the dictionary that is looked into."""

    def __init__(self, name, then=lambda: None):
        self.name, self.then, self.asked = name, then, 0

    def __hash__(self):
        self.asked += 1
        self.then()
        return hash(self.name)

    def __eq__(self, other):
        self.asked += 1
        self.then()
        return self.name == (other.name if isinstance(other, Key) else other)


def test_guards_compare_no_keys_of_the_program():
    """Beside the key that is looked for, another one of the same hash, whose comparison would empty the dictionary."""

    def f(x, d):
        return x * d["k"]

    def made():
        d = {Key("k"): 5, "other": 1}
        key = next(iter(d))
        key.asked = 0
        return d, key

    for call in (f, torch.compile(f, backend="eager"), torch.compile(f)):
        d, key = made()
        assert call(ones(), d).tolist() == [5, 5]
        assert call(ones(), {"k": 2}).tolist() == [2, 2]
        d, key = made()
        key.then = d.clear
        before = key.asked
        found = outcome(call, ones(), d)
        if call is f:
            expected, asked = found, key.asked - before
        assert found == expected
        assert key.asked - before == asked, "the key is compared as often as by the plain function"


def test_dictionary_keys_that_change_the_dictionary_when_compared():
    def f(x, d, key):
        return x + (1 if key in d else 2) + len(d)

    def run(call):
        d = {}
        first = Key("k")
        d[first] = 1
        first.then = lambda: d.update(more=1)
        return [outcome(call, ones(), d, Key("k")) for _ in range(3)], len(d)

    assert run(torch.compile(f, backend="eager")) == run(f)


class Noisy:
    """Calls something when it goes."""

    def __init__(self, then):
        self.then = then

    def __del__(self):
        self.then()


def test_a_finaliser_that_calls_the_same_function():
    """What an argument's predecessor was goes when the argument is replaced, within the call."""
    seen = []

    def f(x, b):
        b.held = None
        return x + b.value

    def run(call):
        seen.clear()
        out = []
        for k in range(6):
            b = Box(value=k, held=Noisy(lambda k=k: seen.append(outcome(call, ones(), Box(value=10 * k, held=None)))))
            out.append(outcome(call, ones(), b))
        return out, list(seen)

    expected = run(f)
    assert len(expected[1]) == 6
    for backend in ("eager", "llvm"):
        torch._dynamo.reset()
        assert run(torch.compile(f, backend=backend)) == expected


def test_a_finaliser_that_drops_all_entries():
    """The function's own entries go while one of them runs."""

    def f(x, b):
        b.held = None
        return x + b.value

    for backend in ("eager", "llvm"):
        compiled = torch.compile(f, backend=backend)
        for k in range(8):
            b = Box(value=k % 3, held=Noisy(torch._dynamo.reset))
            assert compiled(ones(), b).tolist() == [1 + k % 3] * 2


def test_a_finaliser_that_runs_while_the_function_is_compiled():
    """Garbage is collected at any allocation: a cycle's finaliser calls the function that is being compiled."""
    seen = []

    def f(x, n):
        parts = [x + k for k in range(n)]
        return sum(parts)

    compiled = torch.compile(f, backend="eager", dynamic=False)

    class Cycle:
        def __init__(self, n):
            self.me, self.n = self, n

        def __del__(self):
            seen.append((self.n, outcome(compiled, ones(), 3)))

    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        with torch._dynamo.config.patch(recompile_limit=64):
            for n in range(2, 14):
                Cycle(n)
                assert compiled(ones(), n).tolist() == f(ones(), n).tolist()
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert sorted(n for n, _ in seen) == list(range(2, 14))
    assert all(found == [6, 6] for _, found in seen)


def test_a_signal_handler_that_calls_the_same_function():
    counter = CompileCounter()
    seen = []

    def f(x, n):
        y = x * n
        if n > 2:
            y = y + len([k for k in range(50)])
        return y.relu()

    compiled = torch.compile(f, backend=counter, dynamic=False)

    def handler(number, frame):
        k = 1000 + len(seen) % 5
        seen.append(compiled(ones(), k).tolist() == f(ones(), k).tolist())
        signal.setitimer(signal.ITIMER_REAL, 0.0005)  # armed again only here: handlers never nest

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with torch._dynamo.config.patch(recompile_limit=1000, accumulated_recompile_limit=1000):
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
            for n in range(150):
                assert compiled(ones(), n).tolist() == f(ones(), n).tolist()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen and all(seen)
    assert 150 <= counter.frame_count <= 300


def test_a_signal_handler_that_raises_while_compiling():
    """The exception is the program's, and the next call works."""

    class Late(ValueError):
        pass

    def f(x, n):
        for k in range(1000):
            x = x + k * n
        return x

    compiled = torch.compile(f, backend="eager", dynamic=False)
    start = time.perf_counter()
    compiled(ones(), -1)
    whole = time.perf_counter() - start

    def handler(number, frame):
        raise Late

    before = signal.signal(signal.SIGALRM, handler)
    raised = 0
    try:
        with torch._dynamo.config.patch(recompile_limit=1000, accumulated_recompile_limit=1000):
            for n in range(40):
                try:
                    signal.setitimer(signal.ITIMER_REAL, whole * (n + 1) / 50)  # all over a compilation
                    found = compiled(ones(), n).tolist()
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Late:
                    raised += 1
                else:
                    assert found == f(ones(), n).tolist()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert raised > 0
    for n in range(40):
        assert compiled(ones(), n).tolist() == f(ones(), n).tolist()


def test_a_logging_handler_that_calls_the_same_function():
    """What the program hangs into the logs runs between a failed look-up and the compilation."""
    seen = []

    def f(x, n):
        return x + n

    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter, dynamic=False)

    class Calls(logging.Handler):
        busy = False

        def emit(self, record):
            if not self.busy:
                self.busy = True
                seen.append(outcome(compiled, ones(), 50))
                self.busy = False

    log = torch._logging.get_artifact_logger("recompiles")
    handler = Calls(logging.DEBUG)
    torch._logging.set_logs(recompiles=True)
    log.addHandler(handler)
    try:
        for n in range(6):
            assert compiled(ones(), n).tolist() == [1 + n] * 2
    finally:
        log.removeHandler(handler)
        torch._logging.set_logs()
    assert seen and all(found == [51, 51] for found in seen)
    assert counter.frame_count == 7


def test_a_logging_handler_that_makes_the_same_call():
    """It is compiled once, by whoever comes first."""
    counter = CompileCounter()
    compiled = torch.compile(lambda x, n: x + n, backend=counter, dynamic=False)

    class Calls(logging.Handler):
        busy = False

        def emit(self, record):
            if not self.busy:
                self.busy = True
                assert compiled(ones(), n).tolist() == [1 + n] * 2
                self.busy = False

    log = torch._logging.get_artifact_logger("recompiles")
    handler = Calls(logging.DEBUG)
    torch._logging.set_logs(recompiles=True)
    log.addHandler(handler)
    try:
        for n in range(6):
            assert compiled(ones(), n).tolist() == [1 + n] * 2
    finally:
        log.removeHandler(handler)
        torch._logging.set_logs()
    assert counter.frame_count == 6


def test_a_backend_that_calls_the_same_function():
    seen = []

    def f(x, n):
        return x + n

    def backend(gm, example_inputs):
        if len(seen) < 5:
            seen.append(outcome(compiled, ones(), 50))
        return gm.forward

    compiled = torch.compile(f, backend=backend, dynamic=False)
    for n in range(5):
        assert compiled(ones(), n).tolist() == [1 + n] * 2
    assert seen == [[51, 51]] * 5


def test_a_backend_that_resets():
    """What is known of the function is forgotten while it is compiled; the entry that is being made stays."""
    calls = []

    def backend(gm, example_inputs):
        calls.append(1)
        torch._dynamo.reset()
        return gm.forward

    def f(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    compiled = torch.compile(f, backend=backend)
    for _ in range(3):
        assert compiled(ones()).tolist() == [4, 4]
    assert len(calls) >= 2


def test_a_backend_that_changes_what_was_guarded():
    """The entry is made for what the tracer saw; the call takes place afterwards, and finds that it does not fit."""
    b = Box(value=1)

    def backend(gm, example_inputs):
        b.value += 1
        return gm.forward

    def f(x):
        return x + b.value

    compiled = torch.compile(f, backend=backend)
    assert compiled(ones()).tolist() == [3, 3] and b.value == 2
    assert compiled(ones()).tolist() == [4, 4] and b.value == 3
    b.value = 1
    assert compiled(ones()).tolist() == [2, 2] and b.value == 1


def test_entries_go_while_many_are_looked_up():
    """Objects die between the calls and within them; the index never leads to an entry that is gone."""
    objects = [Box(value=k) for k in range(40)]

    def f(x, b, drop):
        y = x + b.value
        torch._dynamo.graph_break()
        if drop:
            drop()
        return y * 2

    compiled = torch.compile(f, backend="eager", dynamic=False)
    with torch._dynamo.config.patch(recompile_limit=1000, accumulated_recompile_limit=1000):
        for k, b in enumerate(objects):
            cls = type(f"Own{k}", (Box,), {})
            b.__class__ = cls
            assert compiled(ones(), b, None).tolist() == [2 + 2 * k] * 2
        del b, cls

        def replace(k):
            objects[k] = Box(value=k)
            gc.collect()

        for k in range(39):
            gone = k + k % 2
            assert compiled(ones(), objects[k], functools.partial(replace, gone)).tolist() == [2 + 2 * k] * 2
        for k in range(40):
            assert compiled(ones(), objects[k], None).tolist() == [2 + 2 * k] * 2

"""Programs that change what guards look at: between calls, while guards run, and while a function is compiled. The
result is that of the plain function, or its error."""

import functools
import gc
import importlib
import signal
import sys
import threading
import weakref

import pytest

import minidynamo as torch
from frontend.differential import Defects
from minidynamo._dynamo.testing import CompileCounter


@pytest.fixture(autouse=True)
def no_defects():
    torch._dynamo.reset()
    with Defects() as defects:
        yield
    assert defects == []


def ones():
    return torch.ones(2)


class Box:
    def __init__(self, **parts):
        self.__dict__.update(parts)


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def outcome(f, *args):
    """Result as list, or type and text of the exception."""
    try:
        r = f(*args)
    except Exception as e:
        return type(e), str(e)
    return r.tolist() if isinstance(r, torch.Tensor) else r


def steps(f, make, *changes):
    """Calls `f` plain and compiled after each change of what `make` gives; what the calls give must be the same."""
    counter = CompileCounter()
    seen = []
    for call in (f, torch.compile(f, backend=counter), torch.compile(f)):
        state = make()
        found = [outcome(call, ones(), state)]
        for change in changes:
            change(state)
            found.append(outcome(call, ones(), state))
        seen.append(found)
    assert seen[1] == seen[0] and seen[2] == seen[0]
    assert counter.frame_count >= 1
    return seen[0]


# --- attributes -------------------------------------------------------------------------------------------------------


def value_of(x, b):
    return x + b.value


def test_a_deleted_attribute():
    found = steps(value_of, lambda: Box(value=2), lambda b: b.__dict__.pop("value"), lambda b: setattr(b, "value", 5))
    assert found[1][0] is AttributeError and found[2] == [6, 6]


def test_a_deleted_slot():
    found = steps(value_of, lambda: Slotted(2), lambda b: delattr(b, "value"), lambda b: setattr(b, "value", 5))
    assert found[1][0] is AttributeError and found[2] == [6, 6]


def test_a_deleted_class_attribute_and_what_takes_its_place():
    def make():
        base = type("Base", (), {"value": 1})
        return type("Derived", (base,), {"value": 2})()

    steps(
        value_of, make,
        lambda b: delattr(type(b), "value"),
        lambda b: delattr(type(b).__base__, "value"),
        lambda b: setattr(type(b), "__getattr__", lambda self, name: 7),
        lambda b: setattr(b, "value", 3),
        lambda b: setattr(type(b), "value", property(lambda self: 9)),
    )  # fmt: skip


def test_another_class():
    class Other:
        value = 40

    class Computing:
        @property
        def value(self):
            return 50

    steps(
        value_of, lambda: Box(value=2),
        lambda b: setattr(b, "__class__", Other),
        lambda b: b.__dict__.clear(),
        lambda b: setattr(b, "__class__", Computing),
        lambda b: setattr(b, "__class__", Box),
    )  # fmt: skip


def test_another_dictionary():
    def make():
        b = Box(value=2)
        b.other = Box(value=9)
        return b

    def share(b):
        b.__dict__ = b.other.__dict__

    def change(b):
        b.value = 10

    steps(
        value_of, make, share, change, lambda b: b.__dict__.clear(), lambda b: setattr(b, "__dict__", {"value": 1}),
    )  # fmt: skip


def test_other_bases():
    class One:
        value = 1

    class Two:
        value = 2

    class Mixed(One):
        pass

    steps(value_of, Mixed, lambda b: setattr(Mixed, "__bases__", (Two,)), lambda b: setattr(Mixed, "__bases__", (One,)))


def test_containers_that_shrink():
    def f(x, b):
        return x * b.parts[1] + b.names["k"]

    steps(
        f, lambda: Box(parts=[1, 2], names={"k": 3}),
        lambda b: b.parts.pop(), lambda b: b.parts.extend([5, 6]), lambda b: b.names.clear(),
        lambda b: b.names.update(k="text"), lambda b: b.names.update(k=4), lambda b: setattr(b, "parts", (7, 8)),
        lambda b: setattr(b, "names", None),
    )  # fmt: skip


def test_a_global_deleted_and_a_builtin_hidden():
    scope = {"offset": 1}
    exec("def f(x, b):\n    return x + offset + abs(-2)", scope)
    steps(
        scope["f"], dict,
        lambda b: scope.pop("offset"), lambda b: scope.update(offset=2), lambda b: scope.update(abs=lambda v: 100),
        lambda b: scope.pop("abs"), lambda b: scope.update(offset=1),
    )  # fmt: skip


def test_an_empty_cell():
    def make():
        k = 2

        def f(x):
            return x + k

        def change(value):
            nonlocal k
            if value is None:
                del k
            else:
                k = value

        return f, change

    seen = []
    for compiled in (lambda f: f, lambda f: torch.compile(f, backend="eager"), torch.compile):
        f, change = make()
        call = compiled(f)
        found = [outcome(call, ones())]
        for value in (None, 5, "text", 2):
            change(value)
            found.append(outcome(call, ones()))
        seen.append(found)
    assert seen[1] == seen[0] and seen[2] == seen[0]
    assert seen[0][1][0] is NameError


# --- functions and modules --------------------------------------------------------------------------------------------


def plus(x):
    return x + 1


def times(x):
    return x * 7


def test_the_code_of_a_compiled_function_is_replaced():
    def f(x):
        return x + 1

    def other(x):
        return x * 5

    def two(x, y):
        return x + y

    compiled = torch.compile(f, backend="eager")
    before = f.__code__
    for code in (other.__code__, before, other.__code__, two.__code__, before):
        f.__code__ = code
        assert outcome(compiled, ones()) == outcome(f, ones())


def test_the_code_of_a_called_function_is_replaced():
    def inner(x):
        return x + 1

    def f(x):
        return inner(x) * 2

    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter)
    before = inner.__code__
    for code, expected in ((before, 4), (times.__code__, 14), (before, 4), (times.__code__, 14)):
        inner.__code__ = code
        assert compiled(ones()).tolist() == [expected] * 2
    assert counter.frame_count == 2


def test_defaults_are_replaced_and_removed():
    def inner(x, k=1, *, m=2):
        return x * k + m

    def f(x):
        return inner(x)

    compiled = torch.compile(f, backend="eager")
    for change in (
        lambda: None, lambda: setattr(inner, "__defaults__", (5,)), lambda: setattr(inner, "__kwdefaults__", {"m": 9}),
        lambda: inner.__kwdefaults__.update(m=11), lambda: inner.__kwdefaults__.clear(),
        lambda: setattr(inner, "__defaults__", None), lambda: setattr(inner, "__defaults__", (1,)),
        lambda: setattr(inner, "__kwdefaults__", {"m": 2}),
    ):  # fmt: skip
        change()
        assert outcome(compiled, ones()) == outcome(f, ones())


def test_the_code_is_replaced_while_its_entries_run():
    """A call in the middle of the function gives it other code: that is for the next call."""

    def f(x, then):
        y = x + 1
        torch._dynamo.graph_break()
        then()
        return y * 2

    def other(x, then):
        return x * 100

    before = f.__code__
    compiled = torch.compile(f, backend="eager")
    for _ in range(2):
        f.__code__ = before
        assert compiled(ones(), lambda: setattr(f, "__code__", other.__code__)).tolist() == [4, 4]
        assert compiled(ones(), None).tolist() == [100, 100]


@pytest.fixture
def module(tmp_path, monkeypatch):
    def write(text):
        (tmp_path / "reloaded_module.py").write_text(text)
        importlib.invalidate_caches()
        return sys.modules.get("reloaded_module")

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield write
    sys.modules.pop("reloaded_module", None)


FIRST = """
K = 1
def scaled(x):
    return x * K + 1
class Thing:
    k = 3
    def run(self, x):
        return x * self.k
"""
SECOND = (
    FIRST.replace("K = 1", "K = 5").replace("K + 1", "K - 100").replace("k = 3", "k = 30").replace("* self", "+ self")
)
BROKEN = "K = 6\ndel scaled\nraise ZeroDivisionError"


def test_a_module_is_reloaded(module):
    module(FIRST)
    import reloaded_module

    def f(x):
        return reloaded_module.scaled(x)

    kept = reloaded_module.scaled
    thing = reloaded_module.Thing()
    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter)
    run, of_class = torch.compile(thing.run, backend=counter), torch.compile(lambda x, t: t.run(x), backend=counter)
    old = torch.compile(kept, backend=counter)
    assert compiled(ones()).tolist() == [2, 2] and old(ones()).tolist() == [2, 2]
    assert run(ones()).tolist() == [3, 3] and of_class(ones(), thing).tolist() == [3, 3]
    module(SECOND)
    importlib.reload(reloaded_module)
    assert compiled(ones()).tolist() == [-95, -95]
    assert old(ones()).tolist() == kept(ones()).tolist() == [6, 6], "the old function sees the new globals"
    assert run(ones()).tolist() == [3, 3] and of_class(ones(), thing).tolist() == [3, 3]
    assert of_class(ones(), reloaded_module.Thing()).tolist() == [31, 31]
    module(BROKEN)
    with pytest.raises(ZeroDivisionError):
        importlib.reload(reloaded_module)
    assert outcome(compiled, ones()) == outcome(f, ones())
    assert outcome(old, ones()) == outcome(kept, ones()) == [7, 7]


def test_a_module_is_replaced_and_deleted(module):
    module(FIRST)
    scope = {}
    exec("import reloaded_module\ndef f(x):\n    return reloaded_module.scaled(x)", scope)
    f = scope["f"]
    compiled = torch.compile(f, backend="eager")
    assert compiled(ones()).tolist() == [2, 2]
    gone = weakref.ref(scope["reloaded_module"])
    del sys.modules["reloaded_module"]
    module(SECOND)
    scope["reloaded_module"] = importlib.import_module("reloaded_module")
    gc.collect()
    assert gone() is None
    assert compiled(ones()).tolist() == [-95, -95]
    del scope["reloaded_module"]
    assert outcome(compiled, ones()) == outcome(f, ones())


# --- code that runs while guards do -----------------------------------------------------------------------------------


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


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
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

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with torch._dynamo.config.patch(recompile_limit=1000, accumulated_recompile_limit=1000):
            signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
            for n in range(150):
                assert compiled(ones(), n).tolist() == f(ones(), n).tolist()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen and all(seen)
    assert 150 <= counter.frame_count <= 300


def test_a_signal_handler_that_raises_while_compiling():
    """The exception is the program's, and the next call works."""

    class Late(ValueError):
        pass

    def f(x, n):
        for k in range(200):
            x = x + k * n
        return x

    compiled = torch.compile(f, backend="eager", dynamic=False)

    def handler(number, frame):
        raise Late

    before = signal.signal(signal.SIGALRM, handler)
    raised = 0
    try:
        with torch._dynamo.config.patch(recompile_limit=1000, accumulated_recompile_limit=1000):
            for n in range(40):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0005 + 0.0002 * n)
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
    import logging

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
    import logging

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


def test_a_backend_that_changes_what_was_guarded():
    """The entry is made for the call as it was; the next look-up sees that it does not fit."""
    b = Box(value=1)

    def backend(gm, example_inputs):
        b.value += 1
        return gm.forward

    def f(x):
        return x + b.value

    compiled = torch.compile(f, backend=backend)
    assert compiled(ones()).tolist() == [2, 2] and b.value == 2
    assert compiled(ones()).tolist() == [3, 3] and b.value == 3
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

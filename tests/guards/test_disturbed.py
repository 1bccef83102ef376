"""Programs that change what guards look at, attributes, classes, functions, modules, between calls and within them. The
result is that of the plain function, or its error."""

import gc
import importlib
import sys
import weakref

import pytest

import minidynamo as torch
from frontend.differential import Box
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.usefixtures("no_defects")


def ones():
    return torch.ones(2)


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

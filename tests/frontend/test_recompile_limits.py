"""Limits on recompilations: what is compiled stays in use, and one warning says what keeps changing."""

import gc
import logging
import re

import pytest

import minidynamo as torch
from frontend.executed import Executed
from minidynamo._dynamo import config

G = 1
ONE = torch.ones(2)


@pytest.fixture(autouse=True)
def clean():
    torch._dynamo.reset()


def f_plus(x, n):
    return x + n


def f_value(x, t):
    return x * t.value


@pytest.fixture
def warned(monkeypatch):
    """Texts of warnings."""
    texts = []

    class Collects(logging.Handler):
        def emit(self, record):
            texts.append(record.getMessage())

    log = logging.getLogger("minidynamo._dynamo")
    handler = Collects(logging.WARNING)
    log.addHandler(handler)
    yield texts
    log.removeHandler(handler)


def limited(calls, warned, *, graphs, changing, way_out, limit="recompile_limit"):
    """`calls(backend)` makes calls that need more entries than allowed, and the first ones again: those hit."""
    backend = Executed()
    calls(backend)
    assert backend.graphs == graphs
    (text,) = warned
    assert text.startswith(f"torch._dynamo hit config.{limit} (")
    lines = text.split("\n")
    assert re.fullmatch(r"   function: '.*' \(.*:\d+\)", lines[1]) and lines[2].startswith("   last reason: ")
    assert lines[5] == f"What keeps changing: {changing}." and way_out in lines[6] and f"config.{limit}" in lines[6]
    return backend


@pytest.fixture
def three():
    with config.patch(recompile_limit=3):
        yield


def test_limit_of_a_function(three, warned):
    def calls(backend):
        compiled = torch.compile(f_plus, backend=backend, dynamic=False)
        for _ in range(2):
            for n in range(6):
                assert compiled(ONE, n).tolist() == [1 + n] * 2

    backend = limited(calls, warned, graphs=3, changing="n was 0, 1, 2, now 3", way_out="dynamic=True")
    assert backend.calls == 6, "the three entries stay in use"


def test_limit_of_a_method_of_many_instances(three, warned):
    def calls(backend):
        class Scaled:
            def __init__(self, k):
                self.k = k

            @torch.compile(backend=backend, dynamic=False)
            def run(self, x):
                return x * self.k

        objects = [Scaled(float(k)) for k in range(6)]
        for _ in range(2):
            for o in objects:
                assert o.run(ONE).tolist() == [o.k] * 2

    backend = limited(calls, warned, graphs=3, changing="self.k was 0.0, 1.0, 2.0, now 3.0", way_out="fraction")
    assert backend.calls == 6


def test_limit_of_bound_methods_compiled_one_by_one(three, warned):
    def calls(backend):
        compiled = [torch.compile(Scaled(float(k)).run, backend=backend, dynamic=False) for k in range(6)]
        for _ in range(2):
            for k, run in enumerate(compiled):
                assert run(ONE).tolist() == [k] * 2

    class Scaled:
        def __init__(self, k):
            self.k = k

        def run(self, x):
            return x * self.k

    backend = limited(calls, warned, graphs=3, changing="self.k was 0.0, 1.0, 2.0, now 3.0", way_out="fraction")
    assert backend.calls == 6


def test_limit_of_a_resume_function(three, warned):
    def f(x, n):
        y = x + 1
        torch._dynamo.graph_break()
        return y * n

    def calls(backend):
        compiled = torch.compile(f, backend=backend, dynamic=False)
        for _ in range(2):
            for n in range(6):
                assert compiled(ONE, n).tolist() == [2 * n] * 2

    backend = limited(calls, warned, graphs=4, changing="n was 0, 1, 2, now 3", way_out="dynamic=True")
    assert backend.calls == 12 + 6, "what comes before the break is compiled once, and used in every call"


def test_limit_of_closures_made_anew(three, warned):
    def scaled(k):
        def f(x):
            return x * k

        return f

    def calls(backend):
        for _ in range(2):
            for k in range(6):
                assert torch.compile(scaled(k), backend=backend, dynamic=False)(ONE).tolist() == [k] * 2

    backend = limited(calls, warned, graphs=3, changing="k was 0, 1, 2, now 3", way_out="dynamic=True")
    assert backend.calls == 6


def test_closures_made_anew_that_hold_the_same_need_one_entry(three, warned):
    backend = Executed()

    def calls():
        def f(x):
            return x * 3

        return torch.compile(f, backend=backend)(ONE)

    for _ in range(10):
        assert calls().tolist() == [3, 3]
    assert (backend.graphs, backend.calls, warned) == (1, 10, [])


def test_limit_of_a_global(three, warned):
    def calls(backend):
        global G
        compiled = torch.compile(lambda x: x + G, backend=backend)
        for _ in range(2):
            for G in range(6):
                assert compiled(ONE).tolist() == [1 + G] * 2

    backend = limited(calls, warned, graphs=3, changing="G was 0, 1, 2, now 3", way_out="as an argument")
    assert backend.calls == 6


def test_accumulated_limit(warned):
    """Entries of all backends count: the function's own limit is never reached."""
    backends = [Executed() for _ in range(4)]

    def calls(_):
        for backend in backends:
            compiled = torch.compile(f_plus, backend=backend, dynamic=False)
            for n in range(2):
                assert compiled(ONE, n).tolist() == [1 + n] * 2

    with config.patch(accumulated_recompile_limit=5):
        limited(
            calls, warned, graphs=0, changing="n was 0, now 1", way_out="dynamic=True",
            limit="accumulated_recompile_limit",
        )  # fmt: skip
    assert [b.graphs for b in backends] == [2, 2, 1, 0]


def test_the_place_where_most_entries_fail_is_named(three, warned):
    compiled = torch.compile(lambda x, n, count: x + n + count, backend="eager", dynamic=False)
    for n, count in [(0, 0), (0, 1), (5, 2), (0, 3)]:
        compiled(ONE, n, count)
    (text,) = warned
    assert "   last reason: 0/2: n == 5\n" in text and "What keeps changing: count was 0, 1, now 3.\n" in text


def test_long_values_and_many_of_them_are_shortened(warned):
    with config.patch(recompile_limit=12):
        compiled = torch.compile(lambda x, name: x + len(name), backend="eager")
        for k in range(14):
            compiled(ONE, "abc" * 50 + str(k))
    assert len(warned) == 1 and len(warned[0].split("\n")[5]) < 200


def test_limits_of_two_functions_are_two_warnings_also_at_one_address(three, warned):
    """A code object may lie where another one was."""
    for _ in range(5):
        scope = {}
        exec("def f(x, n):\n    return x + n", scope)
        compiled = torch.compile(scope["f"], backend="eager", dynamic=False)
        for n in range(5):
            compiled(ONE, n)
        del compiled, scope
    assert len(warned) == 5


def test_dead_entries_do_not_count(three, warned):
    backend = Executed()
    compiled = torch.compile(f_value, backend=backend)
    for k in range(12):
        assert compiled(ONE, type("Own", (), {"value": k})()).tolist() == [k] * 2
        gc.collect()  # a class is part of a cycle
    assert warned == [] and backend.graphs == 12


def test_many_entries_about_dead_objects_go_away(warned):
    """Where there are many entries they are looked for now and then, and before the limit is applied."""
    backend = Executed()
    with config.patch(recompile_limit=100, accumulated_recompile_limit=100):
        compiled = torch.compile(f_value, backend=backend)
        kept = type("Kept", (), {"value": 1000})()
        for k in range(300):
            compiled(ONE, type("Own", (), {"value": k})())
            if k % 10 == 0:
                gc.collect()
                compiled(ONE, kept)
    assert backend.graphs == 301 and warned == []


@pytest.mark.parametrize("name", ["recompile_limit", "accumulated_recompile_limit"])
def test_a_limit_of_nothing(name, warned):
    backend = Executed()

    def broken(x, n):
        y = x + n
        torch._dynamo.graph_break()
        return f_plus(y, n)

    with config.patch({name: 0}):
        for f in (f_plus, broken):
            compiled = torch.compile(f, backend=backend)
            for n in (1, 2, 2):
                assert compiled(ONE, n).tolist() == f(ONE, n).tolist()
        with pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit):
            torch.compile(lambda x: x + 1, fullgraph=True)(ONE)
    assert backend.graphs == 0
    shown = [text for text in warned if "'f_plus'" in text]
    assert len(shown) == 1 and f"hit config.{name} (0)" in shown[0] and "last reason: None" in shown[0]
    torch._dynamo.reset()
    torch.compile(f_plus, backend=backend)(ONE, 1)
    assert backend.graphs == 1

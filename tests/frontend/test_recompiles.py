"""What the user is told of recompilations, limits on them, and stances."""

import gc
import logging
import re

import pytest

import minidynamo as torch
from minidynamo._dynamo import config
from minidynamo._dynamo.testing import CompileCounter
from minidynamo._dynamo.utils import clear_compilation_metrics, get_compilation_metrics

G = 1


@pytest.fixture(autouse=True)
def clean():
    torch._dynamo.reset()
    clear_compilation_metrics()


class Executed:
    """A backend that counts graphs and their calls."""

    def __init__(self):
        self.graphs = self.calls = 0

    def __call__(self, gm, example_inputs):
        self.graphs += 1

        def run(*args):
            self.calls += 1
            return gm.forward(*args)

        return run


def last_reason():
    return get_compilation_metrics()[-1].recompile_reason


def reason_of(f, *calls, **options):
    """The reason of the only recompilation, which the last call makes."""
    compiled = torch.compile(f, backend="eager", **options)
    for args in calls:
        compiled(*args)
    made = get_compilation_metrics()
    assert [m.recompile_reason is None for m in made] == [True, False]
    return made[1].recompile_reason


# --- reasons ----------------------------------------------------------------------------------------------------------


def test_a_compilation_is_recorded():
    def f(x):
        return x + 1

    torch.compile(f, backend="eager")(torch.ones(2))
    (made,) = get_compilation_metrics()
    assert made.compile_id == "0/0" and made.cache_size == 0 and made.recompile_reason is None
    assert made.co_name == "f" and made.co_filename == __file__ and made.co_firstlineno == f.__code__.co_firstlineno
    assert 0 < made.entire_frame_compile_time_s < 60
    clear_compilation_metrics()
    assert get_compilation_metrics() == []


def test_reason_with_values_stack_time_and_way_out():
    def f(x):
        return x * 2

    def caller(x):
        return compiled(x)

    compiled = torch.compile(f, backend="eager")
    for n in (3, 5):
        caller(torch.ones(n))
    first, second = get_compilation_metrics()
    assert (first.compile_id, second.compile_id, second.cache_size) == ("0/0", "0/1", 1)
    reason = second.recompile_reason
    assert reason.guard == "tensor 'x' size mismatch at index 0. expected 3, actual 5"
    assert (reason.kind, reason.source, reason.place) == ("TENSOR_MATCH", "L['x']", "x.size(0)")
    assert (reason.old, reason.new) == ("3", "5")
    assert "mark_dynamic(x, 0)" in reason.hint
    assert reason.stack[-1][::2] == (__file__, "caller")
    assert reason.stack[-1][1] == caller.__code__.co_firstlineno + 1
    assert second.entire_frame_compile_time_s > 0


class Thing:
    def __init__(self, value):
        self.value = value


class Relative(Thing):
    pass


def f_plus(x, n):
    return x + n


def f_value(x, t):
    return x * t.value


def f_length(x, parts):
    return x + len(parts)


def f_none(x, y):
    return x + 2 if y is None else x + 1


def f_call(x, g):
    return g(x)


def f_key(x, d):
    return x + 1 if "k" in d else x + 2


def f_both(x, y):
    return x + y


ONE = torch.ones(2)
REASONS = [
    (f_plus, [(ONE, 2), (ONE, 3)], {"dynamic": False}, ("n", "2", "3", "dynamic=True")),
    (f_plus, [(ONE, 2), (ONE, 3)], {}, ("n", "2", "3", "symbol")),
    (f_plus, [(ONE, 2), (ONE, 2.5)], {}, ("n", "2", "2.5", "tensor")),
    (f_plus, [(ONE, 1.5), (ONE, 2.5)], {}, ("n", "1.5", "2.5", "tensor")),
    (f_plus, [(ONE, True), (ONE, False)], {}, ("n", "True", "False", "two codes")),
    (f_plus, [(ONE, 2), (ONE.double(), 2)], {}, ("x.dtype", "torch.float32", "torch.float64", "dtype")),
    (f_plus, [(ONE, 2), (torch.ones(2, 2), 2)], {}, ("x.dim()", "1", "2", "dimensions")),
    (f_plus, [(torch.ones(3, 3), 2), (torch.ones(3, 3).T, 2)], {}, ("x.stride(0)", "3", "1", "contiguous")),
    (f_plus, [(torch.ones(3), 2), (torch.ones(4), 2)], {"dynamic": False}, ("x.size(0)", "3", "4", "dynamic=True")),
    (f_plus, [(torch.ones(3), 2), (torch.ones(1), 2)], {}, ("x.size(0)", "3", "1", "0 and 1")),
    (f_plus, [(ONE, 2), (torch.ones(2, requires_grad=True), 2)], {}, ("x.requires_grad", "False", "True", "detach")),
    (f_value, [(ONE, Thing(2)), (ONE, Thing(3))], {}, ("t.value", "2", "3", "attribute")),
    (f_value, [(ONE, Thing(2)), (ONE, Relative(2))], {}, ("t", "class Thing", "class Relative", "one class")),
    (f_length, [(ONE, [1]), (ONE, [1, 2])], {}, ("parts", "length 1", "length 2", "one length")),
    (f_none, [(ONE, None), (ONE, 3)], {}, ("y", "None", "3", "two codes")),
    (f_call, [(ONE, torch.sin), (ONE, torch.cos)], {}, ("g", None, None, "one object")),
    (f_key, [(ONE, {"k": 1}), (ONE, {})], {}, ("d", "", "", "every call")),
    (f_both, [(torch.ones(2), torch.ones(2)), (ONE, ONE)], {}, (None, "", "", "share")),
]  # fmt: skip


@pytest.mark.parametrize("f, calls, options, expected", REASONS, ids=lambda v: getattr(v, "__name__", None))
def test_reasons(f, calls, options, expected):
    reason = reason_of(f, *calls, **options)
    place, old, new, way_out = expected
    assert place is None or reason.place == place
    assert old is None or (reason.old, reason.new) == (old, new)
    assert way_out in reason.hint
    assert reason.guard


def test_reason_of_a_global_and_of_ambient_state():
    global G
    compiled = torch.compile(lambda x: x + G, backend="eager")
    G = 1
    compiled(ONE)
    G = 2
    compiled(ONE)
    assert (last_reason().old, last_reason().new) == ("1", "2") and "argument" in last_reason().hint
    with torch.no_grad():
        compiled(ONE)
    assert last_reason().guard == "GLOBAL_STATE changed: grad_mode " and "grad mode" in last_reason().hint


def test_reason_of_something_absent():
    def f(x, t):
        return x + t.value if hasattr(t, "value") else x + 5

    bare = Thing(1)
    del bare.value
    reason = reason_of(f, (ONE, Thing(1)), (ONE, bare))
    assert reason.place.startswith("t") and "every call" in reason.hint


def test_a_condition_on_sizes():
    def f(x):
        return x + 1 if x.shape[0] > 5 else x - 1

    compiled = torch.compile(f, backend="eager", dynamic=True)
    compiled(torch.ones(3))
    compiled(torch.ones(9))
    assert "size()[0]" in last_reason().guard


def test_only_the_last_ones_are_kept():
    with config.patch(recompile_limit=1000, accumulated_recompile_limit=1000):
        compiled = torch.compile(lambda x, n: x + n, backend="eager", dynamic=False)
        for n in range(70):
            compiled(ONE, n)
    kept = get_compilation_metrics()
    assert [m.cache_size for m in kept] == list(range(6, 70))


@pytest.mark.parametrize("artifact", ["recompiles", "recompiles_verbose"])
def test_the_log_tells_it_after_the_reference_lines(artifact):
    texts = []

    class Collects(logging.Handler):
        def emit(self, record):
            texts.append(record.getMessage())

    def caller(name):
        return compiled(ONE, name)

    log = torch._logging.get_artifact_logger(artifact)
    handler = Collects(logging.DEBUG)
    torch._logging.set_logs(**{artifact: True})
    log.addHandler(handler)
    try:
        compiled = torch.compile(lambda x, name: x * len(name), backend="eager")
        caller("short")
        caller("long" * 100)
    finally:
        log.removeHandler(handler)
        torch._logging.set_logs()
    before, after = texts
    assert before.startswith("Recompiling function <lambda> in ") and "0/0: name == 'short'" in before
    lines = after.split("\n")
    assert re.fullmatch(r"Recompiled function <lambda> in .*:\d+ in \d+\.\d\d ms", lines[0])
    assert lines[1].startswith("    what changed: name was 'short', now 'longlong") and lines[1].endswith("...")
    assert lines[2].startswith("    way out: ") and lines[3] == "    called from:"
    assert lines[-2].endswith("in caller") and lines[-1].strip() == "return compiled(ONE, name)"


def test_error_on_recompile_names_the_guard_and_makes_nothing():
    backend = Executed()
    compiled = torch.compile(f_plus, backend=backend, dynamic=False)
    compiled(ONE, 2)
    with config.patch(error_on_recompile=True):
        with pytest.raises(torch._dynamo.exc.RecompileError, match="- 0/0: n == 2"):
            compiled(ONE, 3)
        compiled(ONE, 2)
    assert (backend.graphs, backend.calls) == (1, 2)


# --- limits -----------------------------------------------------------------------------------------------------------


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

            @torch.compile(backend=backend)
            def run(self, x):
                return x * self.k

        objects = [Scaled(k) for k in range(6)]
        for _ in range(2):
            for o in objects:
                assert o.run(ONE).tolist() == [o.k] * 2

    backend = limited(calls, warned, graphs=3, changing="self.k was 0, 1, 2, now 3", way_out="attribute")
    assert backend.calls == 6


def test_limit_of_bound_methods_compiled_one_by_one(three, warned):
    def calls(backend):
        compiled = [torch.compile(Scaled(k).run, backend=backend) for k in range(6)]
        for _ in range(2):
            for k, run in enumerate(compiled):
                assert run(ONE).tolist() == [k] * 2

    class Scaled:
        def __init__(self, k):
            self.k = k

        def run(self, x):
            return x * self.k

    backend = limited(calls, warned, graphs=3, changing="self.k was 0, 1, 2, now 3", way_out="attribute")
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

    backend = limited(calls, warned, graphs=3, changing="G['G'] was 0, 1, 2, now 3", way_out="as an argument")
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
        for k in range(300):
            compiled(ONE, type("Own", (), {"value": k})())
            if k % 10 == 0:
                gc.collect()
    assert backend.graphs == 300 and warned == []


# --- stances ----------------------------------------------------------------------------------------------------------


def plus(backend, **options):
    return torch.compile(lambda x, n: x + n, backend=backend, **options)


def test_default_and_force_eager():
    backend = Executed()
    f = plus(backend)
    with torch.compiler.set_stance("force_eager"):
        f(ONE, 1)
        assert backend.graphs == 0
    f(ONE, 1)
    with torch.compiler.set_stance("force_eager"):
        assert f(ONE, 1).tolist() == [2, 2]
        with torch.compiler.set_stance("default"):
            f(ONE, 1)
    assert (backend.graphs, backend.calls) == (1, 2)


def test_eager_on_recompile_uses_what_is_there():
    backend = Executed()
    f = plus(backend)
    with torch.compiler.set_stance("eager_on_recompile"):
        f(ONE, 1)
    assert backend.graphs == 0
    f(ONE, 1)
    with torch.compiler.set_stance("eager_on_recompile"):
        for n in (1, 2, 1, 3):
            assert f(ONE, n).tolist() == [1 + n] * 2
        assert f(torch.ones(5), 1).tolist() == [2] * 5
    assert (backend.graphs, backend.calls) == (1, 3)
    f(ONE, 2)
    f(ONE, 3)
    assert (backend.graphs, backend.calls) == (2, 5)


@pytest.mark.parametrize("fullgraph", [False, True])
def test_fail_on_recompile(fullgraph):
    backend = Executed()
    f = plus(backend, fullgraph=fullgraph)
    with torch.compiler.set_stance("fail_on_recompile"):
        with pytest.raises(RuntimeError, match="Detected recompile when torch.compile stance is 'fail_on_recompile'"):
            f(ONE, 1)
    f(ONE, 1)
    with torch.compiler.set_stance("fail_on_recompile"):
        f(ONE, 1)
        for args in ((ONE, 2), (torch.ones(3), 1)):
            with pytest.raises(RuntimeError, match="function name: '<lambda>'"):
                f(*args)
        f(ONE, 1)
    assert (backend.graphs, backend.calls) == (1, 3)
    f(ONE, 2)
    assert backend.graphs == 2


def test_fail_on_recompile_of_what_is_dynamic():
    backend = Executed()
    f = plus(backend, dynamic=True)
    f(torch.ones(3), 1)
    with torch.compiler.set_stance("fail_on_recompile"):
        for n in range(2, 6):
            assert f(torch.ones(n), n).tolist() == [1 + n] * n
        with pytest.raises(RuntimeError, match="Detected recompile"):
            f(torch.ones(1), 1)
    assert backend.graphs == 1


@pytest.mark.parametrize("stance", ["eager_then_compile", "aot_eager_then_compile"])
def test_eager_then_compile_learns_from_the_first_call(stance):
    """Sizes and numbers that differ, wherever they are in the arguments, are symbols in the first compilation."""
    backend = Executed()

    def f(n, x, parts, more):
        return n * x * parts[0] * parts[1][0] * more["a"] + more[0]

    compiled = torch.compile(f, backend=backend)
    with torch.compiler.set_stance(stance):
        for n in range(2, 6):
            size = torch.ones(n)
            assert compiled(n, size, [n, (size,)], {"a": size, 0: n}).tolist() == [n * n + n] * n
            assert backend.graphs == (n > 2)
    assert backend.calls == 3


def test_eager_then_compile_keeps_what_stays_a_constant():
    backend = CompileCounter()
    f = torch.compile(lambda x, n: x + n, backend=backend)
    with torch.compiler.set_stance("eager_then_compile"):
        f(torch.ones(2), 5)
        f(torch.ones(3), 5)
        f(torch.ones(4), 5)
    assert backend.frame_count == 1
    f(torch.ones(4), 6)
    assert backend.frame_count == 2


def test_eager_then_compile_counts_calls_of_each_function():
    one, two = Executed(), Executed()
    f, g = plus(one), torch.compile(lambda x: x * 2, backend=two)
    with torch.compiler.set_stance("eager_then_compile"):
        f(ONE, 1)
        g(ONE)
        assert (one.graphs, two.graphs) == (0, 0)
        f(ONE, 1)
        assert (one.graphs, two.graphs) == (1, 0)
        g(ONE)
    assert (one.graphs, two.graphs) == (1, 1)
    torch._dynamo.reset()
    with torch.compiler.set_stance("eager_then_compile"):
        f(ONE, 1)
        assert one.graphs == 1
        f(ONE, 1)
        assert one.graphs == 2


def test_eager_then_compile_over_a_break():
    """Code after a break is a function of its own, whose first call is eager too."""
    backend = Executed()

    def f(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * x.shape[0]

    compiled = torch.compile(f, backend=backend)
    with torch.compiler.set_stance("eager_then_compile"):
        for n in range(2, 8):
            assert compiled(torch.ones(n)).tolist() == [2 * n] * n
    assert backend.graphs == 2


def test_eager_then_compile_with_a_container_in_itself():
    def f(x, parts):
        return x + parts[0]

    parts = [1]
    parts.append(parts)
    backend = Executed()
    compiled = torch.compile(f, backend=backend)
    with torch.compiler.set_stance("eager_then_compile"):
        for _ in range(3):
            assert compiled(ONE, parts).tolist() == [2, 2]
    assert backend.graphs == 1


def test_skip_guard_eval_unsafe_and_many_entries():
    backend = Executed()
    f = plus(backend, dynamic=False)
    for n in range(8):
        f(ONE, n)
    with torch.compiler.set_stance(skip_guard_eval_unsafe=True):
        for n in range(8):
            assert f(ONE, n).tolist() == [1 + n] * 2
        with pytest.raises(RuntimeError, match="skip_guard_eval_unsafe"):
            f(ONE, 9)
    assert backend.graphs == 8


def test_stances_within_compiled_code_are_forbidden():
    with pytest.raises(AssertionError):
        torch.compile(lambda x: torch.compiler.set_stance("default") or x, backend="eager")(ONE)

"""Functions kept whole, left out, replaced, assumed constant; stances; prints that wait for the graph."""

import copy
import math

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import codes, same
from minidynamo._dynamo.testing import CompileCounter, EagerAndRecordGraphs

pytestmark = pytest.mark.smoke


ALL = ("eager", "llvm", "blocks")


def data(*shape):
    return torch.from_numpy(np.linspace(-1, 1, int(np.prod(shape)), dtype="float32").reshape(shape))


def breaking(x):
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos()


@torch.compiler.allow_in_graph
def whole(x, scale=2):
    torch._dynamo.graph_break()
    return {"twice": x * scale, "rest": (x.sum(), 3)}


kept = torch._dynamo.nonstrict_trace(breaking)


@torch.compiler.allow_in_graph
def first_row(x):
    return x[0]


@torch.compiler.allow_in_graph
def increment(x):
    return x.add_(1)


CASES = {
    "allow_in_graph": (lambda x: whole(x + 1, scale=3)["twice"] - whole(x)["rest"][0], 8),
    "nonstrict_trace": (lambda x: kept(x * 2) + 1, 3),
    "nonstrict_trace in compiled code": (lambda x: torch._dynamo.nonstrict_trace(breaking)(x) + 1, 2),
    "a result that is a view": (lambda x: first_row(x).mul_(2) + x.sum(), None),
    "an argument written to": (lambda x: increment(x) * 2 + x, None),
    "on something made inside": (lambda x: increment(x * 2) + x, None),
}


@pytest.mark.parametrize("name", CASES)
def test_kept_whole(name):
    function, ops = CASES[name]
    same(function, lambda: (data(3, 2),), frames=1, ops=ops, breaks=(), backends=ALL)


def test_names_in_the_graph():
    backend = EagerAndRecordGraphs()
    torch.compile(lambda x: whole(x)["twice"] + kept(x), backend=backend)(data(2))
    code = backend.graphs[0].code
    assert f"whole = {__name__.replace('.', '_')}_whole(l_x_)" in code
    assert "flat_apply = flat_apply(l_x_)" in code


def test_symbolic_sizes():
    counter = CompileCounter()

    def f(x):
        return kept(x) * x.shape[0] + whole(x, scale=x.shape[0])["twice"]

    g, h = torch.compile(f, backend=counter), torch.compile(f)
    for n in (3, 4, 5, 6):
        assert g(data(n, 2)).tolist() == h(data(n, 2)).tolist() == f(data(n, 2)).tolist()
    assert counter.frame_count <= 4


def test_what_nonstrict_trace_refuses():
    def inside(x):
        def g(t):
            return t + 1

        return torch._dynamo.nonstrict_trace(g)(x) * 2

    same(inside, lambda: (data(2),), breaks=["GB0078"])
    with pytest.raises(AssertionError):
        torch._dynamo.nonstrict_trace(3)
    with pytest.raises(AssertionError, match="allow_in_graph expects a callable"):
        torch._dynamo.allow_in_graph(3)


def test_dictionaries_among_the_arguments():
    @torch._dynamo.nonstrict_trace
    def mixed(state, *, scale):
        return {"a": state["w"][0] * scale["by"], "n": state["n"]}

    def f(x, y):
        r = mixed({"w": [x, y], "n": 3}, scale={"by": y + 1})
        return r["a"] + r["n"]

    same(f, lambda: (data(2), data(2)), frames=1, ops=4, breaks=())


def test_arguments_a_graph_cannot_hold():
    class Settings:
        scale = 3.0

    @torch.compiler.allow_in_graph
    def scaled(x, settings):
        return x * settings.scale

    settings = Settings()
    same(lambda x: scaled(x, settings) + 1, lambda: (data(2),), breaks=["GB0055"])


def test_disallow_in_graph():
    torch._dynamo.disallow_in_graph(torch.erfc)
    try:
        same(lambda x: torch.erfc(x + 1) * 2, lambda: (data(2),), breaks=["GB0007"], frames=2)
    finally:
        torch._C._mark_callable(torch.erfc, None)


def test_forbid_in_graph():
    @torch._dynamo.forbid_in_graph
    def never(x):
        return x

    with pytest.raises(AssertionError, match="Attempt to trace forbidden callable"):
        torch.compile(lambda x: never(x) + 1)(data(2))
    with pytest.raises(AssertionError, match="forbidden"):
        torch.compile(lambda x: torch.compiler.set_stance("default") or x + 1)(data(2))


def test_assume_constant_result():
    calls = []

    @torch.compiler.assume_constant_result
    def factor(n):
        calls.append(n)
        return n + 1

    table = data(3)

    @torch.compiler.assume_constant_result
    def shared():
        return table

    f = torch.compile(lambda x: (x * factor(2) + shared(), shared()), backend="eager")
    for _ in range(3):
        y, held = f(data(3))
        assert y.tolist() == (data(3) * 3 + table).tolist()
        held += 0  # the very tensor, not a copy
        assert torch._C._shares_memory(held, table)
    assert calls == [2]


def test_substitute_in_graph():
    def replaced(x, n):
        return copy.deepcopy(x) * n

    @torch.compiler.substitute_in_graph(replaced)
    def traceable(x, n):
        return x.clone() * n

    same(lambda x: replaced(x, 3), lambda: (data(2),), frames=1, breaks=())
    with pytest.raises(TypeError, match="signatures"):
        torch.compiler.substitute_in_graph(replaced)(lambda x: x)
    with pytest.raises(TypeError):
        torch.compiler.substitute_in_graph(3)


def test_dont_skip_tracing():
    import random

    namespace = {"__name__": "random", "torch": torch}
    exec("def helper(x):\n    return torch.sin(x) + 1", namespace)
    helper = namespace["helper"]
    same(lambda x: helper(x) * 2, lambda: (data(2),), breaks=["GB0007"])
    torch._dynamo.dont_skip_tracing(helper)
    same(lambda x: helper(x) * 2, lambda: (data(2),), frames=1, ops=3, breaks=())
    assert random.__name__ == "random"


def test_error_on_graph_break():
    def f(x):
        y = x + 1
        with torch._dynamo.error_on_graph_break(True):
            y = breaking(y)
        return y

    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(f, backend="eager")(data(2))
    assert f(data(2)).tolist() == breaking(data(2) + 1).tolist()

    strict = torch._dynamo.error_on_graph_break(True)(breaking)
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(lambda x: strict(x) + 1, backend="eager")(data(2))
    lenient = torch._dynamo.error_on_graph_break(False)(breaking)

    def mixed(x):
        with torch._dynamo.error_on_graph_break(True):
            y = x * 2
        return lenient(y)

    same(mixed, lambda: (data(2),), breaks=["GB0025"])


def test_error_on_graph_break_around_a_compiled_function():
    f = torch.compile(breaking, backend="eager")
    with torch._dynamo.error_on_graph_break(True):
        with pytest.raises(torch._dynamo.exc.Unsupported):
            f(data(2))
        with torch._dynamo.error_on_graph_break(False):
            assert f(data(2)).tolist() == breaking(data(2)).tolist()
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch._dynamo.error_on_graph_break(True)(f)(data(2))
    assert f(data(2)).tolist() == breaking(data(2)).tolist()

    @torch._dynamo.error_on_graph_break(False)
    def lenient(x):
        return breaking(x)

    with torch._dynamo.error_on_graph_break(True):
        assert torch.compile(lambda x: lenient(x), backend="eager")(data(2)).tolist() == breaking(data(2)).tolist()


def test_suppressed_errors_of_backends():
    def failing(gm, example_inputs):
        raise ZeroDivisionError("no")

    def f(x):
        return x + 1

    with torch._dynamo.config.patch(suppress_errors=True):
        assert torch.compile(f, backend=failing)(data(2)).tolist() == f(data(2)).tolist()
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed):
            torch.compile(f, backend=failing, fullgraph=True)(data(2))
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed):
        torch.compile(f, backend=failing)(data(2))


def test_is_compiling():
    def f(x):
        flags = (torch.compiler.is_compiling(), torch.compiler.is_dynamo_compiling(), torch.compiler.is_exporting())
        return x + 1, flags

    assert f(data(2))[1] == (False, False, False)
    assert torch.compile(f, backend="eager")(data(2))[1] == (True, True, True)


# --- stances ----------------------------------------------------------------------------------------------------------


def counted():
    torch._dynamo.reset()
    counter = CompileCounter()

    def f(x):
        return x + 1

    return torch.compile(f, backend=counter), counter


def test_stances():
    f, counter = counted()
    with torch.compiler.set_stance("force_eager"):
        f(data(2))
        assert counter.frame_count == 0
    with torch.compiler.set_stance("fail_on_recompile"):
        with pytest.raises(RuntimeError, match="Detected recompile when torch.compile stance is 'fail_on_recompile'"):
            f(data(2))
    f(data(2))
    assert counter.frame_count == 1
    with torch.compiler.set_stance("eager_on_recompile"):
        assert f(data(2)).tolist() == (data(2) + 1).tolist()
        assert f(data(3, 3)).tolist() == (data(3, 3) + 1).tolist()
    assert counter.frame_count == 1
    with torch.compiler.set_stance("default", skip_guard_eval_unsafe=True):
        f(data(2))
        with pytest.raises(RuntimeError, match="skip_guard_eval_unsafe"):
            f(data(4, 4))
    f(data(3, 3))
    assert counter.frame_count == 2


def test_eager_then_compile():
    f, counter = counted()
    with torch.compiler.set_stance("eager_then_compile"):
        f(data(2))
        assert counter.frame_count == 0
        f(data(3))  # a size that differs from the first call's is a symbol
        f(data(4))
        assert f(data(5)).tolist() == (data(5) + 1).tolist()
        assert counter.frame_count == 1


def test_a_stance_as_function_and_decorator():
    f, counter = counted()
    torch.compiler.set_stance("force_eager")
    f(data(2))
    torch.compiler.set_stance("default")
    assert counter.frame_count == 0

    @torch.compiler.set_stance("force_eager")
    def eager():
        return f(data(2))

    eager()
    assert counter.frame_count == 0
    f(data(2))
    assert counter.frame_count == 1
    with pytest.raises(RuntimeError, match="invalid torch.compile stance 'bad'"):
        torch.compiler.set_stance("bad")


# --- prints that wait -------------------------------------------------------------------------------------------------


def test_prints_wait_for_the_graph():
    def f(x):
        x += 1
        print("log!", 3)
        y = torch.sin(x)
        print(f"sum {y.sum():.3f} {{}} of", x.shape[0], sep="|")
        return y

    with torch._dynamo.config.patch(reorderable_logging_functions={print}):
        same(f, lambda: (data(3),), frames=1, breaks=())


def test_texts_that_are_no_prints():
    def f(x):
        text = f"{x.sum()}"
        x += 1
        return text, x * 2

    with torch._dynamo.config.patch(reorderable_logging_functions={print}):
        same(f, lambda: (data(3),))


def test_prints_that_cannot_wait():
    with torch._dynamo.config.patch(reorderable_logging_functions={print}):
        same(lambda x: (print([object], x.shape), x + 1)[1], lambda: (data(3),), frames=1)


def test_ignored_logger_methods(capsys):
    import logging

    logger = logging.getLogger("marktest")
    with torch._dynamo.config.patch(ignore_logger_methods={logger.info}):
        counter = CompileCounter()

        def f(x):
            y = x + 1
            logger.info("here")
            return y * 2

        torch.compile(f, backend=counter)(data(2))
        assert counter.frame_count == 1


# --- comptime ---------------------------------------------------------------------------------------------------------


def test_comptime(capsys):
    from minidynamo._dynamo.comptime import comptime

    def f(x):
        y = x - 1
        comptime.graph_break()
        return y * y

    same(f, lambda: (data(3),), breaks=["GB0030"], frames=2)

    def g(x):
        y = x - 1
        comptime.print_graph()
        comptime(lambda ctx: ctx.print("compiling"))
        return y * math.pi

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.compile(g, backend="eager")(data(3))
    assert "l_x_ - 1" in capsys.readouterr().out
    assert codes() == set()


def test_a_stance_entered_twice():
    stance = torch.compiler.set_stance("force_eager")
    with stance, stance:
        pass
    with torch.compiler.set_stance("default"):
        pass


@torch.compiler.allow_in_graph
def writes_if_positive(x):
    if x.sum() > 0:
        x.add_(100)
    return x * 2


@torch.compiler.allow_in_graph
def raises_if_positive(x):
    if x.sum() > 0:
        raise KeyError("positive")
    return x * 2


def test_functions_kept_whole_that_look_at_values_break():
    def f(x):
        y = x * 1
        r = writes_if_positive(y)
        return y + 0, r, y

    def g(x):
        try:
            return raises_if_positive(x * 1)
        except KeyError:
            return x

    for function in (f, g):
        for sign in (1, -1):
            torch._dynamo.utils.counters.clear()
            same(function, lambda sign=sign: (torch.arange(1.0, 5.0) * sign,))
            assert "GB0033" in codes()


def test_compile_time_code_made_while_tracing():
    from minidynamo._dynamo.comptime import comptime

    seen = []

    def f(x):
        k = 3
        y = x + 1
        comptime(lambda ctx: seen.append("lambda"))

        def inner(ctx, extra=k + 1):
            seen.append((type(ctx).__name__, k, extra))

        comptime(inner)
        comptime(lambda ctx: None, lambda: seen.append("plain"))
        return y

    assert torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1)).item() == 2
    assert seen == ["lambda", ("ComptimeContext", 3, 4)]

    def g(x):
        y = x * 2
        comptime(lambda ctx: ctx.graph_break("asked"))
        return y + 1

    same(g, lambda: (data(3),), breaks=["GB0030"], frames=2)


def test_a_stance_that_forces_a_backend():
    graphs = []

    def counting(gm, example_inputs):
        graphs.append(gm)
        return gm

    f = torch.compile(lambda x: x + 1)
    assert f(torch.ones(1)).item() == 2
    stance = torch.compiler.set_stance(force_backend=counting)
    with stance:
        for _ in range(2):
            assert f(torch.ones(1)).item() == 2
        assert len(graphs) == 1
    assert f(torch.ones(1)).item() == 2 and f(torch.ones(2)).tolist() == [2, 2]
    assert len(graphs) == 1
    with torch.compiler.set_stance("default", force_backend="eager"):
        assert f(torch.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="force_backend"):
        torch.compiler.set_stance("force_eager", force_backend="eager")
    with pytest.raises(torch._dynamo.exc.InvalidBackend):
        torch.compiler.set_stance(force_backend="nobody")
    assert f(torch.ones(1)).item() == 2

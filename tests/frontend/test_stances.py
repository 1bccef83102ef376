"""compiler.set_stance() with recompilations and sizes that change."""

import pytest

import minidynamo as torch
from frontend.executed import Executed
from minidynamo._dynamo.testing import CompileCounter

ONE = torch.ones(2)


@pytest.fixture(autouse=True)
def clean():
    torch._dynamo.reset()


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

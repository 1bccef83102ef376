"""compile() and its companions: arguments, backends, errors, switches."""

import gc
import subprocess
import sys
import threading
import traceback
import warnings
import weakref

import pytest

import minidynamo as torch
from minidynamo._dynamo import exc
from minidynamo._dynamo.testing import CompileCounter, EagerAndRecordGraphs


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


def x():
    return torch.tensor([1.0, 2.0, 3.0])


def double(a):
    """Twice."""
    return a * 2


def test_metadata_of_the_wrapper():
    compiled = torch.compile(double)
    assert compiled.__name__ == "double"
    assert compiled.__doc__ == "Twice."
    assert compiled.__wrapped__ is double
    assert compiled._torchdynamo_orig_callable is double
    assert weakref.ref(compiled)() is compiled
    compiled.note = 3
    assert compiled.note == 3


def test_decorator_forms_and_methods():
    @torch.compile
    def f(a):
        return a + 1

    @torch.compile(backend="eager", fullgraph=True)
    def g(a):
        return a + 2

    class C:
        def __init__(self):
            self.k = 4

        @torch.compile
        def m(self, a, *, by=1):
            return a * self.k + by

    assert f(x()).tolist() == [2.0, 3.0, 4.0]
    assert g(x()).tolist() == [3.0, 4.0, 5.0]
    assert C().m(x(), by=2).tolist() == [6.0, 10.0, 14.0]


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        ((3,), AssertionError, "A callable function is expected, but <class 'int'> is provided."),
        ((double, "eager"), TypeError, "positional arguments but 2 were given"),
    ],
)
def test_wrong_model(arguments, error, text):
    with pytest.raises(error) as caught:
        torch.compile(*arguments)
    assert text in str(caught.value)


def test_wrong_options():
    with pytest.raises(exc.InvalidBackend, match="Invalid backend: 'nope', see `torch._dynamo.list_backends"):
        torch.compile(double, backend="nope")
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast, should be one of: default"):
        torch.compile(double, mode="fast")
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        torch.compile(double, mode="default", options={})
    with pytest.raises(AssertionError):
        torch.compile(double, dynamic="a")
    assert torch.compile(double, disable=True) is double


def test_backend_gets_graph_and_inputs():
    seen = []

    def backend(gm, inputs):
        seen.append((gm, [tuple(i.shape) for i in inputs]))
        return gm.forward

    f = torch.compile(lambda a, b: torch.cat([a, b]).sum(dim=0) + 1, backend=backend)
    assert f(x(), x()).item() == 13.0
    ((gm, shapes),) = seen
    assert shapes == [(3,), (3,)]
    assert [(n.op, n.name) for n in gm.graph.nodes] == [
        ("placeholder", "l_a_"), ("placeholder", "l_b_"), ("call_function", "cat"), ("call_method", "sum_1"),
        ("call_function", "add"), ("output", "output"),
    ]  # fmt: skip
    assert gm.graph.nodes[2].target is torch.cat
    assert "torch.cat([l_a_, l_b_])" in gm.code
    assert "dim = 0" in gm.print_readable(print_output=False)
    for shown, text in {
        (): "f32[6]",
        ("stride",): "f32[6][1]",
        ("device",): "f32[6]cpu",
        ("stride", "device"): "f32[6][1]cpu",
    }.items():
        options = {f"include_{name}": True for name in shown}
        assert f'cat: "{text}" = torch.cat(' in gm.print_readable(print_output=False, **options)
    assert gm(x(), x())[0].item() == 13.0


@pytest.mark.parametrize("answer, text", [(None, "compiler_fn did not return callable"), (KeyError("boom"), "boom")])
def test_failing_backend_leaves_state_alone(answer, text):
    def backend(gm, inputs):
        if answer is None:
            return 5
        raise answer

    log = []

    def f(a):
        log.append(1)
        a.add_(1)
        return a * 2

    a = x()
    with pytest.raises(exc.BackendCompilerFailed) as caught:
        torch.compile(f, backend=backend)(a)
    assert "backend='backend' raised:" in str(caught.value) and text in str(caught.value)
    assert log == [] and a.tolist() == [1.0, 2.0, 3.0]


def test_fullgraph_error_has_code_place_and_fix():
    def inner(a):
        torch._dynamo.graph_break()
        return a

    def f(a):
        return inner(a + 1)

    with pytest.raises(exc.Unsupported) as caught:
        torch.compile(f, fullgraph=True)(x())
    error = caught.value
    assert error.gb_code == "GB0025"
    assert error.gb_type == "Call to `torch._dynamo.graph_break()`"
    assert error.hints and error.explanation
    assert [frame.name for frame in error.real_stack] == ["f", "inner"]
    assert "from user code:\n   File" in str(error)


def test_shape_error_is_raised_at_the_users_line():
    def f(a):
        b = a + 1
        return b + torch.ones(5)

    for options in ({}, {"backend": "eager"}):
        with pytest.raises(RuntimeError) as caught:
            torch.compile(f, **options)(x())
        assert "return b + torch.ones(5)" in "".join(traceback.format_tb(caught.value.__traceback__))
    with pytest.raises(exc.TorchRuntimeError):
        torch.compile(f, fullgraph=True)(x())


def test_unsupported_dtype_is_reported_at_the_users_line():
    def f(a):
        return a.to(torch.complex32)

    with pytest.raises(TypeError) as plain:
        f(x())
    with pytest.raises(TypeError) as compiled:
        torch.compile(f)(x())
    assert str(compiled.value) == str(plain.value)
    assert traceback.extract_tb(compiled.value.__traceback__)[-1].name == "f"


def test_wrong_arguments_raise_pythons_own_error():
    with pytest.raises(TypeError, match=r"double\(\) takes 1 positional argument but 2 were given"):
        torch.compile(double)(1, 2)


def test_recompile_limit():
    counter = CompileCounter()

    def f(a, n):
        return a + n

    compiled = torch.compile(f, backend=counter, dynamic=False)
    with torch._dynamo.config.patch(recompile_limit=3):
        for n in range(10, 18):
            assert compiled(x(), n).tolist() == f(x(), n).tolist()
    assert counter.frame_count == 3
    strict = torch.compile(f, backend=counter, fullgraph=True)
    with torch._dynamo.config.patch(recompile_limit=1):
        strict(x(), 1)
        with pytest.raises(exc.FailOnRecompileLimitHit):
            strict(x(), 2)


def test_same_code_and_backend_share_entries():
    counter = CompileCounter()
    torch.compile(double, backend=counter)(x())
    torch.compile(double, backend=counter)(x())
    assert counter.frame_count == 1
    torch.compile(double, backend="eager")(x())
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 2


def test_disable():
    seen = EagerAndRecordGraphs()

    @torch._dynamo.disable
    def plain(a):
        return a + 1

    def f(a):
        return plain(a * 2) * 3

    assert torch.compile(f, backend=seen)(x()).tolist() == [9.0, 15.0, 21.0]
    assert len(seen.graphs) == 2
    messages = [m for m in torch._dynamo.utils.counters["graph_break"]]
    assert len(messages) == 1 and "gb0098" in messages[0]


def test_explain():
    def f(a):
        b = a + 1
        torch._dynamo.graph_break()
        return b * 2

    found = torch._dynamo.explain(f)(x())
    assert (found.graph_count, found.graph_break_count, found.op_count) == (2, 1, 2)
    assert "torch._dynamo.graph_break()" in found.break_reasons[0].reason
    assert found.break_reasons[0].user_stack[-1].name == "f"
    text = str(found)
    assert text.startswith("Graph Count: 2\nGraph Break Count: 1\nOp Count: 2\n")
    assert any("TENSOR_MATCH" in guard.create_function for guard in found.out_guards)


def test_generators_and_coroutines_run_plain():
    @torch.compile
    def g(a):
        yield a + 1
        yield a + 2

    assert [t.tolist() for t in g(x())] == [[2.0, 3.0, 4.0], [3.0, 4.0, 5.0]]


def test_traced_program_sees_plain_python():
    lines = []

    def tracer(frame, event, arg):
        if frame.f_code is double.__code__:
            lines.append(event)
        return tracer

    compiled = torch.compile(double)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        compiled(x())
    finally:
        sys.settrace(before)
    assert "line" in lines


def test_threads():
    compiled = torch.compile(lambda a, n: (a * n).sum() + n)
    failures = []

    def work(seed):
        for k in range(50):
            n = (seed * 7 + k) % 5
            if compiled(x(), n).item() != 6.0 * n + n:
                failures.append((seed, k))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


def test_entries_die_with_their_function():
    class Witness:
        pass

    def make():
        witness = Witness()

        def f(a):
            witness.seen = True
            return a + 1

        compiled = torch.compile(f, backend="eager")
        compiled(x())
        return weakref.ref(witness)

    found = make()
    gc.collect()
    assert found() is None


def test_repeated_calls_do_not_leak():
    def f(a, table):
        table["k"] = a + 1
        return [a, table]

    compiled = torch.compile(f)
    a, table = x(), {}
    for _ in range(50):
        compiled(a, table)
    before = sys.getrefcount(a), sys.getrefcount(table), sys.getrefcount(None)
    for _ in range(500):
        compiled(a, table)
    after = sys.getrefcount(a), sys.getrefcount(table), sys.getrefcount(None)
    assert after[:2] == before[:2] and abs(after[2] - before[2]) < 50


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_interrupt_while_compiling(error):
    def backend(gm, inputs):
        raise error

    compiled = torch.compile(lambda a: a + 1, backend=backend)
    with pytest.raises(error):
        compiled(x())
    assert torch.compile(double)(x()).tolist() == [2.0, 4.0, 6.0]


def test_disabled_by_environment():
    program = (
        "import minidynamo as torch\n"
        "seen = []\n"
        "torch.compile(lambda a: a + 1, backend=lambda gm, i: seen.append(1) or gm.forward)(torch.ones(2))\n"
        "print(len(seen))"
    )
    import os

    for name in ("MINIDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE"):
        done = subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, name: "1"}, capture_output=True, text=True
        )
        assert done.stdout.strip() == "0", (name, done.stderr)


def test_untraceable_c_function_warns_once():
    def f(a):
        return a + (1 if threading.get_ident() else 0)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.compile(f, backend="eager")(x())
    assert len([w for w in caught if "get_ident" in str(w.message)]) <= 1

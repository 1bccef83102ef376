"""What tracing leaves as it was, what it says of what it cannot trace, and what it records."""

import inspect
import threading

import pytest

import minidynamo as torch
from minidynamo import fx
from minidynamo.nn.functional import bilinear, linear, relu, softmax

F = torch.nn.functional


def codes():
    return [
        f.__code__
        for f in (relu, bilinear, softmax, torch.einsum, torch._assert, torch.ops.aten.relu.__call__.__func__)
    ]


def methods():
    return torch.nn.Module.__call__, torch.nn.Module.__getattr__


def test_everything_is_put_back():
    before = codes(), methods(), inspect.signature(relu)
    fx.symbolic_trace(lambda x: relu(x))
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(ZeroDivisionError):
        fx.symbolic_trace(lambda x: relu(x) / (1 // 0))
    tracer = fx.proxy.GraphAppendingTracer(fx.Graph())
    assert codes() != before[0]
    del tracer
    assert (codes(), methods(), inspect.signature(relu)) == before


def test_functions_that_were_imported_by_name():
    gm = fx.symbolic_trace(lambda x, w: softmax(relu(linear(x, w)), dim=1))
    names = [n.name for n in gm.graph.nodes if n.op == "call_function"]
    assert names == ["linear", "relu", "softmax"]
    assert [n.target for n in gm.graph.nodes if n.op == "call_function"] == [linear, relu, softmax]


def test_other_threads_compute_while_one_traces():
    inside, done, results = threading.Event(), threading.Event(), []

    def compute():
        inside.wait()
        results.append(F.relu(torch.tensor([-1.0, 2.0])).tolist())
        results.append(torch.nn.Linear(2, 2)(torch.ones(1, 2)).shape)
        done.set()

    thread = threading.Thread(target=compute)
    thread.start()

    def f(x):
        inside.set()
        assert done.wait(20)
        return F.relu(x)

    gm = fx.symbolic_trace(f)
    thread.join()
    assert results == [[0.0, 2.0], (1, 2)] and len(gm.graph.nodes) == 3


def test_compiled_functions_stay_compiled():
    def f(x):
        return F.relu(F.linear(x, torch.ones(2, 3)))

    counter = torch._dynamo.testing.CompileCounter()
    compiled, x = torch.compile(f, backend=counter), torch.ones(4, 3)
    first = compiled(x)
    gm = fx.symbolic_trace(f)
    assert torch.equal(compiled(x), first) and torch.equal(gm(x), first) and counter.frame_count == 1


def test_trace_errors_name_the_line():
    def f(x):
        y = x.sum()
        if y > 0:  # here
            return x
        return y

    with pytest.raises(fx.proxy.TraceError, match=r"test_tracing\.py:\d+: if y > 0:  # here"):
        fx.symbolic_trace(f)
    with pytest.raises(fx.proxy.TraceError, match="for item in x"):

        def g(x):
            for item in x:
                return item

        fx.symbolic_trace(g)
    with pytest.raises(RuntimeError, match=r"wrap\('len'\)"):
        fx.symbolic_trace(lambda x: len(x))


UNHOLDABLE = [object(), b"bytes", {1, 2}, abs, lambda: 0, torch.Tensor]


@pytest.mark.parametrize("value", UNHOLDABLE, ids=lambda value: type(value).__name__)
def test_values_no_graph_can_hold(value):
    with pytest.raises(NotImplementedError, match="argument of type"):
        fx.symbolic_trace(lambda x: x.foo(value))


def test_what_is_traced():
    with pytest.raises(AssertionError, match="a function or a Module"):
        fx.symbolic_trace(3) if False else fx.Tracer().trace(3)
    module, other = torch.nn.Sequential(torch.nn.ReLU()), torch.nn.ReLU()
    tracer = fx.Tracer()
    tracer.root = module
    with pytest.raises(NameError, match="not a submodule"):
        tracer.path_of_module(other)
    with pytest.raises(RuntimeError, match="2 concrete_args were given for 1"):
        fx.symbolic_trace(lambda x: x, concrete_args=(1, 2))
    with pytest.raises(RuntimeError, match="different traces"):
        one, two = (fx.Proxy(fx.Graph().placeholder("x")) for _ in range(2))
        torch.add(one, two)


def test_stack_traces():
    class Noting(fx.Tracer):
        record_stack_traces = True

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)

        def forward(self, x):
            y = self.layer(x)
            return y + 1

    net = Net()
    gm = fx.GraphModule(net, Noting().trace(net))
    traces = {n.name: n.stack_trace for n in gm.graph.nodes}
    assert traces["x"] is None and traces["output"] is None
    assert traces["layer"].endswith("in forward\n    y = self.layer(x)") and traces["layer"].count("File") == 1
    assert "return y + 1" in traces["add"]
    text = gm.print_readable(print_output=False)
    assert "in forward, code: y = self.layer(x)\n" in text and "in forward, code: return y + 1\n" in text
    assert list(gm.graph.nodes)[1].meta["nn_module_stack"] == {"layer": ("layer", torch.nn.Linear)}


def test_mutable_operations_can_be_refused():
    class Strict(fx.Tracer):
        check_mutable_operations = True

    with pytest.raises(RuntimeError, match="writes to its arguments"):
        Strict().trace(lambda x: F.relu_(x))
    assert len(Strict().trace(lambda x: F.relu(x)).nodes) == 3


def test_asserts_are_not_traced():
    class Asserting(fx.Tracer):
        trace_asserts = True

    with pytest.raises(NotImplementedError, match="torch._assert"):
        Asserting().trace(lambda x: x)
    gm = fx.symbolic_trace(lambda x: (torch._assert(x.shape[0] == 2, "two rows"), x)[1])
    assert gm(torch.ones(2)).tolist() == [1, 1]
    with pytest.raises(AssertionError, match="two rows"):
        gm(torch.ones(3))


def test_wrap_wants_the_top_level_of_a_module():
    with pytest.raises(NotImplementedError, match="top level"):
        fx.wrap("f")
    with pytest.raises(RuntimeError, match="a function or the name"):
        fx.wrap(3)


def test_tensors_on_the_left():
    gm = fx.symbolic_trace(lambda x: (torch.ones(2) + x, torch.ones(2).mul(x), torch.ones(2) < x))
    x = torch.tensor([0.5, 3.0])
    assert [t.tolist() for t in gm(x)] == [[1.5, 4.0], [0.5, 3.0], [False, True]]


def test_operators_of_torch_ops():
    gm = fx.symbolic_trace(lambda x: torch.ops.aten.relu(torch.ops.aten.add.Tensor(x, 1)))
    assert "torch.ops.aten.relu(add_tensor)" in gm.code and "torch.ops.aten.add.Tensor(x, 1)" in gm.code
    assert gm(torch.tensor([-3.0, 3.0])).tolist() == [0.0, 4.0]


def test_is_tracing():
    seen = []
    fx.symbolic_trace(lambda x: seen.append(fx._symbolic_trace.is_fx_tracing()) or x)
    assert seen == [True] and not fx._symbolic_trace.is_fx_tracing()

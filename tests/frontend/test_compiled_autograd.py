"""backward() captured as a graph: gradients, hooks, identities and exceptions as without it, and what is counted."""

import logging
import threading

import pytest

import minidynamo as torch
from minidynamo import nn
from minidynamo._dynamo import compiled_autograd, config
from minidynamo._dynamo.testing import CompileCounter
from minidynamo._dynamo.utils import counters, maybe_enable_compiled_autograd


def as_it_is(module):
    return module


def traced(module):
    return torch.compile(module, backend="eager")


@pytest.fixture(autouse=True)
def nothing_compiled():
    torch._dynamo.reset()
    counters.clear()
    yield
    torch._dynamo.reset()
    counters.clear()


def net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 2))


def grads(module):
    return [None if p.grad is None else p.grad.tolist() for p in module.parameters()]


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def mlp(log):
    m = net()
    for _ in range(2):  # adds up
        m(torch.ones(5, 3)).square().mean().backward()
    return grads(m)


def shared_parameters(log):
    a, b = net(), net()
    b[3].weight = a[3].weight
    held = a[0].weight.grad = torch.ones(4, 3)
    (a(torch.ones(2, 3)) * b(torch.ones(2, 3))).sum().backward()
    return grads(a), grads(b), held is a[0].weight.grad, held.tolist()


def hooks_in_order(log):
    w, x = leaf(1.0, 2.0), leaf(3.0, 4.0)
    h = w * x
    w.register_hook(lambda g: log.append(("w", g.tolist())))
    w.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: (log.append(("x", g.tolist(), w.grad is None)), g.expand(2) + 1)[1])
    h.register_hook(lambda g: (log.append("h"), g.t().neg())[1])
    h.retain_grad()
    w.register_post_accumulate_grad_hook(lambda p: log.append(("after", p is w, p.grad.tolist())))
    h.square().sum().backward()
    return w.grad.tolist(), x.grad.tolist(), h.grad.tolist()


def hooks_that_leave(log):
    w = leaf(1.0, 2.0)
    handles = [w.register_hook(lambda g: (log.append("once"), handles.pop().remove(), g * 5)[2])]
    for _ in range(2):
        (w * 3).sum().backward()
    return w.grad.tolist()


def optimizer_within(log):
    m = net()
    for p in m.parameters():
        p.register_post_accumulate_grad_hook(lambda p: (p.data.sub_(p.grad), setattr(p, "grad", None)) and None)
    for _ in range(2):
        m(torch.ones(5, 3)).square().mean().backward()
    return grads(m), [p.tolist() for p in m.parameters()]


def a_hook_that_raises(log):
    w, x = leaf(1.0, 2.0), leaf(3.0, 4.0)
    h = w * 2
    h.register_hook(lambda g: {}["missing"])
    x.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.tolist()))
    with pytest.raises(KeyError, match="missing"):
        (x * h).sum().backward()
    return w.grad, x.grad.tolist()


def a_hook_with_a_wrong_answer(log):
    w = leaf(1.0, 2.0)
    w.register_hook(lambda g: g[:1])
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        (w * 3).sum().backward()
    w.register_post_accumulate_grad_hook(lambda p: 1)
    return w.grad


def kept_and_again(log):
    w = leaf(1.0, 2.0)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    first = w.grad
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()
    return first is w.grad, w.grad.tolist()


def chosen_inputs(log):
    w, x = leaf(1.0, 2.0), leaf(3.0, 4.0)
    h = w * x
    h.square().sum().backward(inputs=[w], retain_graph=True)
    found = torch.autograd.grad(h.sum(), [x, h, w], allow_unused=True, grad_outputs=torch.tensor(2.0))
    return w.grad.tolist(), x.grad, [g.tolist() for g in found]


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 + 0 * x


def own_function(log):
    w = leaf(1.0, 2.0)
    w.register_hook(lambda g: log.append(g.tolist()))
    Doubled.apply(w.sin()).square().sum().backward()
    return w.grad.tolist()


def writes_and_views(log):
    w = leaf(1.0, 2.0, 3.0, 4.0)
    a = (w * 2).view(2, 2)
    a[0].mul_(w[2:])
    a.t()[1].add_(w[0]).exp_()
    b = torch.nn.functional.dropout(a, 0.0) + a.flip(0)
    b.std().backward()
    return w.grad.tolist()


def no_leaf_left_out(log):
    w, b = leaf(1.0, 2.0), leaf(1.0, 2.0)
    (w + b).sum().backward()
    b.grad.add_(1)
    return w.grad.tolist(), b.grad.tolist()


def hooks_of_nodes(log):
    w = leaf(1.0, 2.0)
    h = w * 3
    h.grad_fn.register_prehook(lambda g: log.append(g[0].tolist()))
    h.grad_fn.register_hook(lambda i, o: (i[0] * 2,))
    h.exp().sum().backward()
    return w.grad.tolist()


def differentiated_twice(log):
    w = leaf(1.0, 2.0)
    (g,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
    g.square().sum().backward()
    return w.grad.tolist()


def packed(log):
    w = leaf(1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: log.append("pack") or t, lambda t: log.append("un") or t):
        h = w.exp()
    h.register_hook(lambda g: log.append("hook"))
    h.sum().backward()
    return w.grad.tolist()


def compiled_forward(log):
    m = net()
    compiled = torch.compile(m)
    m[0].weight.register_hook(lambda g: g + 1)
    for _ in range(2):
        compiled(torch.ones(5, 3)).square().mean().backward()
    return grads(m)


PROGRAMS = [
    mlp,
    shared_parameters,
    hooks_in_order,
    hooks_that_leave,
    optimizer_within,
    a_hook_that_raises,
    a_hook_with_a_wrong_answer,
    kept_and_again,
    chosen_inputs,
    own_function,
    writes_and_views,
    no_leaf_left_out,
    hooks_of_nodes,
    differentiated_twice,
    packed,
    compiled_forward,
]


@pytest.mark.filterwarnings("ignore:.*implemented in C")
@pytest.mark.parametrize("compiler_fn", [as_it_is, traced])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_see_no_difference(program, compiler_fn):
    plain, log = [], []
    expected = program(plain)
    with compiled_autograd._enable(compiler_fn):
        assert program(log) == expected and log == plain
    captures = counters["compiled_autograd"]["captures"]
    assert captures > 0
    with compiled_autograd._enable(compiler_fn):
        again = []
        assert program(again) == expected and again == plain
    assert counters["compiled_autograd"]["captures"] == captures


def test_one_capture_for_each_shape():
    m, graphs = net(), []
    with compiled_autograd._enable(lambda graph: graphs.append(graph) or graph):
        for rows in (5, 5, 6, 5, 6):
            m(torch.ones(rows, 3)).sum().backward()
    assert len(graphs) == counters["compiled_autograd"]["captures"] == 2
    assert [n.name for n in graphs[0].graph.nodes if n.op == "placeholder"] == [
        "inputs",
        "sizes",
        "scalars",
        "hooks",
        "packed_data",
    ]
    assert graphs[0].code.count("external_utils.call_accumulate_grad(") == 6


def test_a_graph_of_one_piece():
    """Hooks, and what is added to leaves, are traced with the rest."""
    counter = CompileCounter()
    w = leaf(1.0, 2.0)
    w.register_hook(lambda g: g * 2)
    w.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(3) is None or None)
    with compiled_autograd._enable(lambda graph: torch.compile(graph, backend=counter, fullgraph=True)):
        for _ in range(2):
            w.grad = None
            (w * w).sum().backward()
            assert w.grad.tolist() == [12.0, 24.0]
    assert counter.frame_count == 1


def test_a_train_step():
    """By the setting: backward() in a compiled function is compiled with the options of that function."""

    def trained(compile_step, backend="llvm"):
        m = net()
        optimizer = torch.optim.SGD(m.parameters(), lr=0.1)

        def step(x):
            loss = m(x).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        step = torch.compile(step, backend=backend) if compile_step else step
        losses = [step(torch.ones(5, 3)).item() for _ in range(3)]
        m(torch.ones(5, 3)).sum().backward()  # not in a compiled function
        return losses, grads(m), [p.tolist() for p in m.parameters()]

    expected = trained(False)
    counter = CompileCounter()
    with config.patch(compiled_autograd=True):
        assert trained(True, counter) == expected
    assert counters["compiled_autograd"]["captures"] == 1
    assert counter.frame_count == 3  # up to backward(), backward(), and what follows
    trained(True, counter)
    assert counters["compiled_autograd"]["captures"] == 1
    with config.patch(compiled_autograd=True), compiled_autograd._disable():
        trained(True)
    assert counters["compiled_autograd"]["captures"] == 1


def test_machine_code():
    m = net()
    m(torch.ones(5, 3)).square().mean().backward()
    expected = grads(m)
    m.zero_grad()
    with maybe_enable_compiled_autograd(True):
        torch.compile(m)(torch.ones(5, 3)).square().mean().backward()
    assert grads(m) == expected
    assert counters["compiled_autograd"] == {"captures": 1, "compiles": 1}


def test_a_compiler_that_raises():
    w = leaf(1.0, 2.0)
    loss = (w * w).sum()
    with compiled_autograd._enable(lambda graph: {}["none"]), pytest.raises(KeyError, match="none"):
        loss.backward()
    assert w.grad is None
    loss.backward()
    assert w.grad.tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match="callable"):
        with compiled_autograd._enable(None):
            pass
    with (
        compiled_autograd._enable(lambda graph: lambda *args: [1]),
        pytest.raises(TypeError, match="'int' for a tensor"),
    ):
        torch.autograd.grad((w * 3).sum(), w)
    with compiled_autograd._enable(lambda graph: lambda *args: []), pytest.raises(RuntimeError, match="0 tensors"):
        torch.autograd.grad((w * 4).sum(), w)


def test_contexts():
    w, graphs = leaf(1.0), []

    def note(graph):
        graphs.append(graph)
        return graph

    with compiled_autograd._enable(note):
        with compiled_autograd._disable():
            (w * 2).backward()
            with compiled_autograd._enable(note, ignore_active_disable_ctx=False):
                (w * 2).backward()
            assert not graphs
            with compiled_autograd._enable(note):
                (w * 2).backward()
            assert len(graphs) == 1
        others = threading.Thread(target=lambda: (w * 4).backward())
        others.start()
        others.join()
    with torch.compiler.set_stance("force_eager"), compiled_autograd._enable(note):
        (w * 3).backward()
    (w * 5).backward()
    assert len(graphs) == 1 and w.grad.tolist() == [18.0]


def test_threads():
    """Each thread has a backward() of its own."""
    w, errors = leaf(1.0, 2.0), []

    def run():
        try:
            with compiled_autograd._enable(as_it_is):
                for k in range(20):
                    assert torch.autograd.grad((w * k).sum(), w)[0].tolist() == [k, k]
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []


def test_backward_within_a_hook_runs_as_it_is():
    w, v = leaf(1.0), leaf(1.0)
    w.register_hook(lambda g: (torch.enable_grad()(lambda: v * 3)()).backward())
    with compiled_autograd._enable(as_it_is):
        (w * 2).backward()
    assert counters["compiled_autograd"]["captures"] == 1 and v.grad.tolist() == [3.0]


def test_the_log(caplog):
    w = leaf(1.0)
    torch._logging.set_logs(compiled_autograd=True)
    try:
        logger = torch._logging.get_artifact_logger("compiled_autograd")
        logger.addHandler(caplog.handler)
        with compiled_autograd._enable(as_it_is):
            (w * 2).backward()
    finally:
        logger.removeHandler(caplog.handler)
        torch._logging.set_logs()
    record = [r for r in caplog.records if r.levelno == logging.DEBUG][-1]
    assert "===== Compiled autograd graph =====" in record.getMessage()
    assert "class CompiledAutograd" in record.getMessage()
    assert "torch.ops.aten.mul.default(" in record.getMessage()

"""Backends change the graphs they are given: what runs is the changed graph, once it is recompiled."""

import copy
import operator
import pickle

import pytest

import minidynamo as torch
from minidynamo import fx
from minidynamo._dynamo.eval_frame import lookup_backend
from minidynamo._dynamo.testing import EagerAndRecordGraphs

F = torch.nn.functional


def swapped(gm, old=operator.add, new=operator.mul):
    for node in gm.graph.nodes:
        if node.op == "call_function" and node.target is old:
            node.target = new
    gm.graph.lint()
    gm.recompile()
    return gm


def summed(x, y):
    return torch.relu(x + y) * 2


def inputs():
    return torch.arange(12.0).reshape(3, 4) - 5, torch.arange(12.0).reshape(3, 4) / 3 - 1


RETURNS = {
    "the module": swapped,
    "its forward": lambda gm: swapped(gm).forward,
    "a function": lambda gm: lambda *args: swapped(gm)(*args),
    "another module": lambda gm: fx.GraphModule(gm, swapped(gm).graph),
    "a copy": lambda gm: swapped(copy.deepcopy(gm)),
    "a copy of the changed one": lambda gm: copy.deepcopy(swapped(gm)),
    "a pickled one": lambda gm: pickle.loads(pickle.dumps(swapped(gm))),
    "an interpreter": lambda gm: fx.Interpreter(swapped(gm)).run,
    "a transformed one": lambda gm: fx.Transformer(swapped(gm)).transform(),
    "llvm": lambda gm: lookup_backend("inductor")(swapped(gm), inputs()),
    "blocks": lambda gm: lookup_backend("aot_eager")(swapped(gm), inputs()),
    "eager": lambda gm: lookup_backend("eager")(swapped(gm), inputs()),
}


@pytest.mark.parametrize("kind", RETURNS)
def test_what_runs_is_the_changed_graph(kind):
    x, y = inputs()
    compiled = torch.compile(summed, backend=lambda gm, example: RETURNS[kind](gm), fullgraph=True)
    for _ in range(2):
        assert torch.equal(compiled(x, y), torch.relu(x * y) * 2)


def test_texts_follow_the_changes(capsys):
    backend = EagerAndRecordGraphs()
    torch.compile(summed, backend=backend)(*inputs())
    (gm,) = backend.graphs
    before = gm.code, str(gm.graph), gm.print_readable(print_output=False)
    list(gm.graph.nodes)
    assert (gm.code, str(gm.graph), gm.print_readable(print_output=False)) == before
    assert gm.recompile() is None and gm.code == before[0]
    node = next(n for n in gm.graph.nodes if n.target is operator.add)
    node.target = torch.mul
    assert gm.code == before[0] and "torch.mul" in str(gm.graph)
    gm.recompile()
    assert gm.code == before[0].replace("l_x_ + l_y_", "torch.mul(l_x_, l_y_)")
    assert 'add: "f32[3, 4]" = torch.mul(l_x_, l_y_)' in gm.print_readable(print_output=False)
    gm.graph.print_tabular()
    assert "mul of type object" in capsys.readouterr().out


def test_without_recompile_the_old_code_runs():
    def changed(gm, example):
        for node in gm.graph.nodes:
            if node.target is operator.add:
                node.target = torch.mul
        return gm

    assert torch.equal(torch.compile(summed, backend=changed)(*inputs()), summed(*inputs()))


def test_patterns_in_captured_graphs():
    def replaced(gm, example):
        assert len(fx.replace_pattern(gm, lambda a: torch.relu(a), lambda a: torch.sigmoid(a))) == 1
        return gm

    x, y = inputs()
    assert torch.equal(torch.compile(summed, backend=replaced)(x, y), torch.sigmoid(x + y) * 2)


def test_changed_graphs_train():
    layer = torch.nn.Linear(4, 2)
    compiled = torch.compile(lambda x: F.relu(layer(x)).sum(), backend=lambda gm, i: swapped(gm, torch.relu, torch.sin))
    x = inputs()[0]
    compiled(x).backward()
    by_graph = layer.weight.grad.clone()
    layer.zero_grad()
    torch.sin(layer(x)).sum().backward()
    assert torch.allclose(by_graph, layer.weight.grad)


def sized(x):
    y = x.view(x.shape[0] * 2, -1)
    z = torch.zeros(size=(x.shape[0],)) + x.shape[1]
    return y + 1, z, x[: x.shape[0] // 2], y.reshape([-1, x.shape[1] // 2]) + 2


def test_gradient_modes_are_part_of_changed_graphs():
    def f(x):
        with torch.no_grad():
            y = x + 2
        return x + y, y

    x = inputs()[0].requires_grad_()
    total, product = torch.compile(f, backend=lambda gm, i: swapped(gm))(x)
    assert torch.equal(product, x * 2) and not product.requires_grad and torch.is_grad_enabled()
    total.sum().backward()
    assert torch.equal(x.grad, (x * 2).detach())


@pytest.mark.parametrize("kind", ["code", "interpreter"])
def test_sizes_are_those_of_the_call(kind):
    seen = []

    def backend(gm, example):
        seen.append(gm)
        if kind == "interpreter":
            return fx.Interpreter(gm).run
        return swapped(gm, operator.add, operator.sub)

    compiled = torch.compile(sized, backend=backend, dynamic=True)
    sign = 1 if kind == "interpreter" else -1
    for rows in (4, 6, 10):
        x = torch.arange(rows * 6.0).reshape(rows, 6)
        y = x.view(rows * 2, -1)
        wanted = y + sign, torch.zeros(rows) + 6 * sign, x[: rows // 2], y.reshape(-1, 3) + 2 * sign
        assert all(torch.equal(a, b) for a, b in zip(compiled(x), wanted))
    assert len(seen) == 1


def test_numbers_as_inputs():
    seen = []

    def backend(gm, example):
        seen.append(swapped(gm))
        return gm

    compiled = torch.compile(lambda x, n, m: (x * (n + m) + n) * (n * m - 3), backend=backend, dynamic=True)
    x = inputs()[0]
    for n, m in ((5, 8), (6, 9), (7, 4)):
        assert torch.equal(compiled(x, n, m), x * (n + m) * n * (n * m - 3))
    assert len(seen) == 1 and 's0: "Sym(s0)"' in seen[0].print_readable(print_output=False)
    assert "(self, s0 : int, s1 : int, L_x_ : torch.Tensor)" in seen[0].code


def test_numbers_read_from_tensors():
    told = []

    def backend(gm, example):
        with pytest.raises(NotImplementedError, match="read from a tensor"):
            swapped(gm)
        told.append(gm)
        return gm

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        x = inputs()[0]
        assert torch.equal(torch.compile(lambda x: x * x[2, 3].item() + x, backend=backend)(x), x * 6 + x)
    assert told


OUT_OF_REACH = {
    "a constant": lambda x: x + torch.tensor([1.0, 2.0, 3.0, 4.0]),
    "a branch": lambda x: torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, (x,)) + 1,
}


@pytest.mark.parametrize("kind", OUT_OF_REACH)
def test_what_is_in_the_compiler_only(kind):
    """Such graphs run and are read as ever; changed, they say what is missing."""
    told = []

    def backend(gm, example):
        gm.graph.lint()
        with pytest.raises(NotImplementedError, match="in the compiler only") as caught:
            swapped(gm)
        told.append(str(caught.value))
        return gm

    x = inputs()[0]
    assert torch.equal(torch.compile(OUT_OF_REACH[kind], backend=backend)(x), OUT_OF_REACH[kind](x))
    assert len(told) == 1


def test_captured_modules_are_modules():
    backend = EagerAndRecordGraphs()
    torch.compile(summed, backend=backend)(*inputs())
    (gm,) = backend.graphs
    assert isinstance(gm, torch.nn.Module) and isinstance(gm, fx.GraphModule) and isinstance(gm.graph, fx.Graph)
    assert gm.eval() is gm and not gm.training
    assert [*gm.parameters(), *gm.children(), *gm.buffers()] == [] and [*gm.modules()] == [gm]
    assert gm.graph.owning_module is gm and gm.graph.nodes[-1].op == "output" and len(gm.graph.nodes) == 6
    gm.note = "mine"
    seen = []
    gm.register_forward_hook(lambda module, args, result: seen.append(module.note))
    x, y = inputs()
    assert torch.equal(gm(x, y)[0], summed(x, y)) and seen == ["mine"]
    assert torch.equal(torch.compile(gm)(x, y)[0], summed(x, y))


def test_users_of_nodes_are_in_step():
    backend = EagerAndRecordGraphs()
    torch.compile(lambda x: (x + x) * x.sum(), backend=backend)(inputs()[0])
    graph = backend.graphs[0].graph
    for node in graph.nodes:
        assert list(node.users) == [n for n in graph.nodes if node in n.all_input_nodes]


def test_nodes_have_an_example_of_what_they_give():
    seen = {}

    def backend(gm, inputs):
        for node in gm.graph.nodes:
            if "example_value" in node.meta:
                value = node.meta["example_value"]
                seen[node.name] = tuple(value.shape), value.dtype
                assert node.meta.get("example_value") is value
        return gm.forward

    torch.compile(lambda x: [part.double() for part in (x + 1).split(1)], backend=backend)(torch.ones(2, 3))
    assert seen["l_x_"] == seen["add"] == ((2, 3), torch.float32)
    assert "split" not in seen and "output" not in seen
    assert list(seen.values())[-1] == ((1, 3), torch.float64)

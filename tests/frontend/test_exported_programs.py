"""torch.export: modules as graphs, their signatures, sizes that may differ, and what is refused."""

import io

import pytest

import minidynamo as torch
from minidynamo import nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x, y=None):
        return {"r": self.layer(x).relu() + self.shift, "n": 3, "x": x}


def test_a_module_becomes_a_graph():
    m = Small()
    program = torch.export.export(m, (torch.ones(1, 2),))
    x = torch.randn(1, 2)
    result, expected = program.module()(x), m(x)
    assert torch.equal(result["r"], expected["r"]) and result["n"] == 3 and result["x"] is x
    assert list(program.state_dict) == ["layer.weight", "layer.bias", "shift"]
    names = [node.name for node in program.graph.nodes if node.op == "placeholder"]
    assert names == ["p_layer_weight", "p_layer_bias", "b_shift", "x"]
    signature = program.graph_signature
    assert signature.parameters == ("layer.weight", "layer.bias") and signature.buffers == ("shift",)
    assert signature.user_inputs == ("x",)
    kinds = [spec.kind.name for spec in signature.input_specs]
    assert kinds == ["PARAMETER", "PARAMETER", "BUFFER", "USER_INPUT"]
    assert {spec.kind for spec in signature.output_specs} == {torch.export.graph_signature.OutputKind.USER_OUTPUT}
    targets = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert targets[-2:] == ["aten.relu.default", "aten.add.Tensor"]
    with torch.no_grad():
        m.layer.bias.fill_(5.0)
    assert torch.equal(program.module()(x)["r"], m(x)["r"])


def test_sizes_are_checked():
    program = torch.export.export(Small(), (torch.ones(1, 2),))
    with pytest.raises(AssertionError, match=r"x.size\(\)\[0\] == 1"):
        program.module()(torch.ones(2, 2))
    batch = torch.export.Dim("batch", min=2, max=9)
    program = torch.export.export(Small(), (torch.ones(4, 2),), dynamic_shapes={"x": {0: batch}})
    assert program.module()(torch.ones(7, 2))["r"].shape == (7, 2)
    with pytest.raises(AssertionError, match="<= 9"):
        program.module()(torch.ones(12, 2))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    assert torch.export.load(file).module()(torch.ones(3, 2))["r"].shape == (3, 2)


def test_what_is_refused():
    class Deciding(nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x

    from minidynamo.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    with pytest.raises(GuardOnDataDependentSymNode):
        torch.export.export(Deciding(), (torch.ones(1),))
    with pytest.raises(ValueError, match="nn.Module"):
        torch.export.export(lambda x: x, (torch.ones(1),))
    with pytest.raises(torch._dynamo.exc.UserError, match="tuple"):
        torch.export.export(Small(), torch.ones(1, 2))
    with pytest.raises(torch._dynamo.exc.UserError, match="names"):
        torch.export.export(Small(), (torch.ones(1, 2),), dynamic_shapes={"z": None})
    with pytest.raises(RuntimeError, match="module"):
        torch.export.export(Small(), (torch.ones(1, 2),))(torch.ones(1, 2))


def test_typed_constructors_are_traced():
    def f(x):
        return torch.LongTensor([1, 2]) + x.long(), torch.Tensor([1.5]), x.new([1.0, 2.0]), x.type(torch.float64)

    x = torch.ones(2)
    plain, whole = f(x), torch.compile(f, fullgraph=True)(x)
    assert [t.dtype for t in plain] == [t.dtype for t in whole] and all(map(torch.equal, plain, whole))


def test_operators_by_overload():
    op = torch.ops.aten.add.Tensor
    assert str(op) == "aten.add.Tensor" and op.name() == "aten::add.Tensor" and op.namespace == "aten"
    assert repr(torch.ops.aten.mm.default) == "<OpOverload(op='aten.mm', overload='default')>"
    assert "default" in torch.ops.aten.add.overloads()
    for wrong in ("Nope", "_schemas"):
        with pytest.raises(AttributeError):
            getattr(torch.ops.aten.add, wrong)


def test_compile_time_assertions():
    from minidynamo._dynamo.comptime import comptime

    def f(x):
        comptime.assert_static(x.shape[0])
        return x + 1

    assert torch.compile(f, fullgraph=True)(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_operators_that_write():
    x = torch.ones(2)
    assert torch.ops.aten.add_.Tensor(x, 1) is x and x.tolist() == [2.0, 2.0]


def test_orthogonal_weights_stay_so():
    for made in (nn.Linear(3, 3), nn.Linear(3, 5), nn.Linear(5, 3)):
        for chosen in (None, "cayley"):
            layer = nn.utils.parametrizations.orthogonal(
                type(made)(made.in_features, made.out_features), "weight", chosen
            )
            with torch.no_grad():
                layer.parametrizations.weight.original.add_(torch.randn_like(layer.weight) * 0.1)
            w = layer.weight if made.out_features <= made.in_features else layer.weight.mT
            assert torch.allclose(w @ w.mT, torch.eye(w.shape[0]), atol=1e-5)


def test_streams_and_events_of_the_cpu():
    stream, event = torch.Stream(device="cpu"), torch.Event(device="cpu", enable_timing=True)
    with stream:
        event.record()
        later = stream.record_event(torch.Event(enable_timing=True))
    assert stream.device == torch.device("cpu") and later.query() and event.elapsed_time(later) >= 0


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x):
        self.n.add_(1)
        x.mul_(2)
        return x + self.n + torch.rand(())


def test_exporting_changes_nothing():
    m, x = Counting(), torch.ones(2)
    stream = torch.get_rng_state().tolist()
    program = torch.export.export(m, (x,))
    assert m.n.item() == 0 and x.tolist() == [1.0, 1.0] and torch.get_rng_state().tolist() == stream
    called = program.module()
    called(x)
    called(x)
    assert called.n.item() == 2 and x.tolist() == [4.0, 4.0]


class Branching(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def test_branches_are_exported():
    program = torch.export.export(Branching(), (torch.ones(2),))
    assert program.module()(torch.ones(2)).tolist() == [2.0, 2.0]
    assert program.module()(-torch.ones(2)).tolist() == [-2.0, -2.0]
    assert "cond" in str(program)

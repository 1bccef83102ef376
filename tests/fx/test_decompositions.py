"""torch._decomp: each function gives what its operator gives, and graphs hold its parts."""

import pytest

import minidynamo as torch
from minidynamo._decomp import core_aten_decompositions, decomposition_table, get_decompositions, register_decomposition
from minidynamo.fx.experimental.proxy_tensor import make_fx

aten, F = torch.ops.aten, torch.nn.functional
X = torch.linspace(-4, 4, 24).reshape(4, 6)
UNIT = torch.linspace(0.05, 0.95, 24).reshape(4, 6)
# Operators, their arguments.
CALLS = {
    "gelu": (X,),
    "silu": (X,),
    "mish": (X,),
    "softplus": (X, 2, 3),
    "elu": (X, 0.7),
    "leaky_relu": (X, 0.2),
    "hardtanh": (X, -0.5, 2),
    "relu6": (X * 2,),
    "hardsigmoid": (X,),
    "hardswish": (X,),
    "threshold": (X, 0.5, -1),
    "_softmax": (X, 1, False),
    "_log_softmax": (X, -1, False),
    "logsumexp": (X, [0, 1]),
    "addmm": (torch.ones(4), X, X.T),
    "addmv": (torch.ones(4), X, X[0]),
    "baddbmm": (torch.ones(1, 4, 4), X[None], X.T[None]),
    "addcmul": (X, UNIT, X),
    "addcdiv": (X, X, UNIT),
    "lerp.Scalar": (X, UNIT, 0.7),
    "lerp.Tensor": (X, UNIT, UNIT),
    "t": (X,),
    "stack": ([X, UNIT], 1),
    "unbind.int": (X, 1),
    "trace": (X,),
    "mse_loss": (X, UNIT),
    "smooth_l1_loss": (X, UNIT, 2, 0.5),
    "huber_loss": (X, UNIT, 0, 0.5),
    "binary_cross_entropy": (UNIT, UNIT.flip(0)),
    "native_layer_norm": (X, [6], UNIT[0], X[0], 1e-5),
    "layer_norm": (X, [6], UNIT[0], X[0], 1e-5),
    "native_group_norm": (X.reshape(2, 4, 3), UNIT[0, :4], None, 2, 4, 3, 2, 1e-5),
    "tril": (X, 1),
    "triu": (X, -1),
    "embedding": (X, torch.tensor([[0, 3], [2, 2]])),
    "masked_fill.Scalar": (X, X > 0, 2.0),
    "logit": (UNIT, 0.1),
    "sinc": (X,),
    "frac": (X,),
    "heaviside": (X.round(), UNIT),
    "square": (X,),
}


def operator(name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(aten, packet), overload or "default")


@pytest.mark.parametrize("name", CALLS)
def test_parts_give_what_the_operator_gives(name):
    op = operator(name)
    table = get_decompositions([op])
    assert list(table) == [op]
    wanted, graph = op(*CALLS[name]), make_fx(lambda: op(*CALLS[name]), table)()
    torch.testing.assert_close(graph(), wanted, rtol=1e-5, atol=1e-5)
    assert all(node.target is not op for node in graph.graph.nodes)


def test_tables():
    assert len(get_decompositions([aten.gelu, aten.silu, aten.sin])) == 2
    table = core_aten_decompositions()
    assert aten.gelu.default in table and len(table) == len(decomposition_table) >= len(CALLS)
    own = {}

    @register_decomposition([aten.relu, aten.sigmoid.default], own)
    def other(x):
        return x * 3

    assert {aten.relu.default, aten.sigmoid.default} <= own.keys()
    graph = make_fx(lambda x: torch.relu(x).sigmoid(), own)(X)
    torch.testing.assert_close(graph(X), X * 9)
    with pytest.raises(RuntimeError, match="duplicate"):
        register_decomposition(aten.relu, own)(other)
    torch._decomp.remove_decompositions(own, [aten.relu])
    assert aten.relu.default not in own
    with pytest.raises(AssertionError):
        get_decompositions([aten.relu], "nothing")


def test_exported_programs_take_them():
    class M(torch.nn.Module):
        def forward(self, x):
            return F.gelu(x).sum()

    program = torch.export.export(M(), (X,)).run_decompositions(get_decompositions([aten.gelu]))
    assert "gelu" not in str(program.graph) and torch.allclose(program.module()(X), F.gelu(X).sum())

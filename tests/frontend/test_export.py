"""_dynamo.export: one graph with the signature of the function."""

import numpy as np
import pytest

import minidynamo as torch

outside = torch.ones(3)


def data(*shape):
    return torch.from_numpy(np.linspace(-1, 2, int(np.prod(shape)), dtype="float32").reshape(shape))


def f(x, pair, scale=2.0, *, out=None):
    a = x * scale + outside
    return {"sum": a.sum(), "both": (a, pair[1]), "n": 3}


def test_called_like_the_function():
    gm, guards = torch._dynamo.export(f)(data(3), [1, data(2)])
    other = data(3) * 5
    got, want = gm(other, pair=[7, data(2) + 1]), f(other, [7, data(2) + 1])
    assert got["sum"].tolist() == want["sum"].tolist() and got["n"] == 3
    assert [t.tolist() for t in got["both"]] == [t.tolist() for t in want["both"]]
    assert any(g.name == "L['x']" or "x" in str(g.name) for g in guards)
    assert "l_x_ * 2.0" in gm.code
    assert [n.op for n in gm.graph.nodes][-1] == "output"


def test_a_break_is_an_error():
    def broken(x):
        torch._dynamo.graph_break()
        return x + 1

    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch._dynamo.export(broken)(data(3))


def test_other_sizes_are_refused():
    gm, _ = torch._dynamo.export(lambda x: x.sum() / x.shape[0], assume_static_by_default=True)(data(3))
    with pytest.raises(RuntimeError, match=r"takes a tensor of sizes \(3,\) at x"):
        gm(data(4))
    with pytest.raises(TypeError):
        gm()


def test_a_function_that_computes_nothing():
    for function, args in (
        (lambda x: x, (data(2),)),
        (lambda x: 5, (data(2),)),
        (lambda x, s, d: (x, s, [x, d["a"]]), (data(2), "text", {"a": data(3)})),
        (lambda x: outside, (data(2),)),
    ):
        gm, _ = torch._dynamo.export(function)(*args)
        assert repr(gm(*args)) == repr(function(*args))
        assert "return ()" in gm.code and [n.op for n in gm.graph.nodes] == ["output"]
    x = data(2) * 7
    gm, _ = torch._dynamo.export(lambda x: x)(data(2))
    assert gm(x) is x


def test_options_of_torch_among_the_arguments():
    def typed(x, dtype, device):
        return torch.zeros(2, dtype=dtype, device=device) + x.to(dtype)

    cpu = torch.device("cpu")
    gm, _ = torch._dynamo.export(typed)(data(2), torch.float64, device=cpu)
    assert gm(data(2), torch.float64, device=cpu).dtype == torch.float64


def test_sizes_may_differ():
    def mean(x):
        return x.sum() / x.shape[0]

    def sign(x):
        return x + 1 if x.shape[0] > 4 else x - 1

    for options in ({}, {"dynamic_shapes": {"x": {0: torch.export.Dim("n")}}}, {"aten_graph": True}):
        x = data(3)
        gm, _ = torch._dynamo.export(mean, **options)(x)
        assert not hasattr(x, "_dynamo_weak_dynamic_indices")
        assert gm(data(7)).item() == mean(data(7)).item()
    gm, _ = torch._dynamo.export(sign)(data(3))
    assert gm(data(4)).tolist() == sign(data(4)).tolist()
    with pytest.raises(RuntimeError, match="exported graph is for"):
        gm(data(6))


def test_operators_are_shown():
    gm, _ = torch._dynamo.export(lambda x, y: torch.relu(x @ y) + 1, aten_graph=True)(data(3, 3), data(3, 3))
    called = [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]
    assert called == ["aten.matmul.default", "aten.relu.default", "aten.add.Tensor"]

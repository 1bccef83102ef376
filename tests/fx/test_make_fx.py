"""make_fx: the graph computes what the function does, on other elements too, and holds operators of aten only."""

import operator

import pytest

import minidynamo as torch
from minidynamo import func, vmap
from minidynamo.fx.experimental.proxy_tensor import get_proxy_mode, make_fx

weight = torch.arange(6.0).reshape(2, 3) / 3 - 1
parameter = torch.nn.Parameter(weight.clone())


def writes(x):
    y = x.clone()
    y.add_(1)
    y[0] = 5
    return y


def goes_back(x):
    y = x.detach().requires_grad_()
    (y * y).sum().backward()
    return y.grad


CASES = {
    "chain": lambda x: x.sin() + x * 2,
    "grad": lambda x: func.grad(lambda y: y.sin().sum())(x),
    "vmap": lambda x: vmap(lambda row: row.sin().sum())(x),
    "jacrev": lambda x: vmap(func.jacrev(torch.sin))(x),
    "hessian": lambda x: func.hessian(lambda y: (y**3).sum())(x[0]),
    "constants": lambda x: x @ weight.t() + parameter.sum(),
    "parts": lambda x: x.max(1)[0] + x.split(1)[1].sum(),
    "results": lambda x: {"a": (x, x + 1), "b": 3},
    "writes": writes,
    "backward": goes_back,
    "indices": lambda x: x[:, 1:][torch.tensor([1, 0])],
    "linear": lambda x: torch.nn.functional.linear(x, weight),
    "softmax": lambda x: torch.nn.functional.cross_entropy(x, torch.tensor([0, 2])),
}


def values(result):
    return result.tolist() if isinstance(result, torch.Tensor) else result


@pytest.mark.parametrize("name", CASES)
def test_the_graph_computes_the_same(name):
    f, x = CASES[name], torch.arange(6.0).reshape(2, 3) / 4
    gm = make_fx(f)(x)
    for node in gm.graph.nodes:
        if node.op == "call_function":
            assert node.target is operator.getitem or str(node.target).startswith("aten."), node.target
    for given in (x, x * 2 - 1):
        expected, found = f(given), gm(given)
        if name == "results":
            assert found["b"] == 3 and torch.equal(found["a"][1], expected["a"][1])
        else:
            assert torch.allclose(found, expected)
    assert x.tolist() == (torch.arange(6.0).reshape(2, 3) / 4).tolist()


def test_names_and_targets():
    gm = make_fx(lambda x, y: x.sin() + y)(torch.ones(2), torch.ones(2))
    assert [(n.op, n.name, str(n.target)) for n in gm.graph.nodes] == [
        ("placeholder", "x_1", "x_1"),
        ("placeholder", "y_1", "y_1"),
        ("call_function", "sin", "aten.sin.default"),
        ("call_function", "add", "aten.add.Tensor"),
        ("output", "output", "output"),
    ]
    assert list(gm.graph.nodes)[2].meta["val"].shape == (2,)


def test_nested_arguments_and_numbers():
    def f(d, n):
        return d["a"][0] * n + d["b"]

    x = torch.ones(2)
    gm = make_fx(f)({"a": [x], "b": x}, 3)
    assert gm({"a": [x * 2], "b": x}, 3).tolist() == [7.0, 7.0]


def test_decompositions():
    table = {torch.ops.aten.sin.default: lambda x: x.cos() * 2}
    gm = make_fx(lambda x: x.sin(), decomposition_table=table)(torch.ones(2))
    found = [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]
    assert found == ["aten.cos.default", "aten.mul.Tensor"]


def test_constants_are_held():
    gm = make_fx(lambda x: x * weight + parameter + parameter)(weight)
    held = [getattr(gm, n.target) for n in gm.graph.nodes if n.op == "get_attr"]
    assert [t.data_ptr() for t in held] == [weight.data_ptr(), parameter.data_ptr()] and held[1].requires_grad


@pytest.mark.parametrize("f", [lambda x: x if x.sum() > 0 else -x, lambda x: x * x.max().item()])
def test_values_of_elements(f):
    with pytest.raises(RuntimeError, match="Python value"):
        make_fx(f)(torch.ones(2))
    assert get_proxy_mode() is None


def test_modes():
    assert make_fx(torch.sin, tracing_mode="fake")(torch.ones(1))(torch.zeros(1)).tolist() == [0.0]
    with pytest.raises(NotImplementedError):
        make_fx(torch.sin, tracing_mode="symbolic")
    with pytest.raises(AssertionError):
        make_fx(torch.sin, tracing_mode="other")
    seen = []
    make_fx(lambda x: (seen.append(get_proxy_mode()), x)[1])(torch.ones(1))
    assert seen[0] is not None

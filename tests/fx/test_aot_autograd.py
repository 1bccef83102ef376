"""torch._functorch.aot_autograd: forward and backward graphs given to compilers of one's own."""

import pytest

import minidynamo as torch
from minidynamo._dynamo.backends.common import aot_autograd
from minidynamo._functorch.aot_autograd import (
    aot_export_module,
    aot_function,
    aot_module,
    aot_module_simplified,
    make_boxed_func,
)
from minidynamo._functorch.compilers import memory_efficient_fusion, nop


class Compilers:
    """Notes the operators of each graph it is given."""

    def __init__(self):
        self.seen = []

    def _take(self, which, gm):
        self.seen.append((which, [n.name.rstrip("_0123456789") for n in gm.graph.nodes if n.op == "call_function"]))
        return make_boxed_func(gm.forward)

    def forward(self, gm, inputs):
        return self._take("forward", gm)

    def backward(self, gm, inputs):
        return self._take("backward", gm)


def layer():
    made = torch.nn.Linear(2, 2)
    torch.nn.init.ones_(made.weight)
    torch.nn.init.zeros_(made.bias)
    return made


FUNCTIONS = {
    "sum": lambda x: (x.sin() * 2).sum(),
    "two results": lambda x: (x.exp(), x * x),
    "nested": lambda x: {"a": [x.cos(), 3], "b": (x + 1,)},
    "softmax": lambda x: torch.softmax(x, 0) @ x,
    "argument itself": lambda x: (x, x * 2),
    "integers too": lambda x: (x * 2, x.argmax()),
    "constant": lambda x: (x * torch.tensor([2.0, 3.0, 4.0])).sum(),
    "unused": lambda x: torch.ones(3),
}


def total(results):
    tensors = [t for t in torch.utils._pytree.tree_leaves(results) if isinstance(t, torch.Tensor) and t.requires_grad]
    return sum((t * 1.5).sum() for t in tensors)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_and_gradients_are_those_of_the_function(name):
    f, compilers = FUNCTIONS[name], Compilers()
    compiled = aot_function(f, compilers.forward, compilers.backward)
    for x in (torch.tensor([0.5, -1.0, 2.0]), torch.tensor([1.0, 0.0, -2.0])):
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        expected, found = f(a), compiled(b)
        torch.testing.assert_close(found, expected)
        if name != "unused":
            total(expected).backward()
            total(found).backward()
            torch.testing.assert_close(b.grad, a.grad)
    graphs = [which for which, _ in compilers.seen]
    assert graphs == (["forward"] if name == "unused" else ["forward", "backward"])


def test_what_only_gradients_need_is_in_the_backward_graph():
    compilers = Compilers()
    x = torch.tensor([0.5, -1.0]).requires_grad_()
    aot_function(FUNCTIONS["sum"], compilers.forward, compilers.backward)(x).backward()
    assert compilers.seen[0] == ("forward", ["sin", "mul", "sum"])
    assert "cos" in compilers.seen[1][1]


def test_without_gradients_there_is_one_graph():
    compilers = Compilers()
    compiled = aot_function(lambda x, k=1: x * k, compilers.forward, inference_compiler=compilers.backward)
    assert compiled(torch.ones(2), k=3).tolist() == [3, 3]
    assert compiled(torch.ones(2), k=4).tolist() == [4, 4]
    with torch.no_grad():
        assert not compiled(torch.ones(2).requires_grad_(), k=4).requires_grad
    assert [which for which, _ in compilers.seen] == ["backward"] * 3


def test_arguments_that_look_different_are_traced_anew():
    compilers = Compilers()
    compiled = aot_function(lambda x: x + x.shape[0], compilers.forward)
    assert compiled(torch.zeros(2)).tolist() == [2, 2]
    assert compiled(torch.zeros(3)).tolist() == [3, 3, 3]
    assert compiled(torch.ones(3)).tolist() == [4, 4, 4]
    assert len(compilers.seen) == 2


def test_tracing_changes_neither_arguments_nor_the_stream_of_random_numbers():
    def f(x):
        x.add_(1)
        return x * 2 + torch.rand(2) * 0

    before = torch.get_rng_state()
    torch.rand(2)
    after = torch.get_rng_state()
    torch.set_rng_state(before)
    x = torch.zeros(2)
    assert aot_function(f, nop)(x).tolist() == [2, 2]
    assert x.tolist() == [1, 1]
    assert torch.equal(torch.get_rng_state(), after)


def test_modules():
    compilers, module = Compilers(), layer()
    found = aot_module(module, compilers.forward, compilers.backward)
    out = found(torch.tensor([[1.0, 2.0]]))
    out.sum().backward()
    assert out.tolist() == [[3, 3]]
    assert module.weight.grad.tolist() == [[1, 2], [1, 2]]
    assert [which for which, _ in compilers.seen] == ["forward", "backward"]
    fused = memory_efficient_fusion(layer())
    assert fused(torch.tensor([[1.0, 2.0]])).tolist() == [[3, 3]]


@pytest.mark.parametrize("way", ["aot_autograd", "aot_module_simplified"])
def test_as_a_backend(way):
    compilers = Compilers()
    if way == "aot_autograd":
        backend = aot_autograd(fw_compiler=compilers.forward, bw_compiler=compilers.backward)
    else:

        def backend(gm, inputs):
            return aot_module_simplified(gm, inputs, compilers.forward, compilers.backward)

    module = layer()
    compiled = torch.compile(lambda x: torch.relu(module(x)).sum(), backend=backend, fullgraph=True)
    x = torch.tensor([[1.0, 2.0]]).requires_grad_()
    compiled(x).backward()
    assert x.grad.tolist() == [[2, 2]]
    assert module.weight.grad.tolist() == [[1, 2], [1, 2]]
    assert [which for which, _ in compilers.seen] == ["forward", "backward"]


def test_export_of_a_module():
    class Tupled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = layer()

        def forward(self, x):
            return (self.inner(x).sum(),)

    graph, signature = aot_export_module(Tupled(), (torch.ones(1, 2),), trace_joint=False)
    assert signature.parameters == ["inner.weight", "inner.bias"]
    assert len(signature.user_inputs) == 1
    assert graph(torch.ones(2, 2), torch.zeros(2), torch.ones(1, 2))[0].item() == 4
    joint, signature = aot_export_module(Tupled(), (torch.ones(1, 2),), trace_joint=True, output_loss_index=0)
    results = joint(torch.ones(2, 2), torch.zeros(2), torch.tensor([[1.0, 2.0]]))
    assert results[1].tolist() == [[1, 2], [1, 2]]
    assert list(signature.backward_signature.gradients_to_parameters.values()) == signature.parameters
    with pytest.raises(RuntimeError, match="return a tuple"):
        aot_export_module(layer(), (torch.ones(1, 2),), trace_joint=False)
    with pytest.raises(RuntimeError, match="output_loss_index"):
        aot_export_module(Tupled(), (torch.ones(1, 2),), trace_joint=True)

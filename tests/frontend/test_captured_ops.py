"""Every listed call of an op stands in one graph without a break and answers as it does eagerly, bit for bit."""

import warnings

import pytest

import minidynamo as torch
from frontend.differential import Seen, codes
from minidynamo._dynamo.testing import CompileCounter
from tensor.drawn_calls import function_of
from tensor.op_calls import CALLS, IN_PLACE_CALLS, operands

NAMES = sorted(operands())


def check(call):
    function = function_of(call)

    def seen(callee):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Seen(callee, tuple(operands()[name] for name in NAMES), {}).summary()

    expected = seen(function)
    assert expected["error"] is None, expected["error"]
    counter = CompileCounter()
    for backend in (counter, "llvm"):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        found = seen(torch.compile(function, backend=backend, fullgraph=True))
        assert found == expected, backend
        assert codes() == set()
    assert counter.frame_count == 1 and counter.op_count >= 1


@pytest.mark.parametrize("call", [c for c in CALLS if c != "torch.positive(x)"])
def test_call(call):
    check(call)


@pytest.mark.parametrize("call", IN_PLACE_CALLS)
def test_in_place_call(call):
    check(call)


def test_one_hot_that_counts_for_itself_breaks():
    """The number of classes is data: the graph breaks where Python has to know it."""

    def f(k):
        return torch.nn.functional.one_hot(k) * 2

    torch._dynamo.reset()
    k = torch.tensor([0, 3, 1])
    assert torch.compile(f)(k).tolist() == f(k).tolist() == [[2, 0, 0, 0], [0, 0, 0, 2], [0, 2, 0, 0]]


@pytest.mark.parametrize("name", ["silu", "elu", "leaky_relu", "hardtanh", "relu", "relu6", "selu", "mish"])
def test_activation_in_place(name):
    activation = getattr(torch.nn.functional, name)

    def f(x):
        y = activation(x, inplace=True)
        return y is x, y + 1

    torch._dynamo.reset()
    eager, compiled = torch.linspace(-3, 3, 7), torch.linspace(-3, 3, 7)
    expected, found = f(eager), torch.compile(f, fullgraph=True)(compiled)
    assert expected[0] is found[0] is True
    assert expected[1].tolist() == found[1].tolist() and eager.tolist() == compiled.tolist()

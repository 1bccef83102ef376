"""Functions of torch's namespace that few programs name: torch's values, plain and compiled, and their gradients."""

import json
import math
import pathlib

import pytest

import minidynamo as torch
from tensor.rarer_functions import programs, shown

RECORDED = json.loads((pathlib.Path(__file__).parent / "rarer_functions.json").read_text())
# Recurrent layers break graphs, as they do in torch, and so do strides of which the storage has to be asked.
BROKEN = {"lstm", "gru", "grup", "rnn", "ass3"}


def close(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(close, a, b))
    try:
        x, y = float(a), float(b)
    except (TypeError, ValueError):
        return a == b
    return math.isclose(x, y, rel_tol=2e-3, abs_tol=2e-3) or x == y or (math.isnan(x) and math.isnan(y))


@pytest.mark.parametrize("name", RECORDED)
def test_values_are_those_of_torch(name):
    call, (kind, wanted) = programs(torch)[name], RECORDED[name]
    torch._dynamo.reset()
    compiled = torch.compile(call, fullgraph=name not in BROKEN)
    if kind != "value":
        with pytest.raises({"RuntimeError": RuntimeError, "NotImplementedError": NotImplementedError}[kind]):
            call()
        with pytest.raises(Exception):  # noqa: B017  the error of the graph break, or of the program
            compiled()
        return
    assert close(shown(call()), wanted)
    assert close(shown(compiled()), wanted)


def test_gradients_flow():
    x = torch.linspace(-1.9, 1.9, 4, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: torch.frexp(t)[0], x)
    assert torch.autograd.gradcheck(lambda t: torch.view_copy(t, (2, 2)) * torch.select_copy(t, 0, 1), x)
    src = torch.ones(2, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda t, s: torch.as_strided_scatter(t, s, (2,), (1,), 1), (x, src))
    hidden = torch.ones(2, 4, dtype=torch.float64).requires_grad_()
    weights = [torch.linspace(-1, 1, 12 * n, dtype=torch.float64).reshape(12, n).requires_grad_() for n in (2, 4)]
    assert torch.autograd.gradcheck(torch.gru_cell, (x.reshape(2, 2), hidden, *weights))


def test_copies_have_memory_of_their_own():
    x = torch.arange(6.0)
    for copy in (torch.alias_copy(x), torch.detach_copy(x), torch.view_copy(x, (2, 3)), *torch.unbind_copy(x)):
        copy.add_(1)
    out = torch.empty(0)
    assert torch.slice_copy(x, 0, 1, 3, out=out) is out
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and out.tolist() == [1, 2]


def test_modes_see_them_whole():
    seen = []

    class Names(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = torch.ones(3)
    with Names():
        torch.frexp(x), torch.histogram(x, 2), torch.view_copy(x, (3, 1)), torch.kl_div(x, x)
    assert [name for name in seen if name in ("frexp", "histogram", "view_copy", "kl_div")] == [
        "frexp", "histogram", "view_copy", "kl_div",
    ]  # fmt: skip


# The bytes of values that the same graph computes, as elements of another dtype.
BITS = [
    lambda x: torch.where(x > 0, x, x * 2).view(torch.int64) >> 52,
    lambda x: ((x * 2).view(torch.int64) << 1).view(torch.float64),
    lambda x: (x.float() * 2).view(torch.int32) >> 23,
    lambda x: (x.float().double() + 1).view(torch.int64) & 0x7FF,
    lambda x: (x.int() + 2**30).view(torch.float32) * 2,
    lambda x: ((x * 2).view(torch.int64) & 3).sum() + (x * 2).sum(),
    lambda x: (x * 3).to(torch.float16).view(torch.int16).view(torch.uint8).sum(),
]


@pytest.mark.parametrize("call", BITS)
def test_bytes_of_computed_values(call):
    x = torch.tensor([1.0, -3.5, 100.0, 7.25], dtype=torch.float64)
    assert torch.equal(torch.compile(call, fullgraph=True)(x), call(x))

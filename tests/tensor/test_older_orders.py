"""Calls as programs from before torch 1.5 write them: factors by position, before what they multiply."""

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter


def operands():
    a = torch.arange(9.0).reshape(3, 3)
    return {"torch": torch, "a": a, "b": a + 1, "m": torch.ones(3, 3), "v": torch.ones(3), "x": torch.arange(3.0)}


CALLS = {
    "a.add(0.5, b)": "a.add(b, alpha=0.5)",
    "torch.add(a, 2, b)": "torch.add(a, b, alpha=2)",
    "a.sub(0.5, b)": "a.sub(b, alpha=0.5)",
    "torch.sub(a, 0.5, b)": "torch.sub(a, b, alpha=0.5)",
    "a.addcmul(0.5, b, m)": "a.addcmul(b, m, value=0.5)",
    "torch.addcmul(a, 0.5, b, m)": "torch.addcmul(a, b, m, value=0.5)",
    "a.addcdiv(-2, m, b)": "a.addcdiv(m, b, value=-2)",
    "torch.addcdiv(a, -2, m, b)": "torch.addcdiv(a, m, b, value=-2)",
    "torch.addmm(0.5, m, 2, a, b)": "torch.addmm(m, a, b, beta=0.5, alpha=2)",
    "torch.addmm(0.5, m, a, b)": "torch.addmm(m, a, b, beta=0.5)",
    "m.addmm(0.5, 2, a, b)": "m.addmm(a, b, beta=0.5, alpha=2)",
    "m.addmm(3, a, b)": "m.addmm(a, b, beta=3)",
    "torch.addmv(0.5, v, 2, a, x)": "torch.addmv(v, a, x, beta=0.5, alpha=2)",
    "m.addr(2, x, v)": "m.addr(x, v, beta=2)",
    "torch.baddbmm(0.5, m[None], 2, a[None], b[None])": "torch.baddbmm(m[None], a[None], b[None], beta=0.5, alpha=2)",
    "torch.addbmm(2, m, a[None], b[None])": "torch.addbmm(m, a[None], b[None], beta=2)",
}
IN_PLACE = [
    "add(0.5, b)",
    "sub(2, b)",
    "addcmul(0.5, b, b)",
    "addcdiv(-0.1, a, b)",
    "addmm(2, a, b)",
    "addr(2, 3, x, x)",
]


@pytest.mark.parametrize("call", CALLS)
def test_means_what_is_written_today(call):
    old, new = eval(call, operands()), eval(CALLS[call], operands())
    assert old.tolist() == new.tolist() and old.dtype == new.dtype


@pytest.mark.parametrize("call", IN_PLACE)
def test_in_place(call):
    names = operands()
    name, _, rest = call.partition("(")
    m = names["m"]
    expected = eval(f"m.clone().{call}", operands())
    assert eval(f"m.{name}_({rest}", names) is m and m.tolist() == expected.tolist()


def test_gradients_and_optimizers_of_that_time():
    p = torch.ones(3, requires_grad=True)
    (p * torch.arange(3.0)).sum().backward()
    average, square = torch.zeros(3), torch.zeros(3)
    with torch.no_grad():
        average.mul_(0.9).add_(1 - 0.9, p.grad)
        square.mul_(0.99).addcmul_(1 - 0.99, p.grad, p.grad)
        p.addcdiv_(-0.1, average, square.sqrt().add_(1e-8))
    assert torch.allclose(p, torch.tensor([1.0, 0.9, 0.9]), atol=1e-5)
    y = torch.ones(3, requires_grad=True)
    torch.add(p.detach(), 3, y).sum().backward()
    assert y.grad.tolist() == [3.0] * 3


def test_compiled_code_calls_them_plain():
    counter = CompileCounter()

    @torch.compile(backend=counter)
    def step(x, y):
        z = x * 2
        z.add_(0.5, y)
        return z + 1

    assert step(torch.ones(2), torch.ones(2)).tolist() == [3.5, 3.5] and counter.frame_count == 2
    with pytest.raises(torch._dynamo.exc.Unsupported, match="gb0112"):
        torch.compile(lambda x, y: x.add(0.5, y), fullgraph=True)(torch.ones(2), torch.ones(2))


@pytest.mark.parametrize(
    "call",
    [
        "a.add(0.5, 2)",
        "a.add(1, 2, b)",
        "a.add(0.5, b, alpha=2)",
        "a.addcmul(b, m, 0.5)",
        "a.mul(2, b)",
        "a.add(b, 0.5)",
    ],
)
def test_what_has_no_meaning(call):
    with pytest.raises(TypeError):
        eval(call, operands())

"""Regions of autocast in compiled functions and around their calls: as in plain Python, and one graph."""

import pytest

import minidynamo as torch
import minidynamo.nn.functional as F  # noqa: N812  it is called so everywhere
from minidynamo._dynamo.testing import CompileCounter

f32, f16, bf16 = torch.float32, torch.float16, torch.bfloat16
W = torch.arange(6, dtype=f32).reshape(3, 2) / 8


def x23():
    return torch.arange(6, dtype=f32).reshape(2, 3) / 4


def shown(value):
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    return (value.dtype, value.tolist()) if isinstance(value, torch.Tensor) else value


def products(x):
    with torch.autocast("cpu"):
        return x @ W, x.mm(W), torch.matmul(x, W), torch.addmm(W[0], x, W), torch.bmm(x[None], W[None])


def only_within(x):
    with torch.autocast("cpu", dtype=f16):
        y = x @ W
    return y, x @ W


def switched_off(x):
    with torch.autocast("cpu", enabled=False):
        return x @ W


def nested(x):
    with torch.autocast("cpu", dtype=bf16):
        y = x @ W
        with torch.autocast("cpu", enabled=False):
            z = y.float() @ W.T
        with torch.autocast("cpu", dtype=f16):
            w = x @ W
        return y, z, w, x @ W


def losses(x):
    with torch.autocast("cpu"):
        y = F.linear(x, W.T, W[0])
        return y, F.mse_loss(y, y + 1), F.softmax(y, -1), F.cross_entropy(y, torch.tensor([0, 1])), y + x.sum()


def asked(x):
    with torch.autocast("cpu"):
        return torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), x @ W


@torch.autocast("cpu")
def decorated(x):
    return x @ W


def called(x):
    return decorated(x).float() + x @ W


kept_region = torch.autocast("cpu", dtype=f16)


def from_outside(x):
    with kept_region:
        return x @ W


def other_numbers(x):
    with torch.autocast("cpu"):
        return x.double() @ W.double(), x.long() @ W.long()


def layers(x):
    with torch.autocast("cpu"):
        return F.conv2d(x[None, None], torch.ones(1, 1, 2, 2)), F.scaled_dot_product_attention(x, x, x)


INSIDE = [
    products,
    only_within,
    switched_off,
    nested,
    losses,
    asked,
    decorated,
    called,
    from_outside,
    other_numbers,
    layers,
]


@pytest.mark.parametrize("f", INSIDE)
def test_regions_inside(f):
    torch._dynamo.reset()
    counter = CompileCounter()
    assert shown(torch.compile(f, backend=counter, fullgraph=True)(x23())) == shown(f(x23()))
    assert counter.frame_count == 1
    compiled = torch.compile(f, fullgraph=True)
    assert [shown(compiled(x23())) for _ in range(2)] == [shown(f(x23()))] * 2
    assert not torch.is_autocast_enabled("cpu")


def test_regions_around_are_guarded():
    counter = CompileCounter()
    f = torch.compile(lambda x: x @ W, backend=counter)
    found = [f(x23()).dtype]
    for dtype in (bf16, f16, bf16):
        with torch.autocast("cpu", dtype=dtype):
            found.append(f(x23()).dtype)
    found.append(f(x23()).dtype)
    assert found == [f32, bf16, f16, bf16, f32] and counter.frame_count == 3


def test_a_region_inside_one_around():
    def f(x):
        y = x @ W
        with torch.autocast("cpu", enabled=False):
            z = x @ W
        return y, z, torch.is_autocast_enabled("cpu"), x @ W

    with torch.autocast("cpu", dtype=f16):
        assert shown(torch.compile(f, fullgraph=True)(x23())) == shown(f(x23()))


def test_breaks_in_regions():
    def f(x):
        with torch.autocast("cpu"):
            y = x @ W
            if y.sum() > 0:
                return y @ W.T
        return x

    def prints(x):
        with torch.autocast("cpu", f16):
            y = x @ W
            print(end="")
            return y @ W.T, torch.get_autocast_dtype("cpu")

    for program in (f, prints):
        counter = CompileCounter()
        assert shown(torch.compile(program, backend=counter)(x23())) == shown(program(x23()))
        assert counter.frame_count == 2 and not torch.is_autocast_enabled("cpu")
    g = torch.compile(lambda x: (print(end=""), x @ W)[1])
    with torch.autocast("cpu"):
        assert g(x23()).dtype == bf16


def test_the_dtype_of_the_region_around():
    def f(x):
        with torch.autocast("cpu", dtype=f16), torch.autocast("cpu") as region:
            return x @ W, region.fast_dtype

    assert torch.compile(lambda x: f(x)[0], fullgraph=True)(x23()).dtype == f(x23())[0].dtype


@pytest.mark.parametrize("bad", [lambda: torch.autocast(5), lambda: torch.autocast("plugh"), lambda: torch.autocast()])
def test_regions_that_cannot_be(bad):
    def f(x):
        with bad():
            return x @ W

    errors = []
    for program in (f, torch.compile(f)):
        with pytest.raises((RuntimeError, ValueError, TypeError)) as error:
            program(x23())
        errors.append(type(error.value))
    assert errors[0] is errors[1]


def test_gradients():
    def step(f):
        layer = torch.nn.Linear(3, 2)
        with torch.no_grad():
            layer.weight.copy_(W.T), layer.bias.zero_()
        with torch.autocast("cpu"):
            y = f(layer)(x23())
        y.float().sum().backward()
        return shown([y.detach(), layer.weight.grad, layer.bias.grad])

    assert step(torch.compile) == step(lambda layer: layer)

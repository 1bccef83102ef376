"""FakeTensorMode and FlopCounterMode: sizes, errors and counts are those of torch 2.13."""

import pytest

import minidynamo as torch
from minidynamo._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from minidynamo.utils.flop_counter import FlopCounterMode, register_flop_formula


def test_what_is_made_within_is_fake():
    with FakeTensorMode() as mode:
        x = torch.empty(3, 4)
        made = [x + 1, x @ x.T, x.double(), torch.ones(2), torch.tensor([1.0, 2.0]), x.sum(0), x.clone().add_(1)]
        layer = torch.nn.Linear(4, 2)
        loss = layer(x).sum()
    assert all(isinstance(m, FakeTensor) and m.fake_mode is mode and m.device.type == "cpu" for m in made)
    assert [tuple(m.shape) for m in made] == [(3, 4), (3, 3), (3, 4), (2,), (2,), (4,), (3, 4)]
    assert made[2].dtype == torch.float64
    assert repr(x) == "FakeTensor(..., size=(3, 4))" and repr(loss).startswith("FakeTensor(..., size=(), grad_fn=<")
    assert type(torch.ones(1)) is torch.Tensor


def test_likenesses():
    mode, real = FakeTensorMode(), torch.ones(2, 3, requires_grad=True)
    fake = mode.from_tensor(real)
    assert repr(fake) == "FakeTensor(..., size=(2, 3), requires_grad=True)" and fake.stride() == (3, 1)
    assert mode.from_tensor(real) is fake and (fake * 2).sum().requires_grad
    with pytest.raises(AssertionError, match="allow_non_fake_inputs"):
        fake + torch.ones(3)
    assert tuple((FakeTensorMode(allow_non_fake_inputs=True).from_tensor(real) + torch.ones(3)).shape) == (2, 3)


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda x: x.sum().item(), DataDependentOutputException),
        (lambda x: bool(x.sum() > 0), DataDependentOutputException),
        (lambda x: x.tolist(), DataDependentOutputException),
        (lambda x: x.nonzero(), DynamicOutputShapeException),
        (lambda x: x[x > 0], DynamicOutputShapeException),
        (lambda x: x.numpy(), RuntimeError),
        (lambda x: x @ x, RuntimeError),
    ],
)
def test_elements_are_not_there(ask, error):
    with FakeTensorMode(), pytest.raises(error):
        ask(torch.empty(3, 4))


def test_flops_of_products():
    a, b = torch.ones(3, 4), torch.ones(4, 5)
    with FlopCounterMode(display=False) as counter:
        a @ b
        torch.addmm(torch.ones(5), a, b)
        torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5))
        torch.nn.functional.conv2d(torch.ones(1, 3, 8, 8), torch.ones(4, 3, 3, 3), padding=1)
        a + a
    aten = torch.ops.aten
    expected = {aten.mm: 120, aten.addmm: 120, aten.bmm: 240, aten.convolution: 13824}
    assert counter.get_flop_counts() == {"Global": expected}
    assert counter.get_total_flops() == 14304 and "aten.mm" in counter.get_table()


def test_flops_by_module_and_of_steps(capsys):
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    with FlopCounterMode() as counter:
        model(torch.ones(3, 4)).sum().backward()
    assert counter.get_total_flops() == 420 and "Sequential.0" in capsys.readouterr().out
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.ones(3, 4))
    assert {name: sum(c.values()) for name, c in counter.get_flop_counts().items()} == {
        "Global": 180, "Sequential": 180, "Sequential.0": 120, "Sequential.2": 60,
    }  # fmt: skip


def test_formulas_of_the_program():
    def sine(shape, out_shape=None):
        return 7 * shape.numel()

    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.sin: sine}) as counter:
        torch.ones(5).sin()
    assert counter.get_total_flops() == 35
    with pytest.raises(RuntimeError):
        register_flop_formula(torch.ops.aten.mm)(sine)
    with pytest.raises(ValueError):
        register_flop_formula(torch.ops.aten.mm.default)(sine)

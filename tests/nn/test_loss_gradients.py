"""Gradients of losses where their formulas have corners: certain probabilities, and logits of 0."""

import math
import warnings

import pytest

import minidynamo as torch
from minidynamo.nn import functional as F

LEAST = 1e-12  # the smallest p * (1 - p) that binary_cross_entropy divides by


def both(function):
    torch._dynamo.reset()
    return [function, torch.compile(function)]


def test_certain_probabilities():
    """(p - t) / max(p (1 - p), 1e-12), where plain logarithms would give NaN."""
    target = torch.tensor([0.0, 1.0, 0.25, 0.0, 1.0], dtype=torch.float64)
    for f in both(lambda p: F.binary_cross_entropy(p, target, reduction="none")):
        p = torch.tensor([0.0, 1.0, 0.5, 1.0, 0.0], dtype=torch.float64, requires_grad=True)
        loss = f(p)
        loss.sum().backward()
        assert loss.tolist() == pytest.approx([0, 0, 0.6931471805599453, 100, 100])
        assert p.grad.tolist() == pytest.approx([0, 0, 1, 1 / LEAST, -1 / LEAST], rel=1e-6)


def test_probabilities_in_between():
    p = torch.tensor([0.1, 0.5, 0.9, 1e-5], dtype=torch.float64, requires_grad=True)
    t = torch.tensor([0.1, 0.3, 0.9, 0.5], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([1.0, 2.0, 0.5, 1.0], dtype=torch.float64)
    for reduction in ("none", "mean", "sum"):
        loss = lambda p, t: F.binary_cross_entropy(p, t, w, reduction=reduction)  # noqa: B023, E731
        assert torch.autograd.gradcheck(loss, (p, t), eps=1e-8, atol=1e-4)
    assert torch.autograd.gradgradcheck(
        lambda p: F.binary_cross_entropy(p, t[:3].detach()), (p[:3].detach().requires_grad_(),)
    )


@pytest.mark.parametrize("positive", [None, 2.0])
def test_logits_of_zero(positive):
    """As where the last layer starts with zeros: (1 - t) - (1 + (w - 1) t) sigmoid(-x)."""
    weight = None if positive is None else torch.tensor(positive, dtype=torch.float64)
    target = torch.tensor([0.25, 0.0, 1.0], dtype=torch.float64)
    factor = 1 + ((positive or 1) - 1) * target
    for f in both(lambda x: F.binary_cross_entropy_with_logits(x, target, pos_weight=weight, reduction="sum")):
        x = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        f(x).backward()
        assert x.grad.tolist() == pytest.approx(((1 - target) - factor * 0.5).tolist())


def test_large_logits():
    x = torch.tensor([-1000.0, 1000.0, -100.0], dtype=torch.float64, requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64), reduction="none")
    loss.sum().backward()
    assert loss.tolist() == pytest.approx([1000, 1000, 0], abs=1e-12) and x.grad.tolist() == pytest.approx([-1, 1, 0])


@pytest.mark.parametrize(
    "older, how", [({"size_average": False}, "sum"), ({"reduce": False}, "none"), ({"size_average": True}, "mean")]
)
def test_arguments_of_older_programs_still_count(older, how):
    x, y = torch.tensor([1.0, 2.0]), torch.zeros(2)
    expected = torch.nn.functional.mse_loss(x, y, reduction=how)
    with pytest.warns(UserWarning, match=f"reduction='{how}'"):
        assert torch.nn.functional.mse_loss(x, y, **older).tolist() == expected.tolist()
    with pytest.warns(UserWarning, match=f"reduction='{how}'"):
        loss = torch.nn.MSELoss(**older)
    assert loss(x, y).tolist() == expected.tolist() and loss.reduction == how


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_a_dimension_that_is_not_given(name):
    function = getattr(torch.nn.functional, name)
    module = getattr(torch.nn, {"softmax": "Softmax", "log_softmax": "LogSoftmax", "softmin": "Softmin"}[name])()
    for shape, dim in (((3,), 0), ((2, 3), 1), ((2, 2, 2), 0), ((2, 2, 2, 2), 1)):
        x = torch.arange(float(math.prod(shape))).reshape(shape)
        expected = function(x, dim)
        for call in (function, module):
            with pytest.warns(UserWarning, match=f"{name}: the dimension is chosen") as found:
                assert torch.equal(call(x), expected)
            assert found[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert torch.equal(torch.compile(function, fullgraph=True)(x), expected)

"""Dropout of elements and channels: what is dropped, what the rest becomes, and what statistics remain."""

import pytest

import minidynamo as torch

F, nn = torch.nn.functional, torch.nn


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name, shape", [("1d", (8, 16, 5)), ("2d", (8, 16, 3, 4)), ("3d", (8, 16, 2, 3, 4))])
def test_whole_channels_are_dropped(name, shape, compiled):
    torch.manual_seed(0)
    drop = getattr(F, "dropout" + name)
    call = torch.compile(drop) if compiled else drop
    x = torch.full(shape, 2.0, requires_grad=True)
    result = call(x, 0.25)
    share = (result / x).flatten(2)
    assert torch.equal(share.amax(-1), share.amin(-1))
    kept = share[..., 0]
    assert set(kept.flatten().tolist()) == {0.0, kept.max().item()}
    assert kept.max().item() == pytest.approx(4 / 3)
    assert 0.6 < (kept > 0).float().mean().item() < 0.9
    result.sum().backward()
    assert torch.allclose(x.grad, (result / x).detach())


@pytest.mark.parametrize("name, shape", [("Dropout1d", (16, 5)), ("Dropout3d", (16, 2, 3, 4))])
def test_without_a_batch(name, shape):
    result = getattr(nn, name)(0.5)(torch.ones(shape)).flatten(1)
    assert torch.equal(result.amax(1), result.amin(1)) and 0 < (result[:, 0] == 0).sum().item() < 16


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout"])
def test_alpha_dropout_keeps_mean_and_variance(name):
    torch.manual_seed(0)
    x = torch.randn(200, 200, 2) if name == "feature_alpha_dropout" else torch.randn(40000)
    result = getattr(F, name)(x, 0.3, training=True)
    assert abs(result.mean().item()) < 0.03 and abs(result.std().item() - 1) < 0.03
    assert getattr(F, name)(x, 0.3) is x
    lowest = result.flatten().mode()[0].item()  # what all that is dropped becomes
    scale = (0.7 * (1 + 0.3 * 1.7580993408473766**2)) ** -0.5
    assert lowest == pytest.approx(-1.7580993408473766 * scale * 0.7, rel=1e-5)


@pytest.mark.parametrize("name", ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout"])
def test_modules(name):
    made = getattr(nn, name)(0.4)
    x = torch.ones(2, 3, 4) if name == "Dropout1d" else torch.ones(2, 3, 4, 5)
    assert torch.equal(made.eval()(x), x) and repr(made) == f"{name}(p=0.4, inplace=False)"
    assert getattr(nn, name)(1.0)(x).abs().sum().item() == 0
    with pytest.raises(ValueError):
        getattr(nn, name)(1.5)


def test_in_place():
    x = torch.ones(2, 30, 4)
    result = F.dropout1d(x, 0.5, inplace=True)
    assert torch.equal(result, x) and set(x.flatten().tolist()) == {0.0, 2.0}


def test_wrong_arguments():
    for call, kind in (
        (lambda: F.dropout1d(torch.ones(3)), RuntimeError),
        (lambda: F.feature_alpha_dropout(torch.ones(3), 0.5, True), RuntimeError),
        (lambda: F.alpha_dropout(torch.ones(3), -0.1), ValueError),
    ):
        with pytest.raises(kind):
            call()
    with pytest.warns(UserWarning):
        F.dropout2d(torch.ones(2, 3, 4), 0.5)


def test_rrelu():
    x = torch.tensor([-1.0, 2.0] * 500)
    result = F.rrelu(x, 0.1, 0.4, training=True)
    slopes = -result[::2]
    assert (
        torch.equal(result[1::2], x[1::2]) and 0.1 <= slopes.min().item() < 0.15 and 0.35 < slopes.max().item() <= 0.4
    )
    assert nn.RReLU(0.1, 0.3).eval()(torch.tensor([-1.0])).item() == pytest.approx(-0.2)
    with pytest.raises(RuntimeError):
        F.rrelu(x, 0.5, 0.1)


def test_gumbel_softmax():
    torch.manual_seed(0)
    logits = torch.tensor([0.1, 0.3, 0.6]).log().expand(4000, 3).requires_grad_()
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    assert torch.equal(hard.sum(1), torch.ones(4000)) and set(hard.flatten().round().tolist()) == {0.0, 1.0}
    assert torch.allclose(hard.mean(0), torch.tensor([0.1, 0.3, 0.6]), atol=0.03)
    soft = F.gumbel_softmax(logits)
    assert torch.allclose(soft.sum(1), torch.ones(4000)) and 0 < soft.min().item() < soft.max().item() < 1

"""Operators of torch.ops.aten: losses, whose `reduction` is a number, and what functions of torch are behind others."""

import pytest

import minidynamo as torch
from minidynamo.fx.experimental.proxy_tensor import make_fx

aten, F = torch.ops.aten, torch.nn.functional
X, Y = torch.linspace(-2, 2, 12).reshape(3, 4), torch.linspace(1, -1, 12).reshape(3, 4)
U, T, SIGNS = X.sigmoid(), torch.tensor([1, 0, 3]), torch.tensor([1.0, -1, 1])
# Of a number: the operator; of a name: the function.
CALLS = {
    "mse_loss": (lambda r: aten.mse_loss(X, Y, r), lambda r: F.mse_loss(X, Y, reduction=r)),
    "l1_loss": (lambda r: aten.l1_loss(X, Y, r), lambda r: F.l1_loss(X, Y, reduction=r)),
    "smooth_l1_loss": (
        lambda r: aten.smooth_l1_loss(X, Y, r, 0.5),
        lambda r: F.smooth_l1_loss(X, Y, reduction=r, beta=0.5),
    ),
    "huber_loss": (lambda r: aten.huber_loss(X, Y, r, 0.5), lambda r: F.huber_loss(X, Y, r, 0.5)),
    "binary_cross_entropy": (
        lambda r: aten.binary_cross_entropy(U, U.flip(0), None, r),
        lambda r: F.binary_cross_entropy(U, U.flip(0), reduction=r),
    ),
    "binary_cross_entropy_with_logits": (
        lambda r: aten.binary_cross_entropy_with_logits(X, U, None, None, r),
        lambda r: F.binary_cross_entropy_with_logits(X, U, reduction=r),
    ),
    "nll_loss": (lambda r: aten.nll_loss(X, T, None, r, -100), lambda r: F.nll_loss(X, T, reduction=r)),
    "nll_loss_forward": (
        lambda r: aten.nll_loss_forward(X, T, None, r, -100)[0],
        lambda r: F.nll_loss(X, T, reduction=r),
    ),
    "cross_entropy_loss": (
        lambda r: aten.cross_entropy_loss(X, T, None, r, -100, 0.1),
        lambda r: F.cross_entropy(X, T, reduction=r, label_smoothing=0.1),
    ),
    "kl_div": (lambda r: aten.kl_div(X, U, r), lambda r: F.kl_div(X, U, reduction=r)),
    "soft_margin_loss": (lambda r: aten.soft_margin_loss(X, Y, r), lambda r: F.soft_margin_loss(X, Y, reduction=r)),
    "margin_ranking_loss": (
        lambda r: aten.margin_ranking_loss(X[:, 0], Y[:, 0], SIGNS, 0.1, r),
        lambda r: F.margin_ranking_loss(X[:, 0], Y[:, 0], SIGNS, 0.1, reduction=r),
    ),
    "multi_margin_loss": (
        lambda r: aten.multi_margin_loss(X, T, 1, 1.0, None, r),
        lambda r: F.multi_margin_loss(X, T, reduction=r),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_reductions(name):
    operator, function = CALLS[name]
    for number, reduction in enumerate(("none", "mean", "sum")):
        torch._dynamo.reset()
        wanted = function(reduction)
        torch.testing.assert_close(operator(number), wanted)
        torch.testing.assert_close(torch.compile(operator)(number), wanted)
        torch.testing.assert_close(make_fx(lambda number=number: operator(number))()(), wanted)
    with pytest.raises(ValueError, match="not a valid value for reduction"):
        operator(3)


W = torch.linspace(-1, 1, 48).reshape(12, 4)
# Operators that have functions of torch's own namespace behind them.
OTHERS = [
    (lambda: aten.embedding_bag(W, T, torch.tensor([0, 2]))[0],
     lambda: F.embedding_bag(T, W, torch.tensor([0, 2]), mode="sum")),
    (lambda: aten.grid_sampler_2d(X[None, None], W[None, :, :2, None].reshape(1, 3, 4, 2), 0, 0, True),
     lambda: F.grid_sample(X[None, None], W[None, :, :2, None].reshape(1, 3, 4, 2), align_corners=True)),
    (lambda: aten.gru_cell(X, X, W, W), lambda: torch.gru_cell(X, X, W, W)),
    (lambda: aten.frexp.Tensor(X), lambda: tuple(torch.frexp(X))),
    (lambda: aten.nonzero_static(T, size=4), lambda: torch.nonzero_static(T, size=4)),
    (lambda: aten.as_strided_scatter(X, X[0, :2], [2], [1]), lambda: torch.as_strided_scatter(X, X[0, :2], [2], [1])),
    (lambda: aten.slice_scatter(X, Y[:, :2], 1, 1, 3), lambda: torch.slice_scatter(X, Y[:, :2], 1, 1, 3)),
    (lambda: aten.renorm(X, 2, 0, 1.0), lambda: torch.renorm(X, 2, 0, 1.0)),
    (lambda: aten.isin.Tensor_Tensor(T, T[:2]), lambda: torch.isin(T, T[:2])),
    (lambda: aten.fake_quantize_per_tensor_affine(X, 0.1, 3, 0, 10),
     lambda: torch.fake_quantize_per_tensor_affine(X, 0.1, 3, 0, 10)),
    (lambda: aten.cosine_similarity(X, Y, 1), lambda: F.cosine_similarity(X, Y)),
    (lambda: aten.slice_copy.Tensor(X, 1, 0, 4, 2), lambda: X[:, ::2]),
]  # fmt: skip


@pytest.mark.parametrize("pair", OTHERS)
def test_other_operators(pair):
    operator, function = pair
    found = operator()
    torch.testing.assert_close(tuple(found) if isinstance(found, tuple) else found, function())

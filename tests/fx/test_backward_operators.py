"""Operators of torch.ops.aten for derivatives, beside the gradients of the functions they belong to; and operators that
several functions make together. Plain and in one graph."""

import pytest

import minidynamo as torch
from minidynamo.nn import functional as F

aten = torch.ops.aten


def ramp(*sizes):
    count = torch.Size(sizes).numel()
    return (torch.arange(float(count)) * 1.7).sin().reshape(sizes)


def first(x):
    return x[0]


# name: function of x, the operator's call with the gradient of its result and x, x
OF_ONE = {
    "gelu": (F.gelu, lambda g, x: aten.gelu_backward(g, x), ramp(3, 4)),
    "gelu by tanh": (
        lambda x: F.gelu(x, approximate="tanh"),
        lambda g, x: aten.gelu_backward(g, x, approximate="tanh"),
        ramp(3, 4),
    ),
    "silu": (F.silu, lambda g, x: aten.silu_backward.default(g, x), ramp(3, 4)),
    "mish": (F.mish, lambda g, x: aten.mish_backward(g, x), ramp(3, 4)),
    "elu": (lambda x: F.elu(x, 0.5), lambda g, x: aten.elu_backward(g, 0.5, 1, 1, False, x), ramp(3, 4)),
    "elu of its result": (
        lambda x: F.elu(x, 0.5),
        lambda g, x: aten.elu_backward(g, 0.5, 1, 1, True, F.elu(x, 0.5)),
        ramp(3, 4),
    ),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), lambda g, x: aten.leaky_relu_backward(g, x, 0.2, False), ramp(3, 4)),
    "hardtanh": (lambda x: F.hardtanh(x, -0.5, 0.5), lambda g, x: aten.hardtanh_backward(g, x, -0.5, 0.5), ramp(3, 4)),
    "hardswish": (F.hardswish, lambda g, x: aten.hardswish_backward(g, x), ramp(3, 4)),
    "softplus": (lambda x: F.softplus(x, 2, 1), lambda g, x: aten.softplus_backward(g, x, 2, 1), ramp(3, 4)),
    "softshrink": (lambda x: F.softshrink(x, 0.3), lambda g, x: aten.softshrink_backward(g, x, 0.3), ramp(3, 4)),
    "glu": (lambda x: F.glu(x, 1), lambda g, x: aten.glu_backward(g, x, 1), ramp(3, 4)),
    "mse_loss": (
        lambda x: F.mse_loss(x, ramp(3, 4) + 1),
        lambda g, x: aten.mse_loss_backward(g, x, ramp(3, 4) + 1, 1),
        ramp(3, 4),
    ),
    "nll_loss": (
        lambda x: F.nll_loss(x, torch.tensor([0, 2, 1])),
        lambda g, x: aten.nll_loss_backward(g, x, torch.tensor([0, 2, 1]), None, 1, -100, torch.tensor(3.0)),
        ramp(3, 4),
    ),
    "reflection_pad1d": (
        lambda x: F.pad(x, (1, 2), "reflect"),
        lambda g, x: aten.reflection_pad1d_backward(g, x, [1, 2]),
        ramp(2, 3, 4),
    ),
    "replication_pad2d": (
        lambda x: F.pad(x, (1, 2, 0, 1), "replicate"),
        lambda g, x: aten.replication_pad2d_backward(g, x, [1, 2, 0, 1]),
        ramp(2, 3, 4),
    ),
    "max_pool2d": (
        lambda x: F.max_pool2d(x, 2),
        lambda g, x: aten.max_pool2d_with_indices_backward(
            g, x, [2, 2], [], [0, 0], [1, 1], False, F.max_pool2d(x, 2, return_indices=True)[1]
        ),
        ramp(1, 2, 4, 6),
    ),
    "avg_pool2d": (
        lambda x: F.avg_pool2d(x, 2),
        lambda g, x: aten.avg_pool2d_backward(g, x, [2, 2], [2, 2], [0, 0], False, True, None),
        ramp(1, 2, 4, 6),
    ),
    "adaptive_avg_pool2d": (
        lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
        lambda g, x: aten._adaptive_avg_pool2d_backward(g, x),
        ramp(1, 2, 4, 6),
    ),
    "upsample_bilinear2d": (
        lambda x: F.interpolate(x, (5, 7), mode="bilinear"),
        lambda g, x: aten.upsample_bilinear2d_backward(g, [5, 7], [1, 2, 4, 6], False),
        ramp(1, 2, 4, 6),
    ),
    "upsample_nearest2d": (
        lambda x: F.interpolate(x, (8, 12)),
        lambda g, x: aten.upsample_nearest2d_backward(g, [8, 12], [1, 2, 4, 6]),
        ramp(1, 2, 4, 6),
    ),
    "slice": (lambda x: x[:, 1:3], lambda g, x: aten.slice_backward(g, [3, 4], 1, 1, 3, 1), ramp(3, 4)),
    "select": (lambda x: x.select(1, 2), lambda g, x: aten.select_backward(g, [3, 4], 1, 2), ramp(3, 4)),
    "diagonal": (lambda x: x.diagonal(), lambda g, x: aten.diagonal_backward(g, [3, 4], 0, 0, 1), ramp(3, 4)),
    "unfold": (lambda x: x.unfold(1, 2, 1), lambda g, x: aten.unfold_backward(g, [3, 4], 1, 2, 1), ramp(3, 4)),
    "convolution": (
        lambda x: F.conv2d(x, ramp(3, 2, 2, 2)),
        lambda g, x: first(
            aten.convolution_backward(
                g, x, ramp(3, 2, 2, 2), [3], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True]
            )
        ),
        ramp(1, 2, 4, 6),
    ),
    "layer_norm": (
        lambda x: F.layer_norm(x, (4,), ramp(4), ramp(4)),
        lambda g, x: first(
            aten.native_layer_norm_backward(
                g,
                x,
                [4],
                x.mean(1, keepdim=True),
                torch.rsqrt(x.var(1, correction=0, keepdim=True) + 1e-5),
                ramp(4),
                ramp(4),
                [True, True, True],
            )
        ),
        ramp(3, 4),
    ),
    "group_norm": (
        lambda x: F.group_norm(x, 2, ramp(4)),
        lambda g, x: first(
            aten.native_group_norm_backward(
                g,
                x,
                x.view(2, 2, -1).mean(2),
                torch.rsqrt(x.view(2, 2, -1).var(2, correction=0) + 1e-5),
                ramp(4),
                2,
                4,
                3,
                2,
                [True, True, True],
            )
        ),
        ramp(2, 4, 3),
    ),
    "batch_norm": (
        lambda x: F.batch_norm(x, None, None, ramp(4), training=True),
        lambda g, x: first(
            aten.native_batch_norm_backward(g, x, ramp(4), None, None, None, None, True, 1e-5, [True, True, True])
        ),
        ramp(3, 4),
    ),
    "embedding": (
        lambda x: F.embedding(torch.tensor([0, 2, 0]), x),
        lambda g, x: aten.embedding_dense_backward(g, torch.tensor([0, 2, 0]), 3, -1, False),
        ramp(3, 4),
    ),
    "cdist": (
        lambda x: torch.cdist(x, ramp(2, 4)),
        lambda g, x: aten._cdist_backward(g, x, ramp(2, 4), 2.0, torch.cdist(x, ramp(2, 4))),
        ramp(3, 4),
    ),
}


@pytest.mark.parametrize("name", OF_ONE)
def test_the_operator_is_the_gradient(name):
    function, operator, x = OF_ONE[name]
    x = x.clone().requires_grad_()
    made = function(x)
    grad = made.detach() * 0.5 + 1
    (wanted,) = torch.autograd.grad(made, x, grad)
    plain = x.detach()
    assert torch.allclose(operator(grad, plain), wanted, atol=1e-6)
    assert torch.allclose(torch.compile(operator, fullgraph=True)(grad, plain), wanted, atol=1e-6)


# name: the operator's call, what it gives
OF_SEVERAL = {
    "_unique2": (
        lambda x: aten._unique2(x, True, True, True),
        lambda x: torch.unique(x, return_inverse=True, return_counts=True),
    ),
    "unique_consecutive": (lambda x: first(aten.unique_consecutive(x)), torch.unique_consecutive),
    "elu_": (lambda x: aten.elu_(x.clone()), F.elu),
    "silu_": (lambda x: aten.silu_.default(x.clone()), F.silu),
    "_softmax": (lambda x: aten._softmax(x, 0, False), lambda x: x.softmax(0)),
    "mse_loss": (lambda x: aten.mse_loss(x, x + 1, 2), lambda x: F.mse_loss(x, x + 1, reduction="sum")),
    "_foreach_add": (lambda x: aten._foreach_add.Scalar([x, x], 1.0), lambda x: torch._foreach_add([x, x], 1.0)),
    "special_entr": (lambda x: aten.special_entr(x), torch.special.entr),
    "narrow_copy": (lambda x: aten.narrow_copy(x, 0, 1, 2), lambda x: x[1:3].clone()),
    "nearest-exact": (
        lambda x: aten._upsample_nearest_exact1d(x[None, None], [9]),
        lambda x: F.interpolate(x[None, None], 9, mode="nearest-exact"),
    ),
}


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_operators_made_of_functions(name):
    operator, function = OF_SEVERAL[name]
    x = ramp(6)
    for made in (operator(x), torch.compile(operator, fullgraph=True)(x)):
        wanted = function(x)
        if isinstance(wanted, torch.Tensor):
            made, wanted = [made], [wanted]
        assert len(made) == len(wanted) and all(torch.equal(*pair) for pair in zip(made, wanted, strict=True))

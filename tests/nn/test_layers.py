"""Layers, losses and functions against NumPy."""

import math

import numpy as np
import pytest

import minidynamo as torch

nn, F = torch.nn, torch.nn.functional
DTYPES = {torch.float32: 1e-5, torch.float64: 1e-12, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def tensor(array, dtype=torch.float32):
    return torch.tensor(array.tolist(), dtype=dtype) if array.size else torch.zeros(*array.shape, dtype=dtype)


def values(t):
    return t.detach().double().numpy()


def filled(layer, dtype=torch.float32):
    """The layer with random weights, and what they are (as the dtype holds them)."""
    layer.to(dtype)
    held = []
    for k, p in enumerate(layer.parameters()):
        with torch.no_grad():
            p.copy_(tensor(random(*p.shape, seed=k + 1), dtype))
        held.append(values(p))
    return layer, *held


def close(got, wanted, dtype=torch.float32):
    assert got.dtype == dtype
    np.testing.assert_allclose(values(got), wanted, rtol=DTYPES[dtype], atol=DTYPES[dtype])


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 5, 3), (0, 3), (2, 0, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(shape, bias):
    layer, weight, *rest = filled(nn.Linear(3, 4, bias=bias))
    x = random(*shape)
    close(layer(tensor(x)), x @ weight.T + (rest[0] if bias else 0))


def test_linear_refuses_sizes():
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x5 and 3x4\)"):
        nn.Linear(3, 4)(torch.ones(2, 5))


def test_bilinear():
    layer, weight, bias = filled(nn.Bilinear(3, 4, 2))
    a, b = random(5, 3), random(5, 4, seed=9)
    close(layer(tensor(a), tensor(b)), np.einsum("bi,kij,bj->bk", a, weight, b) + bias)


def test_embedding():
    layer, weight = filled(nn.Embedding(7, 3))
    index = np.array([[0, 6], [3, 3]])
    close(layer(torch.tensor(index.tolist())), weight[index])
    assert nn.Embedding(4, 2, padding_idx=-1).weight[3].tolist() == [0, 0]
    with pytest.raises(IndexError, match="index out of range in self"):
        layer(torch.tensor([7]))
    with pytest.raises(RuntimeError, match="scalar types: Long, Int"):
        layer(torch.ones(2))


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, np.inf])
def test_embedding_with_a_largest_norm(norm_type):
    """Named rows are scaled in the weight itself, the others are left alone."""
    rows = (random(6, 3) * 3).astype("float32")
    layer = nn.Embedding(6, 3, max_norm=1.0, norm_type=norm_type, _weight=tensor(rows.copy()))
    index = np.array([[0, 4], [4, 2]])
    norm = np.linalg.norm(rows.astype("float64"), norm_type, axis=1)
    named = np.isin(np.arange(6), index) & (norm > 1)
    want = np.where(named[:, None], rows / (norm + 1e-7)[:, None], rows)
    close(layer(torch.tensor(index.tolist())), want[index])
    close(layer.weight, want)
    assert (layer.weight.detach().numpy()[~named] == rows[~named]).all()
    assert layer(torch.zeros(0, dtype=torch.int64)).shape == (0, 3)
    assert "max_norm=1.0" in repr(layer)


def normalized(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_norms(dtype):
    t = tensor(random(2, 4, 3, 5), dtype)
    x = values(t)
    layer, weight, bias = filled(nn.LayerNorm((3, 5)), dtype)
    close(layer(t), normalized(x, (2, 3)) * weight + bias, dtype)
    layer, weight = filled(nn.RMSNorm(5), dtype)
    wide = dtype if dtype == torch.float64 else torch.float32
    eps = torch.finfo(wide).eps
    close(layer(t), x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight, dtype)
    layer, weight, bias = filled(nn.GroupNorm(2, 4), dtype)
    grouped = normalized(x.reshape(2, 2, -1), 2).reshape(x.shape)
    close(layer(t), grouped * weight.reshape(4, 1, 1) + bias.reshape(4, 1, 1), dtype)


@pytest.mark.parametrize("momentum", [0.1, None])
def test_batch_norm(momentum):
    layer, weight, bias = filled(nn.BatchNorm2d(3, momentum=momentum))
    mean, var = np.zeros(3), np.ones(3)
    for batch in (1, 2):
        x = random(4, 3, 2, 5, seed=batch)
        channels = (slice(None), None, None)
        close(layer(tensor(x)), normalized(x, (0, 2, 3)) * weight[channels] + bias[channels])
        share = momentum or 1 / batch
        mean = mean * (1 - share) + x.mean((0, 2, 3)) * share
        var = var * (1 - share) + x.var((0, 2, 3), ddof=1) * share
    close(layer.running_mean, mean)
    close(layer.running_var, var)
    assert int(layer.num_batches_tracked) == 2 and not layer.running_mean.requires_grad
    scaled = (x - mean[channels]) / np.sqrt(var[channels] + 1e-5)
    close(layer.eval()(tensor(x)), scaled * weight[channels] + bias[channels])


def test_norms_refuse_sizes():
    def refuses(layer, shape, kind, text):
        with pytest.raises(kind) as caught:
            layer(torch.ones(*shape))
        assert str(caught.value) == text

    text = "Given normalized_shape=[3], expected input with shape [*, 3], but got input of size[2, 5]"
    refuses(nn.LayerNorm(3), (2, 5), RuntimeError, text)
    refuses(nn.BatchNorm1d(3), (2, 5), RuntimeError, "running_mean should contain 5 elements not 3")
    refuses(nn.BatchNorm2d(3), (2, 5), ValueError, "expected 4D input (got 2D input)")
    text = "Expected more than 1 value per channel when training, got input size torch.Size([1, 3])"
    refuses(nn.BatchNorm1d(3), (1, 3), ValueError, text)
    with pytest.raises(ValueError, match=r"num_channels \(4\) must be divisible by num_groups \(3\)"):
        nn.GroupNorm(3, 4)


def test_dropout():
    torch.manual_seed(0)
    x = torch.ones(10000)
    y = nn.Dropout(0.25)(x)
    kept = y.numpy()
    assert set(np.unique(kept)) == {0.0, np.float32(1 / 0.75)} and abs((kept > 0).mean() - 0.75) < 0.02
    assert nn.Dropout(0.25).eval()(x) is x and float(nn.Dropout(1.0)(x).abs().sum()) == 0
    z = x.clone()
    assert nn.Dropout(0.5, inplace=True)(z) is z and float(z.min()) == 0
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1, but got 2"):
        nn.Dropout(2)


ACTIVATIONS = [
    (nn.ReLU(), lambda x: np.maximum(x, 0)),
    (nn.SiLU(), lambda x: x / (1 + np.exp(-x))),
    (nn.Sigmoid(), lambda x: 1 / (1 + np.exp(-x))),
    (nn.Tanh(), np.tanh),
    (nn.ELU(2.0), lambda x: np.where(x > 0, x, 2 * np.expm1(x))),
    (nn.LeakyReLU(0.2), lambda x: np.where(x > 0, x, 0.2 * x)),
    (nn.Hardtanh(-0.5, 0.5), lambda x: np.clip(x, -0.5, 0.5)),
    (nn.ReLU6(), lambda x: np.clip(x, 0, 6)),
    (nn.Softplus(), lambda x: np.log1p(np.exp(x))),
    (nn.Mish(), lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    (nn.GELU("tanh"), lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    (nn.GELU(), lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))),
    (nn.Softmax(1), lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
    (nn.LogSoftmax(1), lambda x: x - np.log(np.exp(x).sum(1, keepdims=True))),
    (nn.Softmin(0), lambda x: np.exp(-x) / np.exp(-x).sum(0, keepdims=True)),
    (nn.Threshold(0.1, 20), lambda x: np.where(x > 0.1, x, 20)),
    (nn.PReLU(), lambda x: np.where(x > 0, x, 0.25 * x)),
    (nn.Hardswish(), lambda x: x * np.clip(x + 3, 0, 6) / 6),
    (nn.Softsign(), lambda x: x / (1 + np.abs(x))),
    (nn.GLU(), lambda x: x[:, :2] / (1 + np.exp(-x[:, 2:]))),
    (nn.Flatten(0), lambda x: x.reshape(-1)),
    (nn.Unflatten(1, (2, 2)), lambda x: x.reshape(-1, 2, 2)),
]


@pytest.mark.parametrize("layer, wanted", ACTIVATIONS, ids=lambda v: type(v).__name__)
def test_activations(layer, wanted):
    x = random(6, 4) * 2
    close(layer(tensor(x)), wanted(x))


def test_inplace_activation():
    x = torch.tensor([-1.0, 2.0])
    assert nn.ReLU(inplace=True)(x) is x and x.tolist() == [0, 2]


WRITTEN = [nn.ReLU, nn.ReLU6, nn.SiLU, nn.Mish, nn.Hardswish, nn.Hardsigmoid, nn.SELU, nn.ELU, nn.CELU, nn.LeakyReLU]
WRITTEN += [nn.Hardtanh, nn.Dropout, lambda inplace: nn.Threshold(0.1, 0.2, inplace)]
WRITTEN += [lambda inplace: nn.RReLU(0.25, 0.25, inplace)]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.__name__)
def test_gradients_of_activations_in_place(kind, compiled):
    found = []
    for inplace in (False, True):
        torch._dynamo.reset()
        torch.manual_seed(0)
        layer = kind(inplace=inplace)
        x, w = tensor(random(3, 4)).requires_grad_(), tensor(random(4, 4) * 2)
        run = torch.compile(lambda x, w: layer(x @ w), fullgraph=True) if compiled else lambda x, w: layer(x @ w)  # noqa: B023
        y = run(x, w)
        (y * y).sum().backward()
        found.append((y.detach(), x.grad))
    assert torch.equal(found[0][0], found[1][0]) and torch.allclose(found[0][1], found[1][1])


def elementwise(x, y):
    d = np.abs(x - y)
    return {
        "mse_loss": d**2,
        "l1_loss": d,
        "smooth_l1_loss": np.where(d < 1, d * d / 2, d - 0.5),
        "huber_loss": np.where(d < 1, d * d / 2, d - 0.5),
        "kl_div": y * (np.log(y) - x),
        "binary_cross_entropy_with_logits": np.log1p(np.exp(x)) - x * y,
    }


REDUCED = {"none": lambda v: v, "mean": np.mean, "sum": np.sum}


@pytest.mark.parametrize("reduction", REDUCED)
@pytest.mark.parametrize("name", list(elementwise(np.ones(1), np.ones(1))))
def test_elementwise_losses(name, reduction):
    x, y = random(3, 4) * 2, np.abs(random(3, 4, seed=1)) + 0.01
    got = getattr(F, name)(tensor(x), tensor(y), reduction=reduction)
    close(got, REDUCED[reduction](elementwise(x, y)[name]))


def test_binary_cross_entropy():
    p, y = np.array([0.0, 0.3, 1.0, 0.9]), np.array([0.5, 0.2, 1.0, 0.0])
    log, rest = np.log(np.maximum(p, 1e-300)), np.log(np.maximum(1 - p, 1e-300))
    close(nn.BCELoss()(tensor(p), tensor(y)), -(y * np.maximum(log, -100) + (1 - y) * np.maximum(rest, -100)).mean())
    with pytest.raises(ValueError, match="Using a target size"):
        F.binary_cross_entropy(torch.ones(2), torch.ones(3))
    for outside in (-0.5, 1.5, float("nan")):
        with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
            F.binary_cross_entropy(torch.tensor([0.5, outside]), torch.ones(2))
        with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
            F.binary_cross_entropy(torch.ones(2), torch.tensor([outside, 0.5]))
    assert F.binary_cross_entropy(torch.ones(0), torch.ones(0), reduction="sum") == 0


def class_losses(x, target, weight, ignore, smoothing):
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    counted = target != ignore
    safe = np.where(counted, target, 0)
    picked = np.take_along_axis(logs, safe[:, None], 1)[:, 0]
    share = weight[safe] * counted
    spread = (logs * weight.reshape(-1, *[1] * (x.ndim - 2))).sum(1) * counted
    return -(1 - smoothing) * picked * share - smoothing / x.shape[1] * spread, share


@pytest.mark.parametrize("shape", [(6, 4), (2, 4, 3, 5)])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("reduction", REDUCED)
def test_cross_entropy(shape, smoothing, reduction):
    x, weight = random(*shape), np.abs(random(4, seed=3)) + 0.1
    target = np.random.default_rng(5).integers(0, 4, (shape[0], *shape[2:]))
    ignore = int(target.flat[0])
    loss, share = class_losses(x, target, weight, ignore, smoothing)
    wanted = loss.sum() / share.sum() if reduction == "mean" else REDUCED[reduction](loss)
    layer = nn.CrossEntropyLoss(tensor(weight), ignore_index=ignore, reduction=reduction, label_smoothing=smoothing)
    close(layer(tensor(x), torch.tensor(target.tolist())), wanted)
    if smoothing == 0.0:
        logs = F.log_softmax(tensor(x), 1)
        layer = nn.NLLLoss(tensor(weight), ignore_index=ignore, reduction=reduction)
        close(layer(logs, torch.tensor(target.tolist())), wanted)


def test_cross_entropy_of_probabilities():
    x, target = random(6, 4), np.abs(random(6, 4, seed=1))
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    close(F.cross_entropy(tensor(x), tensor(target)), -(logs * target).sum(1).mean())


def test_losses_refuse():
    with pytest.raises(ValueError, match="foo is not a valid value for reduction"):
        F.mse_loss(torch.ones(2), torch.ones(2), reduction="foo")
    text = r"Expected input batch_size \(3\) to match target batch_size \(2\)."
    with pytest.raises(ValueError, match=text):
        F.nll_loss(torch.ones(3, 4), torch.tensor([0, 1]))
    for loss in (F.nll_loss, F.cross_entropy):
        for outside in (-1, 4):
            with pytest.raises(IndexError, match=f"Target {outside} is out of bounds."):
                loss(torch.ones(3, 4), torch.tensor([0, outside, -100]))
    with pytest.warns(UserWarning, match="different to the input size"):
        F.mse_loss(torch.ones(3, 4), torch.ones(4))


def softmax(scores):
    e = np.exp(scores - np.where(np.isinf(scores.max(-1)), 0, scores.max(-1))[..., None])
    total = e.sum(-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


@pytest.mark.parametrize("kind", ["none", "causal", "bool", "float"])
def test_scaled_dot_product_attention(kind):
    q, k, v = random(2, 2, 3, 4), random(2, 2, 5, 4, seed=1), random(2, 2, 5, 6, seed=2)
    scores = q @ k.swapaxes(-1, -2) / 2
    given = {}
    if kind == "causal":
        given, scores = {"is_causal": True}, np.where(np.tril(np.ones((3, 5))) > 0, scores, -np.inf)
    if kind == "bool":  # the second row looks at nothing
        mask = np.array([[1, 1, 0, 0, 1], [0] * 5, [1] * 5]) > 0
        given, scores = {"attn_mask": torch.tensor(mask.tolist())}, np.where(mask, scores, -np.inf)
    if kind == "float":
        mask = random(3, 5, seed=4)
        given, scores = {"attn_mask": tensor(mask)}, scores + mask
    close(F.scaled_dot_product_attention(tensor(q), tensor(k), tensor(v), **given), softmax(scores) @ v)


def test_multihead_attention():
    layer, in_weight, in_bias, out_weight, out_bias = filled(nn.MultiheadAttention(8, 2, batch_first=True))
    x, mask = random(2, 3, 8), np.triu(np.ones((3, 3)), 1) > 0
    q, k, v = ((x @ w.T + b).reshape(2, 3, 2, 4).swapaxes(1, 2)
               for w, b in zip(np.split(in_weight, 3), np.split(in_bias, 3)))  # fmt: skip
    shares = softmax(np.where(mask, -np.inf, q @ k.swapaxes(-1, -2) / 2))
    wanted = (shares @ v).swapaxes(1, 2).reshape(2, 3, 8) @ out_weight.T + out_bias
    t = tensor(x)
    got, weights = layer(t, t, t, attn_mask=torch.tensor(mask.tolist()))
    close(got, wanted)
    close(weights, shares.mean(1))
    layer.batch_first = False
    t = t.transpose(0, 1)
    got, weights = layer(t, t, t, attn_mask=torch.tensor(mask.tolist()), need_weights=False)
    close(got.transpose(0, 1), wanted)
    assert weights is None


def test_other_functions():
    x, y = random(3, 4), random(3, 4, seed=1)
    close(F.normalize(tensor(x)), x / np.linalg.norm(x, axis=1, keepdims=True))
    wanted = (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
    close(nn.CosineSimilarity()(tensor(x), tensor(y)), wanted)
    close(nn.PairwiseDistance()(tensor(x), tensor(y)), np.linalg.norm(x - y + 1e-6, axis=1))
    close(F.pad(tensor(x), (1, 2, 0, 3), value=2.5), np.pad(x, ((0, 3), (1, 2)), constant_values=2.5))
    close(F.pad(tensor(x), (-1, 2)), np.pad(x[:, 1:], ((0, 0), (0, 2))))
    assert F.one_hot(torch.tensor([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]

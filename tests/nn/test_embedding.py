"""Embeddings and bags of them: values by NumPy, and which rows get which gradient."""

import numpy as np
import pytest

import minidynamo as torch

F, nn = torch.nn.functional, torch.nn
rng = np.random.default_rng(0)
ROWS = rng.normal(size=(6, 3))
INDEX = np.array([1, 4, 1, 0, 5, 5, 2])
STARTS = [0, 2, 2, 5]
BAGS = [[1, 4], [], [1, 0, 5], [5, 2]]
REDUCE = {"sum": np.sum, "mean": np.mean, "max": np.max}


def wanted(mode, padding=None):
    rows = [ROWS[[i for i in bag if i != padding]] for bag in BAGS]
    return np.stack([REDUCE[mode](each, axis=0) if len(each) else np.zeros(3) for each in rows])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("padding", [None, 5])
@pytest.mark.parametrize("mode", REDUCE)
def test_bags(mode, padding, compiled):
    made = nn.EmbeddingBag.from_pretrained(torch.tensor(ROWS), mode=mode, padding_idx=padding, freeze=False)
    call = torch.compile(made) if compiled else made
    found = call(torch.tensor(INDEX), torch.tensor(STARTS))
    np.testing.assert_allclose(found.detach().numpy(), wanted(mode, padding))
    matrix = call(torch.tensor([[1, 4], [5, 2]]))
    np.testing.assert_allclose(matrix.detach().numpy(), wanted(mode, padding)[[0, 3]])

    def of_weight(weight):
        return F.embedding_bag(torch.tensor(INDEX), weight, torch.tensor(STARTS), mode=mode, padding_idx=padding)

    assert torch.autograd.gradcheck(of_weight, (torch.tensor(ROWS, requires_grad=True),))


def test_last_offset_and_weights():
    weight, index = torch.tensor(ROWS), torch.tensor(INDEX)
    ended = F.embedding_bag(index, weight, torch.tensor([*STARTS, 7]), mode="sum", include_last_offset=True)
    np.testing.assert_allclose(ended.numpy(), wanted("sum"))
    factors = torch.tensor(rng.normal(size=7), requires_grad=True)
    found = F.embedding_bag(index, weight, torch.tensor(STARTS), mode="sum", per_sample_weights=factors)
    by_hand = [sum((factors[i].item() * ROWS[INDEX[i]] for i in range(a, b)), np.zeros(3))
               for a, b in zip(STARTS, [*STARTS[1:], 7])]  # fmt: skip
    np.testing.assert_allclose(found.detach().numpy(), by_hand)
    found.sum().backward()
    np.testing.assert_allclose(factors.grad.numpy(), ROWS[INDEX].sum(1))


@pytest.mark.parametrize("compiled", [False, True])
def test_rows_without_and_with_shared_gradients(compiled):
    index = torch.tensor([[1, 1, 2], [3, 2, 1]])
    for settings, grads in (
        ({"padding_idx": 1}, [0.0, 0, 2, 1]),
        ({"scale_grad_by_freq": True}, [0.0, 1, 1, 1]),
        ({"padding_idx": -2, "scale_grad_by_freq": True}, [0.0, 1, 0, 1]),
    ):
        made = nn.Embedding(4, 2, **settings)
        call = torch.compile(made) if compiled else made
        result = call(index)
        assert torch.equal(result, made.weight.detach()[index])
        result.sum().backward()
        assert made.weight.grad[:, 0].tolist() == grads


def test_padding_rows_begin_as_zeros():
    for made in (nn.Embedding(4, 2, padding_idx=-1), nn.EmbeddingBag(4, 2, padding_idx=-1)):
        assert made.padding_idx == 3 and made.weight[3].tolist() == [0, 0] and made.weight.requires_grad
    assert repr(nn.EmbeddingBag(4, 2, max_norm=1.0, padding_idx=1)) == (
        "EmbeddingBag(4, 2, max_norm=1.0, mode='mean', padding_idx=1)"
    )
    assert repr(nn.Embedding(4, 2, 1, sparse=True)) == "Embedding(4, 2, padding_idx=1, sparse=True)"


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda i, w: F.embedding_bag(i, w), ValueError),
        (lambda i, w: F.embedding_bag(i, w, torch.tensor([1, 2])), RuntimeError),
        (lambda i, w: F.embedding_bag(i, w, torch.tensor([0, 9])), RuntimeError),
        (lambda i, w: F.embedding_bag(i.view(1, -1), w, torch.tensor([0])), ValueError),
        (lambda i, w: F.embedding_bag(i, w, torch.tensor([0]), mode="least"), ValueError),
        (lambda i, w: F.embedding_bag(i, w, torch.tensor([0]), mode="max", scale_grad_by_freq=True), ValueError),
        (lambda i, w: F.embedding_bag(i, w, torch.tensor([0]), per_sample_weights=w[:, 0]), ValueError),
        (lambda i, w: F.embedding_bag(i, w, torch.tensor([0]), padding_idx=9), RuntimeError),
        (lambda i, w: F.embedding_bag(i.double(), w, torch.tensor([0])), RuntimeError),
        (lambda i, w: F.embedding(i, w, padding_idx=9), AssertionError),
    ],
)
def test_wrong_arguments(call, kind):
    with pytest.raises(kind):
        call(torch.tensor(INDEX), torch.tensor(ROWS))


# --- softmax over many classes


def test_adaptive_softmax():
    torch.manual_seed(0)
    made = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0).double()
    x = torch.tensor(rng.normal(size=(7, 8)), requires_grad=True)
    target = torch.tensor([0, 3, 5, 12, 19, 4, 9])
    logs = made.log_prob(x)
    assert torch.allclose(logs.exp().sum(1), torch.ones(7, dtype=torch.float64))
    output, loss = made(x, target)
    assert torch.allclose(output, logs.gather(1, target.unsqueeze(1)).squeeze(1))
    assert torch.allclose(loss, -output.mean()) and torch.equal(made.predict(x), logs.argmax(1))
    assert [tuple(w.shape) for w in made.parameters()] == [(6, 8), (4, 8), (6, 4), (2, 8), (10, 2)]
    assert torch.autograd.gradcheck(lambda x: made(x, target).loss, (x,))
    assert torch.allclose(made(x[3], target[3]).output, output[3])
    for wrong in (lambda: made(x, target + 9), lambda: made(x, target[:3]), lambda: made(x[0], target)):
        with pytest.raises(RuntimeError):
            wrong()
    for cutoffs in ([], [4, 4], [0, 3], [20], [10, 4]):
        with pytest.raises(ValueError):
            nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs)

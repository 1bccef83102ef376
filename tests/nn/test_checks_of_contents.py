"""Functions that look at what their arguments hold refuse the same things compiled as plainly, in one graph."""

import pytest

import minidynamo as torch
import minidynamo.nn.functional as F
from minidynamo._dynamo.testing import CompileCounter

ONES = torch.ones(3)
LOGS = torch.arange(40.0).view(5, 2, 4).log_softmax(2)
LABELS = torch.ones(2, 3, dtype=torch.int64)
SIGNAL = torch.stft(torch.arange(64.0).sin(), 16, return_complex=True, window=torch.ones(16))
MATRIX = torch.tensor([[2.0, 1.0], [1.0, 2.0]])


TWO, FIVE = torch.tensor([2, 2]), torch.tensor([5, 5])


def lengths(*values):
    return torch.tensor(values)


def normal(covariance):
    return torch.distributions.MultivariateNormal(torch.zeros(2), covariance, validate_args=False).scale_tril


# name: the function, arguments it takes, arguments it refuses
CASES = {
    "binary_cross_entropy": (F.binary_cross_entropy, (ONES / 2, ONES), (ONES * 2, ONES)),
    "its target": (F.binary_cross_entropy, (ONES / 2, ONES), (ONES / 2, ONES * 2)),
    "NaN": (F.binary_cross_entropy, (ONES / 2, ONES), (ONES * float("nan"), ONES)),
    "gaussian_nll_loss": (F.gaussian_nll_loss, (ONES, ONES, ONES * 2), (ONES, ONES, -ONES)),
    "input lengths": (
        lambda n: F.ctc_loss(LOGS, LABELS, n, TWO), (lengths(5, 4),), (lengths(5, 6),)
    ),
    "negative lengths": (
        lambda n: F.ctc_loss(LOGS, LABELS, FIVE, n), (lengths(2, 3),), (lengths(2, -1),)
    ),
    "labels in a row": (
        lambda n: F.ctc_loss(LOGS, LABELS.flatten()[:4], FIVE, n), (lengths(2, 2),), (lengths(2, 3),)
    ),
    "istft": (lambda w: torch.istft(SIGNAL, 16, window=w), (torch.ones(16),), (torch.zeros(16),)),
    "a covariance": (normal, (MATRIX,), (MATRIX - 2,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_same_is_refused(name):
    function, good, bad = CASES[name]
    with pytest.raises(Exception) as plain:
        function(*bad)
    for fullgraph in (False, True):
        torch._dynamo.reset()
        counter = CompileCounter()
        compiled = torch.compile(function, backend=counter, fullgraph=fullgraph)
        assert torch.equal(compiled(*good), function(*good))
        with pytest.raises(type(plain.value)) as raised:
            compiled(*bad)
        assert str(raised.value) == str(plain.value) and counter.frame_count == 1
        assert torch.equal(compiled(*good), function(*good))


def test_examples_of_vmap_are_not_looked_at():
    x = torch.full((4, 3), 0.5)
    for function in (F.binary_cross_entropy, lambda a, b: F.gaussian_nll_loss(a, b, a)):
        each = torch.stack([function(row, row) for row in x])
        mapped = torch.func.vmap(function)
        assert torch.allclose(mapped(x, x), each)
        assert torch.allclose(torch.compile(mapped, fullgraph=True)(x, x), each)

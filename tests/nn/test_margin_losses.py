"""Losses of margins, labels, counts and label sequences, against their formulas in plain Python."""

import itertools
import math

import numpy as np
import pytest

import minidynamo as torch

F, nn = torch.nn.functional, torch.nn
rng = np.random.default_rng(0)
A, B, C = (rng.normal(size=(5, 4)) for _ in range(3))
SIGN = np.array([1.0, -1, 1, -1, -1])
LABEL = np.array([0, 3, 1, 1, 2])
LABELS = np.array([[3, 0, -1, 1], [-1, 1, 2, 3], [0, 1, 2, 3], [2, -1, -1, -1], [1, 2, -1, 0]])
WEIGHT = np.array([0.5, 1.0, 2.0, 0.25])


def distance(x, y, p=2.0, eps=1e-6):
    return (np.abs(x - y + eps) ** p).sum(-1) ** (1 / p)


def cosine(x, y):
    return (x * y).sum(-1) / np.sqrt((x * x).sum(-1) * (y * y).sum(-1))


def multi_margin(x, y, p=1, margin=1.0, weight=None):
    rows = []
    for row, label in zip(x, y):
        w = 1.0 if weight is None else weight[label]
        terms = [(max(0, margin - row[label] + v) * (w if p == 1 else 1)) ** p for i, v in enumerate(row) if i != label]
        rows.append(sum(terms) * (1 if p == 1 else w) / len(row))
    return np.array(rows)


def multilabel_margin(x, y):
    rows = []
    for row, labels in zip(x, y):
        named = list(itertools.takewhile(lambda v: v >= 0, labels))
        others = [i for i in range(len(row)) if i not in named]
        rows.append(sum(max(0, 1 - row[j] + row[i]) for j in named for i in others) / len(row))
    return np.array(rows)


def t(values):
    return torch.tensor(values)


CASES = {
    "hinge": (F.hinge_embedding_loss, (A, np.sign(B)), {"margin": 0.5},
              lambda x, y: np.where(y == 1, x, np.maximum(0, 0.5 - x))),
    "ranking": (F.margin_ranking_loss, (A, B, np.sign(C)), {"margin": 0.2},
                lambda x, y, s: np.maximum(0, -s * (x - y) + 0.2)),
    "soft": (F.soft_margin_loss, (A, np.sign(B)), {}, lambda x, y: np.log1p(np.exp(-y * x))),
    "cosine": (F.cosine_embedding_loss, (A, B, SIGN), {"margin": 0.1},
               lambda x, y, s: np.where(s == 1, 1 - cosine(x, y), np.maximum(0, cosine(x, y) - 0.1))),
    "triplet": (F.triplet_margin_loss, (A, B, C), {"margin": 2.0},
                lambda a, p, n: np.maximum(0, distance(a, p) - distance(a, n) + 2)),
    "swapped": (F.triplet_margin_loss, (A, B, C), {"p": 1.0, "swap": True},
                lambda a, p, n: np.maximum(0, distance(a, p, 1.0)
                                           - np.minimum(distance(a, n, 1.0), distance(p, n, 1.0)) + 1)),
    "multi": (F.multi_margin_loss, (A, LABEL), {}, multi_margin),
    "multi_weighted": (F.multi_margin_loss, (A, LABEL), {"p": 2, "margin": 0.5, "weight": t(WEIGHT)},
                       lambda x, y: multi_margin(x, y, 2, 0.5, WEIGHT)),
    "labels": (F.multilabel_margin_loss, (A, LABELS), {}, multilabel_margin),
    "soft_labels": (F.multilabel_soft_margin_loss, (A, (B > 0) * 1.0), {"weight": t(WEIGHT)},
                    lambda x, y: (np.log1p(np.exp(np.where(y == 1, -x, x))) * WEIGHT).mean(-1)),
    "counts": (F.poisson_nll_loss, (A, np.abs(B)), {}, lambda x, y: np.exp(x) - y * x),
    "normal": (F.gaussian_nll_loss, (A, B, np.abs(C) + 0.1), {"full": True},
               lambda x, y, v: (np.log(v) + (x - y) ** 2 / v + math.log(2 * math.pi)) / 2),
}  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_formula(name, compiled):
    loss, given, settings, formula = CASES[name]
    given, wanted = [t(v) for v in given], formula(*given)

    def call(*args, reduction="none"):
        return loss(*args, reduction=reduction, **settings)

    call = torch.compile(call) if compiled else call
    np.testing.assert_allclose(call(*given).numpy(), wanted, rtol=1e-9, atol=1e-12)
    assert call(*given, reduction="mean").item() == pytest.approx(wanted.mean())
    assert call(*given, reduction="sum").item() == pytest.approx(wanted.sum())
    given[0].requires_grad_()
    assert torch.autograd.gradcheck(lambda x: call(x, *given[1:], reduction="sum"), (given[0],))


def test_modules_and_any_distance():
    a, b, c = t(A), t(B), t(C)
    own = nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().amax(-1), reduction="none")
    wanted = np.maximum(0, np.abs(A - B).max(-1) - np.abs(A - C).max(-1) + 1)
    np.testing.assert_allclose(own(a, b, c).numpy(), wanted)
    assert torch.equal(nn.TripletMarginWithDistanceLoss()(a, b, c), F.triplet_margin_loss(a, b, c))
    assert repr(nn.MultiMarginLoss(weight=t(WEIGHT))) == "MultiMarginLoss()"
    assert torch.equal(nn.CosineEmbeddingLoss(0.1)(a, b, t(SIGN)), F.cosine_embedding_loss(a, b, t(SIGN), 0.1))
    with pytest.warns(FutureWarning):
        nn.NLLLoss2d()


def test_variance_has_a_floor_but_a_gradient():
    var = t([0.0]).requires_grad_()
    F.gaussian_nll_loss(t([1.0]), t([1.0]), var, eps=0.5).backward()
    assert var.grad.tolist() == [1.0]  # of log(var) / 2 at 0.5


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda: F.multi_margin_loss(t(A), t(LABEL), p=3), ValueError),
        (lambda: F.multi_margin_loss(t(A), t(LABEL[:2])), RuntimeError),
        (lambda: F.triplet_margin_loss(t(A), t(A), t(A), margin=0), ValueError),
        (lambda: F.cosine_embedding_loss(t(A), t(A), t(1.0)), RuntimeError),
        (lambda: F.margin_ranking_loss(t(A), t(A), t(SIGN)), RuntimeError),
        (lambda: F.multilabel_margin_loss(t(A), t(LABELS[:, :3])), RuntimeError),
        (lambda: F.gaussian_nll_loss(t(A), t(B), t(-np.abs(C))), ValueError),
        (lambda: F.gaussian_nll_loss(t(A), t(B), t(np.ones(4))), ValueError),
        (lambda: F.poisson_nll_loss(t(A), t(B), reduction="most"), ValueError),
        (lambda: nn.TripletMarginLoss(margin=-1), ValueError),
        (lambda: nn.MultiMarginLoss(weight=torch.ones(2, 2)), ValueError),
    ],
)
def test_wrong_arguments(call, kind):
    with pytest.raises(kind):
        call()


# --- connectionist temporal classification


def collapsed(path, blank):
    return [label for label, _ in itertools.groupby(path) if label != blank]


def by_enumeration(logs, labels, blank):
    """-log of the sum over all paths that collapse to the labels."""
    steps, classes = logs.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        if collapsed(path, blank) == list(labels):
            total += math.exp(sum(logs[i, c] for i, c in enumerate(path)))
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("blank", [0, 2])
def test_ctc_is_the_sum_over_all_alignments(blank):
    logs = t(rng.normal(size=(4, 3, 3))).log_softmax(-1)
    labels = [[1, 1], [(blank + 1) % 3], []]
    padded = t([[1, 1], [(blank + 1) % 3, 0], [0, 0]])
    steps, lengths = (4, 3, 2), (2, 1, 0)
    wanted = [by_enumeration(logs[:n, i].numpy(), row, blank) for i, (n, row) in enumerate(zip(steps, labels))]
    found = F.ctc_loss(logs, padded, steps, lengths, blank=blank, reduction="none")
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9)
    joined = F.ctc_loss(logs, t([1, 1, (blank + 1) % 3]), t(steps), t(lengths), blank=blank, reduction="none")
    assert torch.equal(found, joined)
    mean = F.ctc_loss(logs, padded, steps, lengths, blank=blank)
    assert mean.item() == pytest.approx(np.mean([w / max(n, 1) for w, n in zip(wanted, lengths)]))
    single = F.ctc_loss(logs[:4, 0], padded[0], (4,), (2,), blank=blank, reduction="none")
    assert single.item() == pytest.approx(wanted[0])


@pytest.mark.parametrize("compiled", [False, True])
def test_ctc_gradient_behind_log_softmax(compiled):
    logits = t(rng.normal(size=(5, 2, 3))).requires_grad_()
    labels = t([[1, 2], [2, 2]])

    def loss(x):
        return F.ctc_loss(x.log_softmax(-1), labels, t([5, 4]), t([2, 2]))

    assert torch.autograd.gradcheck(torch.compile(loss) if compiled else loss, (logits,))


def test_ctc_without_a_path():
    logs = t(rng.normal(size=(2, 1, 3))).log_softmax(-1).detach().requires_grad_()
    given = (t([[1, 1]]), (2,), (2,))
    assert F.ctc_loss(logs, *given).item() == math.inf
    zero = F.ctc_loss(logs, *given, zero_infinity=True)
    zero.backward()
    assert zero.item() == 0 and torch.equal(logs.grad, torch.zeros_like(logs))


@pytest.mark.parametrize(
    "targets, steps, lengths, blank",
    [
        ([[1, 2]], (3,), (2,), 0),
        ([[1, 2]], (2,), (3,), 0),
        ([[1, 2]], (2, 2), (2,), 0),
        ([[1, 2]], (2,), (2,), 3),
        ([1, 2, 1], (2,), (2,), 0),
        ([[1.0, 2.0]], (2,), (2,), 0),
    ],
)
def test_wrong_arguments_of_ctc(targets, steps, lengths, blank):
    logs = torch.zeros(2, 1, 3).log_softmax(-1)
    with pytest.raises(RuntimeError):
        F.ctc_loss(logs, t(targets), steps, lengths, blank=blank)

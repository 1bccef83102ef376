"""Statistics and calculus of torch's own namespace, windows and small facts about tensors: against NumPy and Python."""

import itertools
import math

import numpy as np
import pytest

import minidynamo as torch

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 5))
FREQUENCIES, WEIGHTS = np.array([1, 2, 0, 1, 3]), RNG.uniform(0.5, 2, size=5)


def tensor(values):
    return torch.from_numpy(np.asarray(values))


@pytest.mark.parametrize("f", [None, FREQUENCIES])
@pytest.mark.parametrize("a", [None, WEIGHTS])
@pytest.mark.parametrize("correction", [0, 1])
def test_covariances(f, a, correction):
    given = {name: tensor(v) for name, v in (("fweights", f), ("aweights", a)) if v is not None}
    got = torch.cov(tensor(X), correction=correction, **given)
    assert np.allclose(got.numpy(), np.cov(X, ddof=correction, fweights=f, aweights=a))
    assert np.allclose(
        tensor(X[0]).cov(correction=correction, **given).numpy(),
        np.cov(X[0], ddof=correction, **{"fweights": f, "aweights": a}),
    )


def test_correlations():
    assert np.allclose(torch.corrcoef(tensor(X)).numpy(), np.corrcoef(X))
    assert tensor(X[0]).corrcoef().item() == 1


def test_covariances_of_whole_numbers_are_floating():
    assert torch.cov(torch.tensor([[1, 2], [3, 5]])).tolist() == [[0.5, 1.0], [1.0, 2.0]]


def test_too_few_observations():
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert torch.cov(tensor(X), correction=9)[0, 0].item() == math.inf


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cumulative_integrals(dim):
    places = np.cumsum(RNG.uniform(0.1, 1, size=X.shape[dim]))
    steps = (
        np.diff(X, axis=dim) * 0
        + (np.take(X, range(1, X.shape[dim]), dim) + np.take(X, range(X.shape[dim] - 1), dim)) / 2
    )
    assert np.allclose(torch.cumulative_trapezoid(tensor(X), dim=dim).numpy(), np.cumsum(steps, dim))
    assert np.allclose(torch.cumulative_trapezoid(tensor(X), dx=2.0, dim=dim).numpy(), np.cumsum(2 * steps, dim))
    widths = np.diff(places).reshape((-1, 1) if dim == 0 else (1, -1))
    got = torch.cumulative_trapezoid(tensor(X), tensor(places), dim=dim)
    assert np.allclose(got.numpy(), np.cumsum(widths * steps, dim))
    assert np.allclose(got.select(dim, -1).numpy(), torch.trapezoid(tensor(X), tensor(places), dim=dim).numpy())


@pytest.mark.parametrize("dim", [0, 1])
def test_derivatives(dim):
    places = np.cumsum(RNG.uniform(0.1, 1, size=X.shape[dim]))
    for spacing in (1, 0.5):
        (got,) = torch.gradient(tensor(X), spacing=spacing, dim=dim)
        assert np.allclose(got.numpy(), np.gradient(X, spacing, axis=dim))
    (got,) = torch.gradient(tensor(X), spacing=(tensor(places),), dim=dim)
    assert np.allclose(got.numpy(), np.gradient(X, places, axis=dim))
    assert all(np.allclose(g.numpy(), n) for g, n in zip(torch.gradient(tensor(X)), np.gradient(X)))


@pytest.mark.parametrize("r", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("again", [False, True])
def test_combinations(r, again):
    choose = itertools.combinations_with_replacement if again else itertools.combinations
    got = torch.combinations(torch.tensor([3, 1, 2]), r, again)
    assert got.tolist() == ([list(row) for row in choose([3, 1, 2], r)] if r else [])


@pytest.mark.parametrize("n", [None, 0, 2, 5])
@pytest.mark.parametrize("increasing", [False, True])
def test_powers(n, increasing):
    got = torch.vander(torch.tensor([2, 3, 5]), n, increasing=increasing)
    assert got.tolist() == np.vander([2, 3, 5], n, increasing=increasing).tolist()


@pytest.mark.parametrize("count", [0, 3, 200])
@pytest.mark.parametrize("invert", [False, True])
def test_which_elements_are_among_others(count, invert):
    elements, among = RNG.integers(0, 50, size=(4, 6)), RNG.integers(0, 50, size=count)
    got = torch.isin(tensor(elements), tensor(among), invert=invert)
    assert got.tolist() == np.isin(elements, among, invert=invert).tolist()
    assert torch.isin(tensor(elements).double(), tensor(among), invert=invert).tolist() == got.tolist()
    assert torch.isin(torch.tensor([1, 2]), 2).tolist() == [False, True]
    assert torch.isin(1, torch.tensor([1, 2])).item()


DIFFERENTIABLE = {
    "cov": lambda x: torch.cov(x),
    "weighted cov": lambda x: torch.cov(x, fweights=tensor(FREQUENCIES), aweights=tensor(WEIGHTS)),
    "corrcoef": lambda x: torch.corrcoef(x[:, :4])[0],
    "cumulative_trapezoid": lambda x: torch.cumulative_trapezoid(x, x[0].cumsum(0)),
    "gradient": lambda x: torch.gradient(x, dim=1)[0],
    "combinations": lambda x: torch.combinations(x[0], 3),
    "vander": lambda x: torch.vander(x[0]),
    "pdist": lambda x: torch.pdist(x),
    "renorm": lambda x: x.renorm(2, 0, 1.5),
    "renorm in place": lambda x: x.clone().renorm_(2, 1, 1.5),
    "sum_to_size": lambda x: x.sum_to_size(3, 1),
    "split_with_sizes": lambda x: torch.split_with_sizes(x, [1, 4], 1)[1],
    "narrow_copy": lambda x: torch.narrow_copy(x, 1, 1, 2),
    "constant_pad_nd": lambda x: torch.constant_pad_nd(x, (1, -1), 2.0),
    "adjoint": lambda x: x.adjoint(),
    "angle": torch.angle,
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name):
    assert torch.autograd.gradcheck(DIFFERENTIABLE[name], (tensor(X).requires_grad_(),))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_compiled(name):
    torch._dynamo.reset()
    x, y = tensor(X).clone().requires_grad_(), tensor(X).clone().requires_grad_()
    plain = DIFFERENTIABLE[name](x)
    got = torch.compile(lambda x: DIFFERENTIABLE[name](x))(y)
    assert torch.allclose(plain, got)
    (plain * plain).sum().backward()
    (got * got).sum().backward()
    assert torch.allclose(x.grad, y.grad)


@pytest.mark.parametrize("length", [0, 1, 2, 5, 6])
@pytest.mark.parametrize(
    "name, numpy",
    [
        ("hann", np.hanning),
        ("hamming", np.hamming),
        ("blackman", np.blackman),
        ("bartlett", np.bartlett),
        ("kaiser", lambda n: np.kaiser(n, 12.0)),
    ],
)
def test_windows(length, name, numpy):
    make = getattr(torch, f"{name}_window")
    assert np.allclose(make(length, False, dtype=torch.float64).numpy(), numpy(length))
    whole = numpy(length + 1)[:-1] if length > 1 else np.ones(length)
    assert np.allclose(make(length).numpy(), whole, atol=1e-6)
    assert make(length).dtype is torch.float32 and make(length, requires_grad=True).requires_grad


def test_facts():
    x = torch.ones(2, 3)
    assert torch.is_signed(x) and not torch.is_signed(x.bool()) and not torch.is_signed(x.to(torch.uint8))
    assert torch.is_nonzero(torch.tensor(1.0)) and not torch.tensor([0]).is_nonzero()
    assert torch.is_same_size(x, x + 1) and not x.is_same_size(x.T)
    assert torch.get_device(x) == -1
    assert x.conj() is x and torch.real(x) is x and x.resolve_conj() is x and not torch.is_conj(x)
    assert torch.angle(torch.tensor([-1, 0, 2])).tolist() == pytest.approx([math.pi, 0, 0])
    assert torch.scalar_tensor(2).dtype is torch.float32 and torch.scalar_tensor(2, dtype=torch.int64).item() == 2
    assert x.sum_to_size(3).tolist() == [2, 2, 2] and x.sum_to_size((2, 1)).tolist() == [[3], [3]]
    got = torch.unravel_index(torch.tensor([[3], [5]]), (3, 4))
    assert [g.tolist() for g in got] == [[[0], [1]], [[3], [1]]]


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda: torch.cov(torch.ones(2, 2, 2)), RuntimeError, "two or fewer"),
        (lambda: torch.cov(tensor(X), fweights=tensor(WEIGHTS)), RuntimeError, "integral"),
        (lambda: torch.cov(tensor(X), aweights=tensor(FREQUENCIES)), RuntimeError, "floating"),
        (lambda: torch.cov(tensor(X), aweights=tensor(WEIGHTS[:2])), RuntimeError, "5 weights"),
        (lambda: torch.combinations(torch.ones(2, 2)), RuntimeError, "1D"),
        (lambda: torch.combinations(torch.ones(2), -1), RuntimeError, "non-negative"),
        (lambda: torch.vander(torch.ones(2, 2)), RuntimeError, "one-dimensional"),
        (lambda: torch.cumulative_trapezoid(torch.ones(2), torch.ones(2), dx=1.0), TypeError, "x or dx"),
        (lambda: torch.gradient(torch.ones(1)), RuntimeError, "2 places"),
        (lambda: torch.gradient(torch.ones(3), edge_order=2), NotImplementedError, "edge_order"),
        (lambda: torch.isin(1, 2), TypeError, "Tensor"),
        (lambda: torch.ones(3, 4).sum_to_size(2, 4), RuntimeError, "not expandable"),
        (lambda: torch.ones(3).split_with_sizes([1, 1]), RuntimeError, "sum exactly"),
        (lambda: torch.is_nonzero(torch.ones(2)), RuntimeError, ""),
        (lambda: torch.imag(torch.ones(2)), RuntimeError, "complex"),
        (lambda: torch.unravel_index(torch.ones(2), (2,)), TypeError, "integer"),
        (lambda: torch.hann_window(-1), RuntimeError, "non-negative"),
        (lambda: torch.hann_window(3, dtype=torch.int64), RuntimeError, "floating"),
    ],
)
def test_wrong_arguments(call, error, match):
    with pytest.raises(error, match=match):
        call()

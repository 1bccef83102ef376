"""What distributions are made of, what they refuse, and what all of them have."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import minidynamo as torch
import minidynamo.distributions as D
from distributions.families import CONTINUOUS, DISCRETE, make
from minidynamo.distributions import constraints

EVERY = CONTINUOUS | DISCRETE


def numbers(tensor):
    return np.array(tensor.tolist())


@pytest.mark.parametrize("name", EVERY)
def test_expand_copy_and_pickle(name):
    d, _ = make(name)
    value = d.sample()
    wide = d.expand((2, 3))
    assert type(wide) is type(d) and tuple(wide.batch_shape) == (2, 3) and wide.event_shape == ()
    assert np.allclose(numbers(wide.log_prob(value)), np.broadcast_to(numbers(d.log_prob(value)), (2, 3)))
    for again in (pickle.loads(pickle.dumps(d)), copy.deepcopy(d)):
        assert repr(again) == repr(d)
        assert numbers(again.log_prob(value)).tolist() == numbers(d.log_prob(value)).tolist()
    assert bool(d.support.check(value).all())


@pytest.mark.parametrize("name", [n for n in EVERY if "logits" not in n])
def test_parameters_are_checked(name):
    kind, parameters, *_ = EVERY[name]
    for k, constraint in enumerate(constraints_of(name)):
        bad = {"GreaterThan": -1.0, "GreaterThanEq": -1.0, "Interval": 1.5, "HalfOpenInterval": 1.0}
        wrong = bad.get(type(constraint).__name__.removeprefix("_"), float("nan"))
        changed = [torch.tensor([wrong] * 3 if i == k else p, dtype=torch.float64) for i, p in enumerate(parameters)]
        with pytest.raises(ValueError, match="satisfy|within"):
            kind(*changed)


def constraints_of(name):
    d, _ = make(name)
    left_out = {"logits", "total_count"} if name == "Binomial" else {"logits"}
    return [c for n, c in d.arg_constraints.items() if n not in left_out]


@pytest.mark.parametrize("name", EVERY)
def test_values_are_checked(name):
    d, _ = make(name)
    if not isinstance(d, D.Gamma):  # which takes numbers, too
        with pytest.raises(ValueError, match="must be a Tensor"):
            d.log_prob(1.0)
    with pytest.raises(ValueError, match="broadcast"):
        d.log_prob(d.sample().repeat(2)[:4])
    if not isinstance(d, D.Gumbel):
        with pytest.raises(ValueError, match="within the support"):
            d.log_prob(torch.full((3,), float("nan"), dtype=torch.float64))


def test_checks_can_be_left_out():
    value = torch.tensor(float("nan"))
    assert D.Normal(0.0, 1.0, validate_args=False).log_prob(value).isnan().item()
    D.Normal(0.0, -1.0, validate_args=False)
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
        with pytest.raises(ValueError):
            D.Normal(0.0, -1.0, validate_args=True)
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="True or False"):
        D.Distribution.set_default_validate_args(3)


@pytest.mark.parametrize("kind", [D.Bernoulli, D.Categorical, D.Geometric, D.ContinuousBernoulli, D.OneHotCategorical])
def test_probs_or_logits(kind):
    p = torch.tensor([0.2, 0.8])
    for given in ({}, {"probs": p, "logits": p}):
        with pytest.raises(ValueError, match="not both"):
            kind(**given)
    assert np.allclose(numbers(kind(logits=kind(p).logits).probs), numbers(p), atol=1e-6)
    leaf = p.clone().requires_grad_()
    assert torch.autograd.grad(kind(leaf).logits[0], leaf)[0] is not None
    d = kind(leaf)
    with torch.no_grad():  # read first where gradients are off, it has them all the same
        assert d.logits.requires_grad


def test_numbers_and_dtypes():
    assert D.Normal(0, 1).loc.dtype == torch.float32 and D.Normal(0, 1).batch_shape == ()
    assert D.Normal(torch.tensor(0.0).double(), 1).scale.dtype == torch.float64
    assert D.Normal(torch.tensor(0), 1.0).scale.dtype == torch.int64
    assert D.Normal(torch.zeros(2, 1), torch.ones(3)).batch_shape == (2, 3)
    with pytest.raises(ValueError, match="numbers and tensors"):
        D.Normal("a", 1.0)
    with pytest.raises(RuntimeError):
        D.Normal(torch.zeros(2), torch.ones(3))
    leaf = torch.zeros(3, requires_grad=True)
    assert D.Normal(leaf, 1.0).loc is leaf


def test_texts():
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(D.Categorical(torch.ones(2, 3))) == "Categorical(probs: torch.Size([2, 3]))"
    assert repr(D.Independent(D.Normal(torch.zeros(2), 1.0), 1)) == (
        "Independent(Normal(loc: torch.Size([2]), scale: torch.Size([2])), 1)"
    )


@pytest.mark.parametrize("make, kind, words", [
    (lambda: D.Categorical(torch.tensor(0.5)), ValueError, "at least one-dimensional"),
    (lambda: D.Dirichlet(torch.tensor(0.5)), ValueError, "at least one-dimensional"),
    (lambda: D.MultivariateNormal(torch.zeros(2)), ValueError, "exactly one"),
    (lambda: D.MultivariateNormal(torch.zeros(()), torch.eye(2)), ValueError, "at least one-dimensional"),
    (lambda: D.MultivariateNormal(torch.zeros(2), torch.ones(2)), ValueError, "at least two-dimensional"),
    (lambda: D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(3, 1), torch.ones(2)), ValueError, "2 rows"),
    (lambda: D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(3)), ValueError, "2 elements"),
    (lambda: D.Multinomial(torch.tensor([1, 2]), torch.ones(2)), NotImplementedError, "int"),
    (lambda: D.Geometric(0.0), ValueError, "positive"),
    (lambda: D.Uniform(1.0, 0.0), ValueError, "satisfy"),
    (lambda: D.Binomial(torch.tensor([1, 2]), torch.tensor(0.5)).entropy(), NotImplementedError, "same total_count"),
    (lambda: D.Binomial(torch.tensor([1, 2]), torch.tensor(0.5)).enumerate_support(), NotImplementedError, "same"),
    (lambda: D.Normal(0.0, 1.0).enumerate_support(), NotImplementedError, "Normal"),
    (lambda: D.Poisson(1.0).entropy(), NotImplementedError, "carrier"),
    (lambda: D.Beta(1.0, 1.0).cdf(torch.tensor(0.5)), NotImplementedError, "Beta"),
    (lambda: D.Normal(0.0, 1.0).sample(3), TypeError, None),
    (lambda: D.Distribution().mean, NotImplementedError, "mean"),
])  # fmt: skip
def test_refusals(make, kind, words):
    with pytest.warns() if words == "mean" else np.errstate(), pytest.raises(kind, match=words):
        make()


def test_own_distributions():
    class Scaled(D.Normal):
        def __init__(self, loc, factor):
            super().__init__(loc, 2.0 * factor)

    with pytest.raises(NotImplementedError, match="define expand"):
        Scaled(torch.zeros(2), 1.0).expand((3, 2))

    class Silent(D.Distribution):
        arg_constraints = {}

        def log_prob(self, value):
            if self._validate_args:
                self._validate_sample(value)
            return value

    with pytest.warns(UserWarning, match="no `support`"):
        Silent().log_prob(torch.tensor(1.0))
    with pytest.warns(UserWarning, match="deprecated"):
        assert tuple(D.Normal(0.0, 1.0).sample_n(4).shape) == (4,)


def test_constraints():
    c = constraints
    x = torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0])
    for region, inside in (
        (c.boolean, [0, 1, 0, 1, 0]),
        (c.nonnegative_integer, [0, 1, 0, 1, 1]),
        (c.positive_integer, [0, 0, 0, 1, 1]),
        (c.integer_interval(-1, 1), [1, 1, 0, 1, 0]),
        (c.positive, [0, 0, 1, 1, 1]),
        (c.nonnegative, [0, 1, 1, 1, 1]),
        (c.less_than(0.5), [1, 1, 0, 0, 0]),
        (c.unit_interval, [0, 1, 1, 1, 0]),
        (c.half_open_interval(0, 1), [0, 1, 1, 0, 0]),
        (c.real, [1, 1, 1, 1, 1]),
    ):
        assert region.check(x).tolist() == [bool(i) for i in inside], region
    assert not c.real.check(torch.tensor(float("nan"))).item()
    assert c.simplex.check(torch.tensor([[0.5, 0.5], [0.6, 0.5], [1.5, -0.5]])).tolist() == [True, False, False]
    assert c.one_hot.check(torch.tensor([[0, 1], [1, 1]])).tolist() == [True, False]
    assert c.multinomial(2).check(torch.tensor([[1.0, 1.0], [2.0, 1.0]])).tolist() == [True, False]
    assert c.lower_triangular.check(torch.tensor([[1.0, 0.0], [1.0, -1.0]])).item() is True
    assert c.lower_cholesky.check(torch.tensor([[1.0, 0.0], [1.0, -1.0]])).item() is False
    assert c.symmetric.check(torch.tensor([[1.0, 2.0], [2.0, 0.0]])).item() is True
    assert c.square.check(torch.ones(4, 2, 3)).tolist() == [False] * 4
    assert c.corr_cholesky.check(torch.tensor([[1.0, 0.0], [0.6, 0.8]])).item() is True
    assert c.real_vector.event_dim == 1 and c.independent(c.real_vector, 2).event_dim == 3
    assert c.cat([c.positive, c.real], 0, [1, 2]).check(torch.tensor([1.0, -1.0, -1.0])).all().item()
    assert c.stack([c.positive, c.real], -1).event_dim == 1 and c.stack([c.positive, c.real], 0).event_dim == 0
    assert repr(c.interval(0.0, 1.0)) == "Interval(lower_bound=0.0, upper_bound=1.0)"
    assert repr(c.independent(c.real, 1)) == "IndependentConstraint(Real(), 1)"
    assert c.is_dependent(D.Uniform.support) and not c.is_dependent(c.real)
    assert D.Uniform.support.event_dim == 0 and D.Categorical.support.is_discrete
    with pytest.raises(NotImplementedError, match="depends on parameters"):
        c.dependent.event_dim  # noqa: B018
    assert c.dependent(event_dim=2).event_dim == 2
    with pytest.raises(ValueError, match="without them"):
        c.dependent.check(x)
    with pytest.raises(ValueError, match="at least 1 dim"):
        c.real_vector.check(torch.tensor(1.0))


def test_triangles_as_vectors():
    for diag in (-2, -1, 0, 1):
        matrix = torch.arange(1.0, 17).reshape(4, 4).tril(diag)
        vector = D.utils.tril_matrix_to_vec(matrix, diag)
        assert D.utils.vec_to_tril_matrix(vector, diag).tolist() == matrix.tolist()
    with pytest.raises(ValueError, match="outside"):
        D.utils.tril_matrix_to_vec(torch.eye(3), 5)
    with pytest.raises(ValueError, match="square matrix"):
        D.utils.vec_to_tril_matrix(torch.ones(4), 0)


def test_names_and_modules():
    assert D.normal.Normal is D.Normal and D.kl.kl_divergence is D.kl_divergence
    for name in D.__all__:
        assert getattr(D, name) is not None and name in dir(D)
    code = (
        "import minidynamo as torch, sys\n"
        "assert not [m for m in sys.modules if m.startswith('minidynamo.distributions')]\n"
        "torch.distributions.Normal(0., 1.)\n"
        "from minidynamo.distributions.categorical import Categorical\n"
        "from minidynamo.distributions import *\n"
        "kl_divergence, TanhTransform, LKJCholesky"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""Transforms: inverses, Jacobians against differentiation, shapes, caches, and the registry by constraint."""

import math

import numpy as np
import pytest

import minidynamo as torch
import minidynamo.distributions as D
from minidynamo.distributions import constraints
from minidynamo.distributions import transforms as T

X = [0.3, -1.2, 2.0]


def reals(values=X):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


SCALE = torch.tensor([2.0, -0.5, 1.5], dtype=torch.float64)
NORMAL = D.Normal(torch.tensor(0.2, dtype=torch.float64), 1.5)
# Of single numbers: (transform, x)
ELEMENTWISE = [
    (T.ExpTransform(), X),
    (T.SigmoidTransform(), X),
    (T.TanhTransform(), X),
    (T.SoftplusTransform(), X),
    (T.PowerTransform(torch.tensor(2.5, dtype=torch.float64)), [0.3, 1.2, 2.0]),
    (T.PowerTransform(SCALE), [0.3, 1.2, 2.0]),
    (T.AffineTransform(1.0, -2.0), X),
    (T.AffineTransform(SCALE, SCALE), X),
    (T.CumulativeDistributionTransform(NORMAL), X),
    (T.ComposeTransform([T.AffineTransform(0.5, 2.0), T.TanhTransform(), T.AffineTransform(1.0, 3.0)]), X),
    (T.StackTransform([T.ExpTransform(), T.TanhTransform(), T.AffineTransform(1.0, 2.0)]), X),
    (T.CatTransform([T.ExpTransform(), T.TanhTransform()], lengths=[2, 1]), X),
]
# Of vectors, bijective: the determinant is of the coordinates that are free.
VECTORS = [
    (T.StickBreakingTransform(), lambda y: y[..., :-1]),
    (T.CorrCholeskyTransform(), lambda y: D.utils.tril_matrix_to_vec(y, -1)),
    (T.IndependentTransform(T.ExpTransform(), 1), lambda y: y),
    (T.AffineTransform(1.0, SCALE, event_dim=1), lambda y: y),
    (T.AffineTransform(1.0, torch.tensor(2.0, dtype=torch.float64), event_dim=1), lambda y: y),
    (T.ComposeTransform([T.StickBreakingTransform(), T.IndependentTransform(T.ExpTransform(), 1)]), lambda y: y[:-1]),
    (T.ReshapeTransform((3,), (3, 1)), lambda y: y.reshape(-1)),
]  # fmt: skip


def numbers(tensor):
    return np.array(tensor.tolist())


@pytest.mark.parametrize("transform, x", ELEMENTWISE, ids=lambda v: type(v).__name__)
def test_elementwise(transform, x):
    x = reals(x)
    y = transform(x)
    assert np.allclose(numbers(transform.inv(y)), numbers(x))
    (slope,) = torch.autograd.grad(y.sum(), x)
    log = transform.log_abs_det_jacobian(x, y)
    assert np.allclose(numbers(log), np.log(np.abs(numbers(slope))))
    assert np.allclose(numbers(transform.inv.log_abs_det_jacobian(y, x)), -numbers(log))
    assert transform.bijective and transform.inv.bijective and transform.inv.inv == transform
    assert bool(transform.domain.check(x).all()) and bool(transform.codomain.check(y).all())
    if not isinstance(transform, (T.StackTransform, T.CatTransform)):
        sign = transform.sign
        assert np.array_equal(
            np.sign(numbers(slope)), np.broadcast_to(numbers(sign) if torch.is_tensor(sign) else sign, 3)
        )


@pytest.mark.parametrize("transform, free", VECTORS, ids=lambda v: type(v).__name__)
def test_vectors(transform, free):
    x = reals()
    y = transform(x)
    assert np.allclose(numbers(transform.inv(y)), X)
    rows = [torch.autograd.grad(part, x, retain_graph=True)[0].tolist() for part in free(y).unbind(0)]
    log = transform.log_abs_det_jacobian(x, y)
    exact = math.log(abs(np.linalg.det(np.array(rows))))
    if isinstance(transform, T.ComposeTransform):  # the second transform's coordinates are not all free
        first = transform.parts[0]
        exact = (first.log_abs_det_jacobian(x, first(x)) + first(x).sum(-1)).item()
    assert log.shape == () and log.item() == pytest.approx(exact)
    assert tuple(transform.forward_shape(x.shape)) == tuple(y.shape)
    assert tuple(transform.inverse_shape(y.shape)) == tuple(x.shape)
    assert bool(transform.codomain.check(y).all())
    many = transform(torch.stack([x, x + 1]))
    assert many.shape[0] == 2 and np.allclose(numbers(many[0]), numbers(y))


def test_others_go_back_to_what_has_the_same_image():
    matrix = torch.tensor([[1.0, 2.0], [0.4, -0.5]], dtype=torch.float64)
    for transform, x in (
        (T.AbsTransform(), reals()),
        (T.SoftmaxTransform(), reals()),
        (T.LowerCholeskyTransform(), matrix),
        (T.PositiveDefiniteTransform(), matrix),
    ):
        y = transform(x)
        assert np.allclose(numbers(transform(transform.inv(y))), numbers(y))
        assert bool(transform.codomain.check(y).all()) and not transform.bijective
        with pytest.raises(NotImplementedError):
            transform.log_abs_det_jacobian(x, y)
        with pytest.raises(NotImplementedError):
            transform.sign  # noqa: B018


def test_tanh_is_stable_where_it_is_flat():
    x = reals([-800.0, -40.0, 40.0, 800.0])
    log = T.TanhTransform().log_abs_det_jacobian(x, T.TanhTransform()(x))
    assert np.allclose(numbers(log), 2 * math.log(2) - 2 * np.abs(numbers(x)))
    (slope,) = torch.autograd.grad(log.sum(), x)
    assert slope.tolist() == [2, 2, -2, -2]


def test_cached_transforms_give_the_very_values():
    transform = T.TanhTransform(cache_size=1)
    x = reals([30.0])
    y = transform(x)
    assert transform.inv(y) is x and transform(x) is y
    assert T.TanhTransform().inv(y).item() == math.inf
    assert transform.inv(y.clone()).item() == math.inf  # another tensor
    assert T.TanhTransform().with_cache()._cache_size == 1 and transform.with_cache(0)._cache_size == 0
    for each in (T.ComposeTransform([T.ExpTransform(), T.AffineTransform(0.0, 2.0)]), T.AffineTransform(1.0, 2.0),
                 T.PowerTransform(2.0), T.IndependentTransform(T.ExpTransform(), 1)):  # fmt: skip
        kept = each.with_cache()
        value = torch.ones(2)
        assert kept.inv(kept(value)) is value
    d = D.TransformedDistribution(D.Normal(torch.tensor(30.0), 1.0), [T.TanhTransform(cache_size=1)])
    assert math.isfinite(d.log_prob(d.sample()).item())


def test_equality_and_text():
    assert T.ExpTransform() == T.ExpTransform() != T.TanhTransform()
    assert T.AffineTransform(0, 1) == T.AffineTransform(torch.tensor(0.0), 1.0) != T.AffineTransform(0, 2)
    assert T.PowerTransform(2.0) == T.PowerTransform(2) != T.PowerTransform(3)
    assert T.ExpTransform().inv == T.ExpTransform().inv != T.ExpTransform()
    whole = T.ComposeTransform([T.ExpTransform(), T.AffineTransform(0, 1)])
    assert whole.inv.inv is whole and whole == T.ComposeTransform([T.ExpTransform(), T.AffineTransform(0, 1)])
    assert repr(T.ExpTransform().inv) == "_InverseTransform(ExpTransform())"
    assert repr(whole) == "ComposeTransform(\n    ExpTransform(),\n    AffineTransform()\n)"
    with pytest.raises(TypeError):
        hash(T.ExpTransform())


def test_wrong_arguments():
    with pytest.raises(ValueError, match="cache_size"):
        T.ExpTransform(cache_size=2)
    with pytest.raises(ValueError, match="different numbers of elements"):
        T.ReshapeTransform((2,), (3,))
    with pytest.raises(ValueError, match="last dimensions"):
        T.ReshapeTransform((2,), (2, 1)).forward_shape((4, 3))
    with pytest.raises(ValueError, match="needs at least 1"):
        T.StickBreakingTransform().forward_shape(())
    with pytest.raises(ValueError, match="below the diagonal"):
        T.CorrCholeskyTransform().forward_shape((5,))
    with pytest.raises(ValueError, match="square"):
        T.CorrCholeskyTransform().inverse_shape((4, 3))
    with pytest.raises(ValueError, match="no single event_dim"):
        T.CorrCholeskyTransform().event_dim  # noqa: B018
    with pytest.raises(AssertionError, match="sequence of transforms"):
        T.StackTransform([T.ExpTransform(), 3])
    with pytest.raises(AssertionError, match="size 2"):
        T.StackTransform([T.ExpTransform(), T.ExpTransform()])(torch.ones(3))
    with pytest.raises(AssertionError, match="as many lengths"):
        T.CatTransform([T.ExpTransform()], lengths=[1, 2])
    with pytest.raises(RuntimeError, match="broadcast"):
        T.PowerTransform(torch.ones(3)).forward_shape((2,))
    with pytest.raises(ValueError, match="at least 1 dim"):
        T.IndependentTransform(T.ExpTransform(), 1)(torch.tensor(1.0))


REGIONS = [
    constraints.real,
    constraints.positive,
    constraints.nonnegative,
    constraints.greater_than(3.0),
    constraints.less_than(-1.0),
    constraints.unit_interval,
    constraints.interval(-2.0, 5.0),
    constraints.half_open_interval(1.0, 1.5),
    constraints.interval(torch.tensor([0.0, 1.0, 2.0]).double(), torch.tensor([1.0, 3.0, 2.5]).double()),
    constraints.simplex,
    constraints.corr_cholesky,
    constraints.independent(constraints.positive, 1),
    constraints.cat([constraints.positive, constraints.unit_interval], 0, [1, 2]),
    constraints.stack([constraints.positive, constraints.unit_interval, constraints.real], 0),
]


@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_registered_transforms_reach_the_region(region):
    for registry in (D.biject_to, D.transform_to):
        transform = registry(region)
        y = transform(reals())
        assert bool(region.check(y).all())
        back = transform(transform.inv(y))
        assert np.allclose(numbers(back), numbers(y))
    assert D.biject_to(region).bijective
    D.biject_to(region).log_abs_det_jacobian(reals(), D.biject_to(region)(reals()))


def test_matrices_and_what_is_not_registered():
    matrix = torch.tensor([[1.0, 2.0], [0.4, -0.5]], dtype=torch.float64)
    for region in (constraints.lower_cholesky, constraints.positive_definite, constraints.positive_semidefinite):
        assert bool(region.check(D.transform_to(region)(matrix)))
    for region in (constraints.positive_definite, constraints.integer_interval(0, 3), constraints.dependent, 3):
        with pytest.raises(NotImplementedError, match="no transform is registered"):
            D.biject_to(region)


def test_registration():
    class Even(constraints.Constraint):
        pass

    registry = D.constraint_registry.ConstraintRegistry()

    @registry.register(Even)
    def to_even(constraint):
        return T.AffineTransform(0.0, 2.0)

    assert registry(Even()) == T.AffineTransform(0.0, 2.0)
    registry.register(Even(), lambda constraint: T.ExpTransform())
    assert registry(Even()) == T.ExpTransform()
    with pytest.raises(TypeError, match="subclass of Constraint"):
        registry.register(3, to_even)


def test_own_transforms():
    class Cube(T.Transform):
        domain = codomain = constraints.real
        bijective = True
        sign = +1

        def _call(self, x):
            return x**3

        def _inverse(self, y):
            return y.sign() * y.abs() ** (1 / 3)

        def log_abs_det_jacobian(self, x, y):
            return (3 * x.square()).log()

    d = D.TransformedDistribution(NORMAL, [Cube()])
    y = torch.tensor([0.2, -5.0], dtype=torch.float64)
    assert np.allclose(numbers(d.cdf(y)), numbers(NORMAL.cdf(Cube().inv(y))))
    assert np.allclose(numbers(d.icdf(d.cdf(y))), numbers(y))
    exact = NORMAL.log_prob(Cube().inv(y)) - (3 * Cube().inv(y).square()).log()
    assert np.allclose(numbers(d.log_prob(y)), numbers(exact))
    assert Cube().with_cache()._cache_size == 1
    with pytest.raises(NotImplementedError, match="does not define sign"):
        T.Transform().sign  # noqa: B018

"""Jacobians, Hessians and their products with vectors: against the formulas, and what is refused."""

import pytest

import minidynamo as torch
from minidynamo.autograd import functional as F

X = torch.tensor([1.0, 2.0, 3.0])
Y = torch.tensor([[0.5, 1.0, 2.0]])


def cubes(x):
    return (x**3).sum()


def both(x, y):
    return x * y, (x**3).sum()


def bilinear(x, y):
    return (x * x * y).sum()


def diagonal(*values):
    return torch.diag(torch.tensor(values))


def equal(got, want):
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for g, w in zip(got, want):
            equal(g, w)
    else:
        want = want if isinstance(want, torch.Tensor) else torch.tensor(want)
        assert got.shape == want.shape and torch.allclose(got, want) and not got.requires_grad


OPTIONS = [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_jacobian_has_the_structure_of_outputs_and_inputs(options):
    equal(F.jacobian(lambda x: x * x, X, **options), diagonal(2.0, 4.0, 6.0))
    equal(F.jacobian(cubes, X, **options), 3 * X * X)
    equal(F.jacobian(lambda x: (x,), (X,), **options), ((torch.eye(3),),))
    equal(
        F.jacobian(both, (X, Y), **options),
        (
            (torch.diag(Y[0]).reshape(1, 3, 3), torch.diag(X).reshape(1, 3, 1, 3)),
            (3 * X * X, torch.zeros(1, 3)),
        ),
    )
    equal(F.jacobian(lambda x: torch.ones(2), X, **options), torch.zeros(2, 3))
    equal(F.jacobian(lambda x: x[:0], X, **options), torch.zeros(0, 3))


def test_hessian():
    equal(F.hessian(cubes, X), diagonal(6.0, 12.0, 18.0))
    xx, xy = torch.diag(2 * Y[0]), torch.diag(2 * X)
    wanted = ((xx, xy.reshape(3, 1, 3)), (xy.reshape(1, 3, 3), torch.zeros(1, 3, 1, 3)))
    equal(F.hessian(bilinear, (X, Y)), wanted)
    equal(F.hessian(bilinear, (X, Y), vectorize=True, outer_jacobian_strategy="forward-mode"), wanted)
    equal(F.hessian(lambda x: x.sum(), X), torch.zeros(3, 3))


def test_products_are_those_with_the_matrices():
    u, v, w = torch.tensor([[0.5, -1.0, 2.0]]), torch.tensor(3.0), torch.tensor([1.0, -2.0, 0.5])
    outputs = both(X, Y)
    equal(F.vjp(both, (X, Y), (u, v)), (outputs, ((u * Y)[0] + 3 * X * X * v, u * X)))
    equal(F.jvp(both, (X, Y), (w, u)), (outputs, (w * Y + X * u, (3 * X * X * w).sum())))
    products = ((2 * Y * w + 2 * X * u)[0], (2 * X * w).reshape(1, 3))
    for product in (F.hvp, F.vhp):
        equal(product(bilinear, (X, Y), (w, u)), (bilinear(X, Y), products))
        equal(product(cubes, X, w), (cubes(X), 6 * X * w))
    equal(F.vjp(cubes, X), (cubes(X), 3 * X * X))
    equal(F.jvp(lambda x: x * x, torch.tensor(3.0)), (torch.tensor(9.0), torch.tensor(6.0)))


def test_results_are_differentiable_on_demand():
    x = X.clone().requires_grad_()
    ones = torch.ones(3)
    for result, wanted in [
        (F.jacobian(lambda x: x * x, x, create_graph=True), [2.0] * 3),
        (F.hessian(cubes, x, create_graph=True), [6.0] * 3),
        (F.vjp(cubes, x, create_graph=True)[1], [6.0, 12.0, 18.0]),
        (F.jvp(cubes, x, ones, create_graph=True)[1], [6.0, 12.0, 18.0]),
        (F.hvp(cubes, x, ones, create_graph=True)[1], [6.0] * 3),
        (F.vhp(cubes, x, ones, create_graph=True)[1], [6.0] * 3),
    ]:
        assert torch.autograd.grad(result.sum(), x)[0].tolist() == pytest.approx(wanted)
    assert x.grad is None and not F.jacobian(cubes, x).requires_grad
    with torch.no_grad():
        equal(F.jacobian(cubes, X), 3 * X * X)


@pytest.mark.parametrize("product", [F.vjp, F.jvp, F.hvp, F.vhp])
def test_strict_refuses_what_is_independent(product):
    one = torch.tensor(1.0)
    v = one if product is F.vjp else torch.ones(3)
    with pytest.raises(RuntimeError, match="does not require gradients"):
        product(lambda x: torch.ones(()), X, v, strict=True)
    with pytest.raises(RuntimeError, match="independent of input 1"):
        product(
            lambda x, y: cubes(x), (X, Y), one if product is F.vjp else (torch.ones(3), torch.ones(1, 3)), strict=True
        )
    with pytest.raises(RuntimeError, match="independent"):
        product(lambda x: x.sum(), X, v, strict=True, create_graph=True)


def test_strict_jacobian_and_hessian():
    with pytest.raises(RuntimeError, match="independent of input 1"):
        F.jacobian(lambda x, y: x * 2, (X, Y), strict=True)
    with pytest.raises(RuntimeError, match="independent of input 0"):
        F.jacobian(lambda x: x * 2, X, strict=True, create_graph=True)
    with pytest.raises(RuntimeError, match="independent of the input"):
        F.hessian(lambda x: x.sum(), X, strict=True)
    with pytest.raises(RuntimeError, match="strict=True and vectorize=True"):
        F.jacobian(cubes, X, strict=True, vectorize=True)


def test_bad_arguments():
    with pytest.raises(TypeError, match="Tensor or a tuple of Tensors"):
        F.jacobian(cubes, [X])
    with pytest.raises(TypeError, match="index 1"):
        F.vjp(cubes, (X, 3))
    with pytest.raises(TypeError, match="outputs"):
        F.jacobian(lambda x: 3.0, X)
    with pytest.raises(RuntimeError, match="needs v"):
        F.jvp(cubes, X)
    with pytest.raises(RuntimeError, match="invalid size"):
        F.hvp(cubes, X, torch.ones(4))
    with pytest.raises(RuntimeError, match="2 tensors"):
        F.vhp(cubes, X, (X, X))
    with pytest.raises(RuntimeError, match="single Tensor"):
        F.hessian(lambda x: (cubes(x),), X)
    with pytest.raises(RuntimeError, match="single element"):
        F.vhp(lambda x: x * x, X, X)
    with pytest.raises(AssertionError, match="strategy"):
        F.jacobian(cubes, X, strategy="sideways")
    with pytest.raises(NotImplementedError, match="vectorize=True"):
        F.jacobian(cubes, X, strategy="forward-mode")
    with pytest.raises(NotImplementedError, match="create_graph"):
        F.jacobian(cubes, X, create_graph=True, vectorize=True, strategy="forward-mode")


def test_of_a_compiled_function():
    compiled = torch.compile(lambda x: torch.tanh(x * x))
    equal(F.jacobian(compiled, X), torch.diag(2 * X * (1 - torch.tanh(X * X) ** 2)))
    equal(F.hessian(torch.compile(cubes), X), diagonal(6.0, 12.0, 18.0))

"""autograd.Function, custom operators, cond and forward_ad inside function transforms, plain and compiled."""

import pytest

import minidynamo as torch
from minidynamo.autograd import forward_ad
from minidynamo.func import grad, hessian, jacfwd, jvp, vjp, vmap

X = torch.arange(12.0).reshape(3, 4) / 5 - 1
V = X[1]


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g

    @staticmethod
    def jvp(ctx, t):
        return 3 * ctx.saved_tensors[0] ** 2 * t


class Product(torch.autograd.Function):
    """Its jvp is ten times too large, so that one sees who is called."""

    @staticmethod
    def forward(x, y):
        return x * y, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x + h

    @staticmethod
    def jvp(ctx, tx, ty):
        x, y = ctx.saved_tensors
        return 10 * (tx * y + x * ty), 10 * (tx + ty)

    @staticmethod
    def vmap(info, in_dims, x, y):
        x, y = [v if d is None else v.movedim(d, 0) for v, d in zip((x, y), in_dims)]
        return Product.apply(x, y), (0, 0)


def cubes(x):
    return Cube.apply(x).sum()


def chosen(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))


def along(f, x, t):
    with forward_ad.dual_level():
        return tuple(forward_ad.unpack_dual(f(forward_ad.make_dual(x, t))))


CASES = {
    "vmap": (lambda: vmap(Cube.apply)(X), lambda: X**3),
    "grad": (lambda: grad(cubes)(V), lambda: 3 * V**2),
    "vmap of grad": (lambda: vmap(grad(cubes))(X), lambda: 3 * X**2),
    "jvp": (lambda: jvp(Cube.apply, (V,), (V,))[1], lambda: 3 * V**3),
    "jacfwd": (lambda: jacfwd(Cube.apply)(V), lambda: (3 * V**2).diag()),
    "hessian": (lambda: hessian(cubes)(V), lambda: (6 * V).diag()),
    "jvp is called": (lambda: jvp(Product.apply, (V, V), (V, V))[1][0], lambda: 20 * V**2),
    "backward is called": (lambda: vjp(Product.apply, V, V)[1]((V, V))[0], lambda: V**2 + V),
    "own rule": (lambda: vmap(Product.apply, in_dims=(0, None))(X, V)[0], lambda: X * V),
    "jvp of vmap": (lambda: jvp(vmap(lambda x: Product.apply(x, V)[0]), (X,), (X,))[1], lambda: 10 * X * V),
    "cond for each example": (lambda: vmap(chosen)(X), lambda: torch.stack([chosen(x) for x in X])),
    "its gradient": (
        lambda: vmap(grad(lambda x: chosen(x).sum()))(X),
        lambda: torch.stack([x.cos() if x.sum() > 0 else -x.sin() for x in X]),
    ),
    "unused operand": (
        lambda: grad(lambda x, y: torch.cond(x.sum() > 0, torch.mul, torch.add, (x, x)).sum() + 0 * x[0], argnums=1)(
            V, V
        ),
        lambda: torch.zeros(4),
    ),
    "dual": (lambda: along(lambda x: (x * x).sum(), V, V)[1], lambda: 2 * V @ V),
    "dual, by jvp": (lambda: along(lambda x: Product.apply(x, V)[0], V, V)[1], lambda: 10 * V * V),
    "dual, value": (lambda: along(torch.sin, V, V)[0], lambda: V.sin()),
    "dual of grad": (lambda: along(grad(lambda x: (x**3).sum()), V, V)[1], lambda: 6 * V * V),
    "grad of dual": (lambda: grad(lambda x: along(torch.sin, x, V)[1].sum())(V), lambda: -V.sin() * V),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    call, wanted = CASES[name]
    assert torch.allclose(call(), wanted())
    for backend in ("eager", "inductor"):
        torch._dynamo.reset()
        assert torch.allclose(torch.compile(call, fullgraph=True, backend=backend)(), wanted())


def test_a_loop_that_differs_by_example_is_refused():
    def doubled(x):
        return torch._higher_order_ops.while_loop(lambda a: a.sum() < 9, lambda a: (a * 2 + 1,), (x,))[0]

    for f in (vmap(doubled), torch.compile(vmap(doubled))):
        with pytest.raises(Exception, match=r"vmap|example"):
            f(X)


def test_levels_of_forward_ad():
    assert forward_ad.unpack_dual(V) == (V, None)
    with pytest.raises(RuntimeError, match="no level"):
        forward_ad.make_dual(V, V)
    with pytest.raises(RuntimeError, match="not under way"):
        forward_ad.exit_dual_level()
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match="nested"):
            forward_ad.enter_dual_level()
        with pytest.raises(RuntimeError, match="sizes"):
            forward_ad.make_dual(V, X)
        with pytest.raises(ValueError, match="int64"):
            forward_ad.make_dual(V.long(), V.long())
        dual = forward_ad.make_dual(V, V)
        with pytest.raises(RuntimeError, match="already"):
            forward_ad.make_dual(dual, V)
        assert forward_ad.unpack_dual(X).tangent is None and forward_ad.unpack_dual(dual.detach()).tangent is None
    assert forward_ad.unpack_dual(dual).tangent is None


# --- custom operators -------------------------------------------------------------------------------------------------


@torch.library.custom_op("transforms::halve", mutates_args=())
def halve(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    assert x.dim() == 1
    return x * (scale / 2)


halve.register_fake(lambda x, scale=1.0: torch.empty_like(x))
halve.register_autograd(lambda ctx, g: (g / 2, None))


@torch.library.custom_op("transforms::both", mutates_args=())
def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x + y, x - y


both.register_fake(lambda x, y: (torch.empty_like(x), torch.empty_like(x)))
seen = []


@torch.library.register_vmap("transforms::both")
def both_of_examples(info, in_dims, x, y):
    seen.append((info.batch_size, info.randomness, in_dims))
    return both(x, y.expand_as(x)), (0, 0)


def test_operators_one_example_after_another():
    for f in (vmap(halve), torch.compile(vmap(halve), fullgraph=True)):
        assert torch.equal(f(X), X / 2)
    assert torch.equal(vmap(lambda x: halve(x, 3.0), in_dims=1)(X), X.T * 1.5)
    assert torch.equal(vmap(grad(lambda x: halve(x).sum()))(X), torch.full_like(X, 0.5))


def test_operators_with_a_rule():
    seen.clear()
    a, b = vmap(both, in_dims=(0, None))(X, V)
    assert torch.equal(a, X + V) and torch.equal(b, X - V)
    assert seen == [(3, "error", (0, None))]

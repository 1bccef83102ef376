"""grad, vjp, jvp, linearize, Jacobians and Hessians of functions: closed forms, nesting, what they refuse."""

import pytest

import minidynamo as torch
from minidynamo.func import (
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)

X = torch.tensor([0.5, -1.0, 2.0])
ONES = torch.ones(3)


def close(found, wanted):
    torch.testing.assert_close(found, wanted)


def cubes(x):
    return (x**3).sum()


# --- Values


def test_grad_and_value():
    close(grad(cubes)(X), 3 * X**2)
    g, y = grad_and_value(cubes)(X)
    close(g, 3 * X**2)
    close(y, cubes(X))
    assert not g.requires_grad and not y.requires_grad


def test_which_arguments():
    def f(a, b, *, scale=1.0):
        return (a * b["x"]).sum() * scale

    a, b = X, {"x": ONES * 2}
    close(grad(f)(a, b), ONES * 2)
    close(grad(f, argnums=-1)(a, b, scale=3.0)["x"], X * 3)
    of_a, of_b = grad(f, argnums=(0, 1))(a, b)
    close(of_a, ONES * 2)
    close(of_b["x"], X)
    close(grad(lambda a, b: a.sum(), argnums=1)(X, X), torch.zeros(3))
    close(grad(lambda a: torch.tensor(1.0))(X), torch.zeros(3))


def test_further_results():
    g, aux = grad(lambda x: (cubes(x), {"twice": x * 2}), has_aux=True)(X)
    close(g, 3 * X**2)
    close(aux["twice"], X * 2)
    assert not aux["twice"].requires_grad
    g, (y, aux) = grad_and_value(lambda x: (cubes(x), x), has_aux=True)(X)
    close(aux, X)
    assert len(vjp(lambda x: (x, x), X, has_aux=True)) == 3
    assert len(jvp(lambda x: (x, x), (X,), (X,), has_aux=True)) == 3
    for jacobian in (jacrev, jacfwd):
        found, aux = jacobian(lambda x: (x * x, x), has_aux=True)(X)
        close(found, torch.diag(2 * X))
        close(aux, X)


def test_products():
    def f(x, y):
        return {"outer": torch.outer(x, y), "sum": (x.sum(), y.tanh())}

    out, back = vjp(f, X, ONES)
    of_x, of_y = back({"outer": torch.ones(3, 3), "sum": (torch.tensor(2.0), ONES)})
    close(of_x, ONES * 3 + 2)
    close(of_y, X.sum() + (1 - ONES.tanh() ** 2))
    assert [t.shape for t in back(out)] == [(3,), (3,)]  # once more
    value, along = jvp(f, (X, ONES), (ONES, X))
    close(value["outer"], torch.outer(X, ONES))
    close(along["outer"], torch.outer(ONES, ONES) + torch.outer(X, X))
    close(along["sum"][0], torch.tensor(3.0))
    value, line = linearize(lambda x: x.sin(), X)
    close(value, X.sin())
    close(line(ONES * 2), 2 * X.cos())
    close(line(X), X * X.cos())
    close(jvp(lambda x: torch.ones(2), (X,), (X,))[1], torch.zeros(2))


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians(jacobian):
    close(jacobian(torch.sin)(X), torch.diag(X.cos()))
    found = jacobian(lambda a, b: (a * b, {"s": a.sum()}), argnums=(0, 1))(X, ONES)
    close(found[0][0], torch.eye(3))
    close(found[0][1], torch.diag(X))
    close(found[1]["s"][0], ONES)
    close(found[1]["s"][1], torch.zeros(3))
    close(jacobian(lambda d: d["x"] * 2)({"x": X})["x"], torch.eye(3) * 2)
    batch = torch.rand(4, 3)
    close(vmap(jacobian(torch.sin))(batch), torch.diag_embed(batch.cos()))


def test_rows_in_chunks():
    close(jacrev(lambda x: torch.outer(x, x), chunk_size=2)(X), jacrev(lambda x: torch.outer(x, x))(X))


@pytest.mark.parametrize("first", [jacrev, jacfwd])
@pytest.mark.parametrize("second", [jacrev, jacfwd])
def test_second_derivatives(first, second):
    close(second(first(cubes))(X), torch.diag(6 * X))
    close(hessian(cubes)(X), torch.diag(6 * X))
    batch = torch.rand(4, 3)
    close(vmap(second(first(cubes)))(batch), torch.diag_embed(6 * batch))


def test_nesting_of_any_depth():
    g = grad
    close(vmap(g(g(g(g(torch.sin)))))(X), X.sin())
    close(g(lambda x: g(lambda y: (x * y).sum())(x).sum())(X), ONES)  # x is a constant of the inner one
    close(jvp(lambda x: jvp(lambda y: y**3, (x,), (ONES,))[1], (X,), (ONES,))[1], 6 * X)
    close(grad(lambda x: jvp(lambda y: y**3, (x,), (ONES,))[1].sum())(X), 6 * X)
    close(jvp(grad(cubes), (X,), (ONES,))[1], 6 * X)


def test_a_step_of_learning_is_differentiable():
    x, y, w = torch.rand(4, 3), torch.rand(4, 3), torch.rand(3)

    def loss(w, x, y):
        return ((x * w - y) ** 2).mean()

    def after_step(w, x, y):
        return loss(w - 0.1 * grad(loss)(w, x, y), x, y)

    found = grad(lambda w: vmap(after_step, in_dims=(None, 0, 0))(w, x, y).mean())(w)
    own = w.clone().requires_grad_()
    total = 0
    for k in range(4):
        (g,) = torch.autograd.grad(loss(own, x[k], y[k]), own, create_graph=True)
        total = total + loss(own - 0.1 * g, x[k], y[k]) / 4
    close(found, torch.autograd.grad(total, own)[0])


# --- Beside autograd


def test_gradients_go_on_outside():
    x, p = X.clone().requires_grad_(), (X + 1).requires_grad_()
    g = grad(lambda a: (a**3 * p).sum())(x)
    g.sum().backward()
    close(x.grad, 6 * X * (X + 1))
    close(p.grad, 3 * X**2)
    only_captured = grad(lambda a: (a * a * p).sum())(X)
    close(torch.autograd.grad(only_captured.sum(), p)[0], 2 * X)
    second = hessian(cubes)(x)
    close(torch.autograd.grad(second.sum(), x)[0], 6 * ONES)


def test_without_gradients():
    x = X.clone().requires_grad_()

    def f(a):
        with torch.no_grad():
            constant = a**2
        return (a - constant).sum()

    close(grad(f)(x), ONES)
    with torch.no_grad():
        found = grad(cubes)(x)
        assert not torch.is_grad_enabled()
    close(found, 3 * X**2)
    assert not found.requires_grad


def test_batches_of_gradients():
    x = X.clone().requires_grad_()
    y = x.sin() * x.sum()
    (rows,) = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True, create_graph=True)
    close(rows, jacrev(lambda x: x.sin() * x.sum())(X))
    assert rows.requires_grad
    api = torch.autograd.functional
    for strategy in ("reverse-mode", "forward-mode"):
        close(api.jacobian(torch.sin, X, vectorize=True, strategy=strategy), torch.diag(X.cos()))


def test_inner_autograd():
    def f(x):
        return torch.autograd.grad(cubes(x), x, create_graph=True)[0].sum()

    close(grad(f)(X), 6 * X)
    batch = torch.rand(2, 3)
    close(vmap(grad(f))(batch), 6 * batch)


def test_writes_in_place():
    def f(x):
        y = torch.zeros(3)
        y += x
        y[0] = 7
        return (y * y).sum()

    close(grad(f)(X), torch.tensor([0.0, -2.0, 4.0]))
    captured = torch.zeros(3)

    def write(x):
        captured.add_(1)
        return x.sum()

    with pytest.raises(RuntimeError, match="captured"):
        grad(write)(X)

    def write_part(x):
        captured[0] = x[0]
        return x.sum()

    with pytest.raises(RuntimeError, match="captured"):
        vmap(grad(write_part))(torch.rand(2, 3))
    with pytest.raises(RuntimeError, match="leaf"):
        grad(lambda x: x.add_(1).sum())(X)
    assert captured.tolist() == [0, 0, 0]


def test_compiled_functions_run_as_plain_ones():
    f = torch.compile(lambda x: x.sin().sum())
    f(X)
    close(grad(f)(X), X.cos())
    close(vmap(f)(torch.stack([X, X])), torch.stack([X.sin().sum()] * 2))
    whole = torch.compile(lambda x: x.sin().sum(), fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="Unsupported functorch tracing attempt"):
        vmap(whole)(torch.stack([X, X]))
    close(torch.compile(lambda x: x.sin().sum(), fullgraph=True, backend="eager")(X), X.sin().sum())
    close(vmap(torch.compile(torch.sin, fullgraph=True, backend="eager"))(X), X.sin())
    y = f(X.clone().requires_grad_())
    assert y.requires_grad


class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, factor):
        return x * x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, g):
        x, _ = ctx.saved_tensors
        return g * 3 * x * ctx.factor, None  # not the derivative


def test_functions_with_a_backward():
    batch = torch.rand(2, 3)
    close(grad(lambda x: Square.apply(x, 2.0).sum())(X), 6 * X)
    close(vmap(lambda x: Square.apply(x, 2.0))(batch), 2 * batch**2)
    close(vmap(grad(lambda x: Square.apply(x, 2.0).sum()))(batch), 6 * batch)
    close(grad(lambda x: vmap(lambda v: Square.apply(v, 2.0))(x).sum())(batch), 6 * batch)
    close(vmap(grad(lambda x: grad(lambda y: Square.apply(y, 1.0).sum())(x).sum()))(batch), torch.full((2, 3), 3.0))

    class Own(Square):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info, in_dims, x, factor):
            assert info.batch_size == 2 and info.randomness == "error" and in_dims == (0, None)
            return Own.apply(x, factor) + 1, 0

    close(vmap(lambda x: Own.apply(x, 1.0))(batch), batch**2 + 1)
    close(vmap(grad(lambda x: Own.apply(x, 1.0).sum()))(batch), 3 * batch)

    class Neither(Square):
        generate_vmap_rule = False

    with pytest.raises(RuntimeError, match="how to batch"):
        vmap(lambda x: Neither.apply(x, 1.0))(batch)

    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(RuntimeError, match="setup_context"):
        grad(lambda x: Old.apply(x).sum())(X)


# --- What is refused


@pytest.mark.parametrize(
    "error, text, call",
    [
        (RuntimeError, "one number", lambda: grad(lambda x: x)(X)),
        (RuntimeError, "give a tensor", lambda: grad(lambda x: 3)(X)),
        (RuntimeError, "floating", lambda: grad(lambda x: x.sum())(torch.arange(3))),
        (ValueError, "with respect to tensors", lambda: grad(lambda x: torch.tensor(1.0))(3)),
        (RuntimeError, "has_aux", lambda: grad(cubes, has_aux=True)(X)),
        (RuntimeError, "tensors are wanted", lambda: grad(lambda x: (cubes(x), "no"), has_aux=True)(X)),
        (RuntimeError, "argument 2", lambda: grad(cubes, argnums=2)(X)),
        (RuntimeError, "argnums", lambda: grad(cubes, argnums="a")(X)),
        (RuntimeError, "no argument", lambda: grad(cubes, argnums=())(X)),
        (RuntimeError, "twice", lambda: grad(cubes, argnums=(0, 0))(X)),
        (RuntimeError, "nested", lambda: vjp(torch.sin, X)[1]((X,))),
        (RuntimeError, "has the shape", lambda: vjp(torch.sin, X)[1](torch.ones(2))),
        (RuntimeError, "be tensors", lambda: vjp(lambda x: 1, X)),
        (RuntimeError, "tuple", lambda: jvp(torch.sin, X, (X,))),
        (RuntimeError, "of sizes", lambda: jvp(torch.sin, (X,), (torch.ones(2),))),
        (RuntimeError, "nested", lambda: jvp(torch.sin, (X,), X)),
        (RuntimeError, "no tensor among", lambda: jvp(torch.sin, (), ())),
        (ValueError, "floating", lambda: jvp(torch.sin, (torch.arange(3),), (torch.arange(3),))),
        (RuntimeError, "shape", lambda: linearize(torch.sin, X)[1](torch.ones(2))),
        (ValueError, "chunk_size", lambda: jacrev(torch.sin, chunk_size=0)),
        (RuntimeError, "random", lambda: jacfwd(lambda x: x * torch.rand(3))(X)),
        (RuntimeError, "requires_grad", lambda: grad(lambda x: (torch.ones(3).requires_grad_() * x).sum())(X)),
        (RuntimeError, "backward", lambda: grad(lambda x: (cubes(x).backward(), cubes(x))[1])(X)),
        (RuntimeError, "remove", lambda: functionalize(torch.sin, remove="x")),
    ],
)
def test_wrong_use(error, text, call):
    with pytest.raises(error, match=text):
        call()
    assert torch._C._transforms() == 0


def test_functionalize():
    x = X.clone()
    close(functionalize(lambda x: x.add_(1))(x), X + 1)
    close(x, X + 1)

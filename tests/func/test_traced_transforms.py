"""Function transforms inside compiled functions: one graph, the values of eager mode, and gradients through them."""

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter
from minidynamo.func import (
    functional_call,
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

X = torch.arange(6.0).reshape(2, 3) + 0.5
W = torch.tensor([1.0, 2.0, 3.0])
LAYER = torch.nn.Linear(3, 2)
NAMED = {name: p.detach() for name, p in LAYER.named_parameters()}


def cubes(x):
    return (x**3).sum()


def written(x):
    y = x.clone()
    y.mul_(2)
    y[0] = x[1]
    return y


MADE_BEFORE = vmap(grad(cubes))

CASES = {
    "vmap": lambda x: vmap(lambda v: v.softmax(0).sum() + W.sum())(x),
    "dimensions": lambda x: vmap(lambda a, b: (a * b, a.sum()), in_dims=(1, None), out_dims=(1, 0))(x, W[:2]),
    "nested": lambda x: vmap(vmap(lambda a: a.sin()))(x),
    "module": lambda x: vmap(LAYER)(x),
    "chunks": lambda x: vmap(lambda a: a * 2, chunk_size=1)(x),
    "writes": lambda x: vmap(written)(x),
    "same numbers": lambda x: vmap(lambda a: a + torch.rand(3) * 0, randomness="same")(x),
    "grad": lambda x: grad(cubes)(x),
    "grad_and_value": lambda x: grad_and_value(lambda a: cubes(a * W))(x),
    "aux": lambda x: grad(lambda a: (cubes(a), {"twice": a * 2}), has_aux=True)(x),
    "grad of grad": lambda x: grad(lambda a: grad(lambda b: (b**3 * a).sum())(a).sum())(x),
    "grad of vmap": lambda x: grad(lambda a: vmap(lambda v: cubes(v))(a).sum())(x),
    "vmap of grad": lambda x: vmap(grad(lambda w, a: ((a * w) ** 2).sum()), in_dims=(None, 0))(W, x),
    "each example": lambda x: vmap(
        grad(lambda p, a: functional_call(LAYER, p, (a,)).pow(2).sum()), in_dims=(None, 0)
    )(NAMED, x),
    "linear in what requires grad": lambda x: vmap(
        grad(lambda p, a: functional_call(LAYER, p, (a,)).sum()), in_dims=(None, 0)
    )(dict(LAYER.named_parameters()), x),
    "vjp": lambda x: vjp(torch.sin, x)[1](x),
    "jvp": lambda x: jvp(lambda a: a.sin(), (x,), (x + 1,)),
    "linearize": lambda x: linearize(lambda a: a.sin(), x)[1](x),
    "jacrev": lambda x: jacrev(lambda a: a.sin() * a.sum())(x[0]),
    "jacfwd": lambda x: jacfwd(lambda a: a.sin() * a.sum())(x[0]),
    "hessian": lambda x: hessian(lambda a: cubes(a) * a.sum())(x[0]),
    "vmap of hessian": lambda x: vmap(hessian(lambda a: cubes(a) * a.sum()))(x),
    "made before": lambda x: MADE_BEFORE(x),
    "and more": lambda x: (vmap(lambda a: a * 2)(x * 3) + 1).sum(),
}  # fmt: skip


def leaves(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [leaf for v in (value.values() if isinstance(value, dict) else value) for leaf in leaves(v)]


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("name", CASES)
def test_one_graph(name, backend):
    for requires_grad in (False, True):
        torch._dynamo.reset()
        counter = CompileCounter()
        torch.compile(CASES[name], backend=counter, fullgraph=True)(X)
        assert counter.frame_count == 1
        torch._dynamo.reset()
        compiled = torch.compile(CASES[name], backend=backend, fullgraph=True)
        for _ in range(2):
            plain_x, x = (X.clone().requires_grad_(requires_grad) for _ in range(2))
            wanted, found = leaves(CASES[name](plain_x)), leaves(compiled(x))
            assert [t.requires_grad for t in found] == [t.requires_grad for t in wanted]
            for a, b in zip(found, wanted, strict=True):
                torch.testing.assert_close(a, b)
            if any(t.requires_grad for t in wanted):
                for tensors in (wanted, found):
                    sum(t.sum() for t in tensors if t.requires_grad).backward()
                torch.testing.assert_close(x.grad, plain_x.grad)
        assert torch._C._transforms() == 0


def test_errors_are_those_of_plain_python():
    def f(x):
        return vmap(lambda v: torch.zeros(3).add_(v))(x)

    with pytest.raises(RuntimeError, match="same for all"):
        torch.compile(f, fullgraph=True)(X)
    assert torch._C._transforms() == 0

    @torch.compile
    def g(x):
        try:
            return vmap(lambda v: torch.rand(3) + v)(x)
        except RuntimeError:
            return x

    assert g(X) is X


def test_a_branch_on_an_example_breaks_and_raises():
    with pytest.raises(RuntimeError, match="vmap"):
        torch.compile(lambda x: vmap(lambda v: v if v.sum() > 0 else -v)(x))(X)


def test_closures_and_effects():
    seen = []

    def f(x, scale):
        def inner(v):
            seen.append(v.shape)
            return v * scale + x.sum()

        return vmap(inner)(x)

    found = torch.compile(f, fullgraph=True)(X, 3)
    torch.testing.assert_close(found, X * 3 + X.sum())
    assert seen == [torch.Size([3])]

"""Functions that vjp() and linearize() give are called when the graph that made them is over."""

import pytest

import minidynamo as torch


def x():
    return torch.tensor([0.0, 1.0, 2.0])


def vjp_after_break(x):
    _, back = torch.func.vjp(torch.sin, x)
    torch._dynamo.graph_break()
    return back(x), back(x * 2)


def vjp_of_vmap_after_break(x):
    _, back = torch.func.vjp(torch.vmap(lambda a: a.sin() * 2), x)
    torch._dynamo.graph_break()
    return back(x)


def linearize_after_break(x):
    _, push = torch.func.linearize(lambda a: a.exp() * a, x)
    torch._dynamo.graph_break()
    return push(x), push(x + 1)


def vjp_of_two_after_break(x):
    _, back, aux = torch.func.vjp(lambda a, b: (a * b, a.sum()), x, x + 1, has_aux=True)
    torch._dynamo.graph_break()
    return back(x), aux


PROGRAMS = [vjp_after_break, vjp_of_vmap_after_break, linearize_after_break, vjp_of_two_after_break]


def flat(result):
    return torch.utils._pytree.tree_leaves(result)


@pytest.mark.parametrize("backend", ["inductor", "eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_after_a_break(program, backend):
    torch._dynamo.reset()
    expected = flat(program(x()))
    found = flat(torch.compile(program, backend=backend)(x()))
    assert all(e.abs().sum() > 0 for e in expected)
    assert len(found) == len(expected) and all(torch.allclose(a, b) for a, b in zip(found, expected))


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("enabled", [False, True])
def test_handed_out(requires_grad, enabled):
    def made(x):
        return torch.func.vjp(torch.sin, x)[1]

    with torch.set_grad_enabled(enabled):
        expected = made(x().requires_grad_(requires_grad))(x())[0]
        found = torch.compile(made)(x().requires_grad_(requires_grad))(x())[0]
    assert torch.equal(found, expected) and found.requires_grad == expected.requires_grad

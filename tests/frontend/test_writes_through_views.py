"""What requires grad is written to a part of a tensor that does not: the whole tensor requires it from then on."""

import pytest

import minidynamo as torch

WRITES = {
    "copy": lambda t, x: t[1:].copy_(x[:2]),
    "add": lambda t, x: t[1:].add_(x[:2]),
    "setitem": lambda t, x: t.__setitem__(slice(1, None), x[:2]),
    "setitem of a view": lambda t, x: t.t().__setitem__(1, x[:, 0]),
    "fill": lambda t, x: t[0].fill_(x[0, 0]),
    "view": lambda t, x: t.view(-1).mul_(x.view(-1)),
    "transposed": lambda t, x: t.t()[0].add_(x[:, 0]),
    "view of a view": lambda t, x: t[1:][0].add_(x[0]),
    "index": lambda t, x: t[:, :2].index_copy_(0, torch.tensor([0, 1]), x[:2, :2]),
    "masked": lambda t, x: t[1:].masked_scatter_(t[1:] == 0.25, x),
    "parts": lambda t, x: t.unbind()[1].mul_(x[1]),
}


def run(f):
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    made = f(x)
    (made * torch.arange(12.0).reshape(3, 4)).sum().backward()
    return made.requires_grad, made.tolist(), x.grad.tolist()


@pytest.mark.parametrize("backend", ["eager", None])
@pytest.mark.parametrize("name", WRITES)
def test_the_whole_requires_grad(name, backend):
    def f(x):
        t = torch.full((3, 4), 0.25)
        WRITES[name](t, x)
        return t * 2

    torch._dynamo.reset()
    assert run(torch.compile(f, **({"backend": backend} if backend else {}))) == run(f)


def test_a_tensor_with_views_breaks():
    def f(x):
        t = torch.zeros(4)
        part = t[1:]
        t.add_(x)
        return part, t

    x = torch.ones(4, requires_grad=True)
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="has views"):
        torch.compile(f, fullgraph=True)(x)
    torch._dynamo.reset()
    part, whole = torch.compile(f)(x)
    assert part.requires_grad and whole.requires_grad
    part.sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 1]


def test_a_tensor_without_views_does_not():
    def f(x):
        t = torch.zeros(4)
        t += 1
        t.add_(x)
        return t

    torch._dynamo.reset()
    made = torch.compile(f, fullgraph=True)(torch.ones(4, requires_grad=True))
    assert made.requires_grad


def test_the_base_is_no_view():
    whole = torch.zeros(4, 3)
    part, row = torch.compile(lambda t: (t, t[0]), fullgraph=True)(whole[1:])
    assert part._base is whole and row._base is whole


def test_results_are_views_of_what_they_show():
    def f(t):
        y = t * 2
        return t[1:], t.detach()[1:], y[0], y, y.detach()[0]

    for backend in ("eager", None):
        torch._dynamo.reset()
        t, x = torch.zeros(3, 4), torch.ones(4, requires_grad=True)
        part, detached, row, y, apart = torch.compile(f, **({"backend": backend} if backend else {}))(t)
        assert part._base is t and row._base is y
        detached[0].add_(x.detach()), apart.add_(1)
        assert not t.requires_grad and not y.requires_grad
        part[0].add_(x), row.mul_(x)
        assert t.requires_grad and y.requires_grad
        assert t.tolist() == [[0.0] * 4, [2.0] * 4, [0.0] * 4]


def test_results_that_show_one_tensor_have_one_base():
    def f(t):
        y = t + 1
        part = y[1:]
        return part, part[1:], y.view(2, 2)

    for backend in ("eager", None):
        torch._dynamo.reset()
        x = torch.ones(2, requires_grad=True)
        part, end, square = torch.compile(f, **({"backend": backend} if backend else {}))(torch.zeros(4))
        assert part._base is end._base is square._base and part._base.tolist() == [1, 1, 1, 1]
        end.copy_(x * 2)
        (part.sum() + square.sum()).backward()
        assert part.tolist() == [1, 2, 2] and x.grad.tolist() == [4, 4]

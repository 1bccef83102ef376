"""autograd.Function whose forward writes to its arguments, saves its results, or is gone through twice."""

import pytest

import minidynamo as torch
from minidynamo.autograd import Function, grad


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


class Twice(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Added(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.mark_dirty(a)
        return a.add_(b)

    @staticmethod
    def backward(ctx, g):
        return g, g * 3


def weighted(x):
    return (x * torch.tensor([1.0, 10.0, 100.0][: len(x)])).sum()


def test_a_whole_tensor():
    start = leaf(1.0, 2.0)
    x = start * 1
    y = Twice.apply(x)
    assert y is x and y.grad_fn.name() == "TwiceBackward"
    weighted(y).backward()
    assert start.grad.tolist() == [2.0, 20.0]


@pytest.mark.parametrize("of", ["base", "part"])
def test_a_part_of_a_tensor(of):
    start = leaf(1.0, 2.0, 3.0)
    x = start * 1
    part = x[1:]
    y = Twice.apply(part)
    assert y is part and x.grad_fn.name() == "CopySlices" and y.grad_fn.name() == "AsStridedBackward0"
    weighted(x if of == "base" else y).backward()
    assert start.grad.tolist() == ([1.0, 20.0, 200.0] if of == "base" else [0.0, 2.0, 20.0])


def test_a_tensor_that_required_no_grad():
    start, x = leaf(1.0, 2.0), torch.zeros(2)
    y = Added.apply(x, start)
    assert y is x and x.requires_grad
    y.sum().backward()
    assert start.grad.tolist() == [3.0, 3.0]
    whole = torch.zeros(3)
    Added.apply(whole[1:], start)
    assert whole.grad_fn.name() == "CopySlices"
    weighted(whole).backward()
    assert start.grad.tolist() == [33.0, 303.0]
    plain = torch.ones(2)
    assert Twice.apply(plain) is plain and not plain.requires_grad


def test_leaves_are_not_for_writing():
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        Twice.apply(leaf(1.0))
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        Twice.apply(leaf(1.0, 2.0)[:1])


class TwiceAndMore(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2), x + 1

    @staticmethod
    def backward(ctx, g, h):
        return g * 2 + h * 2


def test_with_another_result():
    start = leaf(1.0, 2.0)
    a, b = TwiceAndMore.apply(start * 1)
    (a + b).sum().backward()
    assert start.grad.tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match="no other result"):
        TwiceAndMore.apply((start * 1)[1:])


class Exponential(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


def test_saved_results_have_their_history():
    x = leaf(1.0, 2.0)
    y = Exponential.apply(x)
    (kept,) = y.grad_fn.saved_tensors
    assert kept is not y and kept.grad_fn is y.grad_fn
    want = x.detach().exp().tolist()
    first = grad(y.sum(), x, create_graph=True)[0]
    second = grad(first.sum(), x, create_graph=True)[0]
    (third,) = grad(second.sum(), x, retain_graph=True)
    for found in (first, second, third):
        assert found.tolist() == pytest.approx(want)
    with torch.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.grad_fn.saved_tensors  # noqa: B018


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_again_without_anything_saved():
    x = leaf(1.0)
    y = Doubled.apply(x)
    y.backward()
    y.backward()
    assert x.grad.tolist() == [4.0]

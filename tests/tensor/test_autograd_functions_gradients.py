"""Gradients through autograd.Function: what its context keeps and says, which results are differentiable, errors."""

import weakref

import pytest

import minidynamo as torch
from minidynamo.autograd import Function, grad
from minidynamo.autograd.function import once_differentiable


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def test_first_and_second_derivatives():
    x = leaf(1.0, 2.0)
    y = Square.apply(x)
    assert y.grad_fn.name() == "SquareBackward"
    (first,) = grad((y**2).sum(), x, create_graph=True)
    assert first.tolist() == [4.0, 32.0] and grad(first.sum(), x)[0].tolist() == [12.0, 48.0]


def test_what_was_saved_is_freed():
    x = leaf(1.0, 2.0)
    y = Square.apply(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_once_differentiable():
    class Once(Square):
        backward = staticmethod(once_differentiable(Square.backward))

    x = leaf(1.0, 2.0)
    (g,) = grad(Once.apply(x).sum(), x, create_graph=True)
    assert g.tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="does not require grad"):
        grad(g.sum(), x)


def product(gradients):
    class Product(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return gradients(g)

    return Product


@pytest.mark.parametrize(
    "gradients, text",
    [
        (lambda g: g, "expected 2, got 1"),
        (lambda g: (g, g, g), "expected 2, got 3"),
        (lambda g: [g, g], "Tensors or None, not list"),
        (lambda g: (g, "text"), "Tensors or None, not str"),
        (lambda g: (torch.ones(3), g), "expected shape"),
    ],
)
def test_wrong_gradients(gradients, text):
    with pytest.raises(RuntimeError, match=text):
        product(gradients).apply(leaf(1.0, 2.0), leaf(3.0, 4.0)).sum().backward()


def test_gradients_that_fit_are_taken():
    x = leaf(1.0, 2.0)
    product(lambda g: (torch.ones(3, 2), None, None)).apply(x, torch.ones(2)).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="not have been used"):
        grad(product(lambda g: (None, None)).apply(x, 3.0), x)
    assert grad(product(lambda g: (g.double(), None)).apply(x, 3.0), x)[0].dtype is torch.float32


def test_arguments_that_are_no_tensors_or_have_names():
    seen = []

    class Scale(Function):
        @staticmethod
        def forward(ctx, x, factor, options=None):
            seen.append(ctx.needs_input_grad)
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * 3, None

    x = leaf(1.0)
    Scale.apply(x, 3).backward()
    Scale.apply(x, factor=3).backward()
    assert x.grad.tolist() == [6.0] and seen == [(True, False)] * 2

    class Named(Function):
        @staticmethod
        def forward(ctx, x, *, factor):
            return x * factor

    with pytest.raises(TypeError, match="factor"):
        Named.apply(x, factor=3)


def two_results(ctx_setup, backward):
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            a, b = x * 2, x * 3
            ctx_setup(ctx, b)
            return a, b, 7

    Two.backward = staticmethod(backward)
    return Two


def test_missing_gradients_are_zeros_or_none():
    seen = []

    def backward(ctx, a, b, number):
        seen.append((a if a is None else a.tolist(), b if b is None else b.tolist(), number))
        return b * 3

    x = leaf(1.0, 2.0)
    two_results(lambda ctx, b: None, backward).apply(x)[1].sum().backward()
    two_results(lambda ctx, b: ctx.set_materialize_grads(False), backward).apply(x)[1].sum().backward()
    assert seen == [([0.0, 0.0], [1.0, 1.0], None), (None, [1.0, 1.0], None)] and x.grad.tolist() == [6.0, 6.0]


def test_results_that_are_not_differentiable():
    a, b, _ = two_results(lambda ctx, b: ctx.mark_non_differentiable(b), lambda ctx, a, b, n: a * 2).apply(leaf(1.0))
    assert a.requires_grad and not b.requires_grad and b.grad_fn is None

    class Sorted(Function):
        @staticmethod
        def forward(ctx, x):
            values, indices = x.sort()
            ctx.mark_non_differentiable(indices)
            ctx.save_for_backward(indices)
            return values, indices

        @staticmethod
        def backward(ctx, g, _):
            (indices,) = ctx.saved_tensors
            return torch.zeros_like(g).index_add_(0, indices, g)

    x = leaf(3.0, 1.0, 2.0)
    (Sorted.apply(x)[0] * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [100.0, 1.0, 10.0]


def test_forward_runs_without_gradients_whatever_it_is_given():
    class Inside(Function):
        @staticmethod
        def forward(ctx, tensors):
            assert not torch.is_grad_enabled()
            return tensors[0] * 2

    assert not Inside.apply([leaf(1.0)]).requires_grad


def test_arguments_handed_back():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5

    x = leaf(1.0)
    y = Same.apply(x)
    y.backward()
    assert y is not x and x.grad.tolist() == [5.0]
    plain = torch.ones(1)
    assert Same.apply(plain) is not plain
    with torch.no_grad():
        assert not Same.apply(x).requires_grad


def test_tensors_said_to_be_changed_have_to_be_returned():
    class Doubled(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x.mul_(2))
            return x * 1

    with pytest.raises(RuntimeError, match="mark_dirty"):
        Doubled.apply(torch.ones(2))


def test_vjp_is_another_name_of_backward():
    class Seven(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def vjp(ctx, g):
            return g * 7

    x = leaf(1.0)
    Seven.apply(x).backward()
    assert x.grad.tolist() == [7.0]
    Seven.backward = staticmethod(lambda ctx, g: g)
    with pytest.raises(RuntimeError, match="both backward and vjp"):
        Seven.apply(x).backward()


def test_changes_after_saving_are_noticed():
    x = leaf(1.0, 2.0)
    h = x * 1
    y = Square.apply(h)
    h.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_missing_methods():
    class Nothing(Function):
        pass

    class OnlyForward(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

    with pytest.raises(NotImplementedError, match="forward"):
        Nothing.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="backward"):
        OnlyForward.apply(leaf(1.0)).backward()
    assert OnlyForward.apply(torch.ones(1)).tolist() == [1.0]


class ExponentialAndSum(Function):
    """Its backward needs what forward made: derivatives of any order go through the saved outputs."""

    @staticmethod
    def forward(ctx, x, z):
        y, positive = x.exp(), x > -z
        total = y.sum()
        ctx.mark_non_differentiable(positive)
        ctx.save_for_backward(y, positive, total, z)
        return y, positive, total

    @staticmethod
    def backward(ctx, g, _, h):
        y, positive, total, z = ctx.saved_tensors
        return (g + h) * y + 0 * total, (g + h) * y / z


def exponential_times_sum(x, z):
    y, _, total = ExponentialAndSum.apply(x, z)
    return y * total


def test_saved_outputs_have_their_history():
    x = torch.tensor([1.0, 0.2], dtype=torch.float64, requires_grad=True)
    z = torch.tensor([0.5, 2.0], dtype=torch.float64)

    def third(f):
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        return torch.autograd.grad(h.sum(), x)[0]

    assert torch.autograd.gradgradcheck(lambda x: exponential_times_sum(x, z), (x,))
    assert torch.allclose(third(lambda x: exponential_times_sum(x, z)), third(lambda x: x.exp() * x.exp().sum()))
    compiled = torch.compile(lambda x: exponential_times_sum(x, z))
    assert torch.allclose(third(compiled), third(lambda x: x.exp() * x.exp().sum()))


def test_saved_outputs_keep_nothing_alive():
    x = torch.ones(2, requires_grad=True) * 1
    outputs = ExponentialAndSum.apply(x, x + 1)
    seen = [weakref.ref(t) for t in (x, *outputs)]
    del x, outputs
    assert [r() for r in seen] == [None] * 4

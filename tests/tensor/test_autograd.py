"""Gradients of eager code: what is recorded, how they flow back, hooks, writes in place, and what is refused."""

import gc
import weakref

import pytest

import minidynamo as torch


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_gradients_add_up():
    x = leaf(1.0, 2.0, 3.0)
    for times in (1, 2):
        (x * x).sum().backward()
        assert x.grad.tolist() == [2.0 * times, 4.0 * times, 6.0 * times]
    assert x.grad is x.grad and x.grad.is_leaf and not x.grad.requires_grad
    x.grad = None
    assert x.grad is None


def test_history():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = (y + x).sum()
    assert x.grad_fn is None and y.grad_fn.name() == "MulBackward0" and not y.is_leaf
    assert repr(z.grad_fn).startswith("<SumBackward0 object at 0x")
    ((add, _),) = z.grad_fn.next_functions
    assert [node.name() for node, _ in add.next_functions] == ["MulBackward0", "torch::autograd::AccumulateGrad"]
    assert add.next_functions[0][0] == y.grad_fn and "grad_fn=<MulBackward0>" in repr(y)


def test_chosen_inputs():
    x, y = leaf(1.0, 2.0), leaf(3.0)
    z = (x * y).sum()
    gx, gy = torch.autograd.grad(z, [x, y], retain_graph=True)
    assert gx.tolist() == [3.0, 3.0] and gy.tolist() == [3.0] and x.grad is None
    middle = x * 2
    (g,) = torch.autograd.grad((middle * middle).sum(), middle)
    assert g.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="not have been used"):
        torch.autograd.grad(z, leaf(1.0), retain_graph=True)
    assert torch.autograd.grad(z, leaf(1.0), allow_unused=True, retain_graph=True) == (None,)
    (zeros,) = torch.autograd.grad(z, leaf(1.0), materialize_grads=True)
    assert zeros.tolist() == [0.0]


def test_derivatives_of_derivatives():
    x = leaf(1.0, 2.0)
    (first,) = torch.autograd.grad((x**4).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    assert (first.tolist(), second.tolist(), third.tolist()) == ([4.0, 32.0], [12.0, 48.0], [24.0, 48.0])


def test_gradients_given_to_backward():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match=r"shape of \[3\] and output\[0\] has a shape of \[2\]"):
        (x * 2).backward(torch.ones(3))
    (x * 2).backward(torch.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 20.0]
    torch.autograd.backward([x.sum(), (x * x).sum()])
    assert x.grad.tolist() == [5.0, 25.0]
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(1).backward()


def test_twice():
    x = leaf(1.0, 2.0)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    assert x.grad.tolist() == (2 * x.detach().exp()).tolist()


def test_a_deep_graph():
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0]


def test_graphs_are_let_go():
    x = leaf(1.0, 2.0)
    y = x.exp()
    gone = weakref.ref(y)
    z = (y * y).sum()
    del y
    z.backward()
    del z
    gc.collect()
    assert gone() is None


# --- Writes in place -------------------------------------------------------------------------------------------------


def gradient(f):
    x = leaf(1.0, 2.0, 3.0, 4.0)
    return torch.autograd.grad(f(x), x)[0].tolist()


def part_multiplied(x):
    y = x * 1
    y[1:3].mul_(10)
    return (y * y).sum()


def part_assigned(x):
    y = x * 1
    y[0] = 5.0
    y[2:] = x[:2] * 3
    return (y * y).sum()


def view_of_a_view(x):
    y = (x * 1).view(2, 2)
    y[0][1] = 7.0
    return (y * y).sum()


def transposed(x):
    y = (x * 1).view(2, 2)
    y.t()[0].add_(x[:2])
    return (y * y).sum()


def seen_through_an_older_view(x):
    y = x * 1
    part = y[:2]
    y.mul_(x)
    return (part * part).sum()


def into_zeros(x):
    y = torch.zeros(4)
    y[1] = x[0] * x[1]
    y[2:] = x[2:] ** 2
    return (y * torch.arange(4.0)).sum()


def by_mask(x):
    y = x * 1
    y[x > 2] = 0.0
    y[torch.tensor([0, 0])] += x[:2]
    return (y * y).sum()


def whole(x):
    y = x * 1
    y.mul_(x).add_(1).exp_()
    return y.log().sum()


@pytest.mark.parametrize(
    "f, want",
    [
        (part_multiplied, [2.0, 400.0, 600.0, 8.0]),
        (part_assigned, [18.0, 40.0, 0.0, 0.0]),
        (view_of_a_view, [2.0, 0.0, 6.0, 8.0]),
        (transposed, [8.0, 14.0, 10.0, 8.0]),
        (seen_through_an_older_view, [4.0, 32.0, 0.0, 0.0]),
        (into_zeros, [2.0, 1.0, 12.0, 24.0]),
        (whole, [2.0, 4.0, 6.0, 8.0]),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_writes(f, want):
    assert gradient(f) == pytest.approx(want)


def test_what_was_saved_and_written_since():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = y.sin()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*version 1; expected version 0"):
        z.sum().backward()
    y = x * 1
    z = y + 1  # needs nothing of y
    y.mul_(2)
    z.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


# --- Hooks -----------------------------------------------------------------------------------------------------------


def test_hooks():
    x = leaf(1.0, 2.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(("y", g.tolist())))
    handle = x.register_hook(lambda g: g * 10)
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("x", t.grad.tolist())))
    y.sum().backward()
    assert seen == [("y", [1.0, 1.0]), ("x", [20.0, 20.0])]
    handle.remove()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [23.0, 23.0]
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        torch.ones(1).register_hook(print)
    with pytest.raises(RuntimeError, match="non-leaf"):
        y.register_post_accumulate_grad_hook(print)


def test_a_hook_that_raises_leaves_nothing_half_done():
    x = leaf(1.0)
    y = x * 2

    def fail(g):
        raise KeyError("hook")

    y.register_hook(fail)
    with pytest.raises(KeyError, match="hook"):
        y.backward()
    assert x.grad is None


def test_retained():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad.tolist() == [4.0, 8.0] and y.retains_grad
    with pytest.warns(UserWarning, match="not a leaf"):
        assert (x * 2).grad is None


@pytest.mark.parametrize(
    "value, text",
    [
        (torch.ones(3), "different size"),
        (torch.ones(2, dtype=torch.float64), "different type"),
    ],
)
def test_a_gradient_that_does_not_fit(value, text):
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match=text):
        x.grad = value
    with pytest.raises(RuntimeError, match="own grad"):
        x.grad = x
    assert x.grad is None


# --- Modes -----------------------------------------------------------------------------------------------------------


def test_modes():
    x = leaf(1.0, 2.0)
    with torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            z = x * 3
    assert not y.requires_grad and z.requires_grad
    w = x * y + x.detach() * 5
    w.sum().backward()
    assert x.grad.tolist() == y.tolist()


# --- Functions of the program ----------------------------------------------------------------------------------------


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        y = x * factor
        ctx.save_for_backward(x, y)
        ctx.factor = factor
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        assert y.tolist() == (x * ctx.factor).tolist()
        return g * ctx.factor * 100, None


def test_functions_of_the_program():
    x = leaf(1.0, 2.0)
    y = Scaled.apply(x, 3.0)
    assert y.grad_fn.name() == "ScaledBackward"
    y.sum().backward()
    assert x.grad.tolist() == [300.0, 300.0]


def test_a_function_with_too_few_gradients():
    class One(Scaled):
        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 2, got 1\)"):
        One.apply(leaf(1.0), 2.0).backward()


def test_a_function_with_a_gradient_of_other_sizes():
    class Wrong(Scaled):
        @staticmethod
        def backward(ctx, g):
            return torch.ones(3, 2), None

    with pytest.raises(RuntimeError, match=r"invalid gradient at index 0 - got \[3, 2\] but expected shape compatible"):
        Wrong.apply(leaf(1.0, 2.0, 3.0), 2.0).sum().backward()


def test_post_accumulate_hooks_get_the_tensor_itself():
    """As where a table of optimizers has the parameters as keys."""
    linear, seen = torch.nn.Linear(2, 2), []
    names = {parameter: name for name, parameter in linear.named_parameters()}
    for parameter in linear.parameters():
        parameter.register_post_accumulate_grad_hook(lambda p: seen.append(names[p]))
    linear(torch.ones(1, 2)).sum().backward()
    assert sorted(seen) == ["bias", "weight"]
    x = torch.ones(2, requires_grad=True)
    handle = x.register_post_accumulate_grad_hook(lambda t: setattr(t, "grad", None))
    (x * 2).sum().backward()
    assert x.grad is None
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_post_accumulate_hooks_return_nothing():
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="None"):
        (x * 2).sum().backward()

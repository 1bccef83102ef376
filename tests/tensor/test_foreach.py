"""torch._foreach_*: each function does with every tensor of a list what the method of its name does with one."""

import pytest

import minidynamo as torch

ALONE = """
    abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round
    rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
""".split()
NUMBERS = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "pow": "pow", "maximum": "clamp_min"}
NUMBERS |= {"minimum": "clamp_max", "clamp_min": "clamp_min", "clamp_max": "clamp_max"}


def lists():
    first = [torch.tensor([0.2, 0.9]), torch.tensor([[0.5]])]
    return first, [torch.tensor([0.3, 0.4]), torch.tensor([[0.7]])]


def agree(name, call, want):
    """As a new tuple and in place, plain and in one graph."""
    torch._dynamo.reset()
    foreach = getattr(torch, f"_foreach_{name}")
    for run in (foreach, torch.compile(lambda *a, **k: foreach(*a, **k), backend="eager", fullgraph=True)):
        first, second = lists()
        got = call(run, first, second)
        assert type(got) is tuple
        assert [x.tolist() for x in got] == [x.tolist() for x in want]
        assert [x.tolist() for x in first] == [x.tolist() for x in lists()[0]]
    writes = getattr(torch, f"_foreach_{name}_")
    for run in (writes, torch.compile(lambda *a, **k: writes(*a, **k), backend="eager", fullgraph=True)):
        first, second = lists()
        held = list(first)
        assert call(run, first, second) is first
        assert all(x is y and x.tolist() == z.tolist() for x, y, z in zip(first, held, want))


@pytest.mark.parametrize("name", ALONE)
def test_alone(name):
    agree(name, lambda f, a, b: f(a), [getattr(x, name)() for x in lists()[0]])


@pytest.mark.parametrize("name", NUMBERS)
def test_with_one_more(name):
    method = getattr(torch.Tensor, NUMBERS[name])
    a, b = lists()
    agree(name, lambda f, a, b: f(a, 1.5), [method(x, 1.5) for x in a])
    agree(name, lambda f, a, b: f(a, [2, 0.5]), [method(a[0], 2), method(a[1], 0.5)])
    agree(name, lambda f, a, b: f(a, b), [method(x, y) for x, y in zip(a, b)])


def test_with_two_more():
    a, b = lists()
    for name in ("addcmul", "addcdiv"):
        method = getattr(torch.Tensor, name)
        agree(name, lambda f, a, b: f(a, b, b), [method(x, y, y) for x, y in zip(a, b)])
        agree(name, lambda f, a, b: f(a, b, b, value=2), [method(x, y, y, value=2) for x, y in zip(a, b)])
        want = [method(a[0], b[0], b[0], value=1.0), method(a[1], b[1], b[1], value=3.0)]
        agree(name, lambda f, a, b: f(a, b, b, [1.0, 3.0]), want)
    for weight in (0.5, [0.25, 0.75]):
        given = weight if isinstance(weight, list) else [weight] * 2
        want = [torch.lerp(x, y, w) for x, y, w in zip(a, b, given)]
        agree("lerp", lambda f, a, b, weight=weight: f(a, b, weight), want)
    for name in ("add", "sub"):
        want = [getattr(x, name)(y, alpha=2) for x, y in zip(a, b)]
        agree(name, lambda f, a, b: f(a, b, alpha=2), want)


def test_forms_of_one_kind():
    a, b = lists()
    assert [x.item() for x in torch._foreach_norm(a)] == [torch.linalg.vector_norm(x).item() for x in a]
    assert [x.dtype for x in torch._foreach_norm(a, 1, dtype=torch.float64)] == [torch.float64] * 2
    assert [x.item() for x in torch._foreach_max(a)] == [x.max().item() for x in a]
    assert torch._foreach_powsum([torch.tensor([-2.0, 1.0])], 3)[0].item() == 9.0
    assert [x.tolist() for x in torch._foreach_pow(2.0, a)] == [(2.0**x).tolist() for x in a]
    assert [x.tolist() for x in torch._foreach_add(a, torch.tensor(2.0))] == [(x + 2).tolist() for x in a]
    assert torch._foreach_mm([torch.eye(2)], [b[0].view(2, 1)])[0].tolist() == b[0].view(2, 1).tolist()
    assert torch._foreach_copy_(a, b) is a and a[0].tolist() == b[0].tolist()
    assert torch._foreach_zero_(a) is a and not a[0].any()
    assert torch._foreach_clone(b)[0] is not b[0]


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda a, b: torch._foreach_add(a, b[:1]), RuntimeError, "Tensor lists must have the same number .*2 and 1"),
        (lambda a, b: torch._foreach_add(a, [1.0]), RuntimeError, "same number of elements as scalar list"),
        (lambda a, b: torch._foreach_mul_([], 1), RuntimeError, "at least one tensor"),
        (lambda a, b: torch._foreach_add(a, torch.ones(2)), RuntimeError, "expected to be 0 dim but it has 1 dim"),
        (lambda a, b: torch._foreach_abs(a[0]), TypeError, "'self' .* must be tuple of Tensors, not Tensor"),
        (lambda a, b: torch._foreach_add(a, 1, alpha=2), TypeError, "alpha"),
        (lambda a, b: torch._foreach_no_such, AttributeError, "torch 2.13 has no torch._foreach_no_such"),
    ],
)
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(*lists())


def test_gradients_flow():
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    total = sum(x.sum() for x in torch._foreach_mul([leaf, leaf * 2], 3))
    total.backward()
    assert leaf.grad.tolist() == [9.0, 9.0]

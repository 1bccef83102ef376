"""Gradients through compiled functions are those of the plain ones: results, leaves, inputs that are written to."""

import pytest

import minidynamo as torch
from minidynamo import nn
from minidynamo._dynamo.testing import CompileCounter


def pointwise(x, y):
    return (torch.tanh(x) * y + x.exp()).sum()


def two_results(x, y):
    return x * y, (x + y).sin()


def product(x, y):
    return torch.softmax(x @ y.t(), -1)


def region_without(x, y):
    a = x * y
    with torch.no_grad():
        b = a * 3
    return (a * b).sum()


def detached(x, y):
    return (x.detach() * y + x).sum()


def broken(x, y):
    a = x * y
    torch._dynamo.graph_break()
    return (a * a + x).sum()


def by_data(x, y):
    a = x * 2
    if a.sum() > -1e6:
        return (a * y).sum()
    return a.sum()


def writes_its_own(x, y):
    a = x * 1
    a[0] = y[1] * 2
    a[1:].mul_(3)
    return (a * a).sum()


def loops(x, y):
    h = x
    for _ in range(5):
        h = torch.sigmoid(h * y) + h
    return h.mean()


def views(x, y):
    return (x.t()[:2].reshape(-1)[1:4] * y.view(-1)[2:5]).sum(), x.unsqueeze(0).expand(2, -1, -1) * 2


def drops(x, y):
    return (torch.nn.functional.dropout(x * y, 0.5) * y).sum()


def twice_the_same(x, y):
    a = x * y
    return a, a


FUNCTIONS = [pointwise, two_results, product, region_without, detached, broken, by_data, writes_its_own, loops, views]
FUNCTIONS += [drops, twice_the_same]
WHOLE = {f: 1 for f in FUNCTIONS} | {broken: 2, by_data: 2}


def operands():
    torch.manual_seed(0)
    x = torch.randn(3, 4, requires_grad=True)
    y = torch.randn(3, 4, requires_grad=True)
    return x, y


def gradients(f):
    x, y = operands()
    torch.manual_seed(7)
    results = f(x, y)
    results = results if isinstance(results, tuple) else (results,)
    torch.autograd.backward(results, [torch.full_like(r, 0.5) for r in results])
    return [r.tolist() for r in results] + [t.grad.tolist() for t in (x, y) if t.grad is not None]


@pytest.mark.parametrize("backend", ["inductor", "eager", "counting"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_plain(f, backend, no_defects):
    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter if backend == "counting" else backend)
    want = gradients(f)
    for _ in range(2):
        got = gradients(compiled)
        assert len(got) == len(want)
        for a, b in zip(got, want):
            assert torch.allclose(torch.tensor(a), torch.tensor(b), rtol=1e-5, atol=1e-6)
    if backend == "counting":
        assert counter.frame_count == WHOLE[f]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_second_derivatives(f):
    def second(g):
        x, y = operands()
        torch.manual_seed(7)
        result = g(x, y)
        result = result[0] if isinstance(result, tuple) else result
        (first,) = torch.autograd.grad(result.sum(), x, create_graph=True)
        if not first.requires_grad:
            return first.tolist(), None
        found = torch.autograd.grad((first * first).sum(), [x, y], allow_unused=True)
        return first.tolist(), [None if t is None else t.tolist() for t in found]

    want, got = second(f), second(torch.compile(f))
    for a, b in zip([want[0], *(want[1] or [])], [got[0], *(got[1] or [])], strict=True):
        assert (a is None) == (b is None)
        assert a is None or torch.allclose(torch.tensor(a), torch.tensor(b), rtol=1e-4, atol=1e-5)


def changes_its_argument(a, x):
    a.mul_(x)
    return a.sum() * 2


def test_arguments_that_are_written_to(no_defects):
    def run(f):
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        a = x * 1
        s = f(a, x)
        (s + (a * a).sum()).backward()
        return x.grad.tolist()

    compiled = torch.compile(changes_its_argument, fullgraph=True)
    assert run(changes_its_argument) == run(compiled) == run(compiled)


def test_a_model_learns_the_same_way():
    def trained(compile):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        step = torch.compile(model) if compile else model
        x = torch.randn(16, 3)
        y = x.sum(1, keepdim=True).sin()
        losses = []
        for _ in range(20):
            model.zero_grad()
            loss = ((step(x) - y) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
            losses.append(loss.item())
        return losses

    plain, compiled = trained(False), trained(True)
    assert plain[-1] < plain[0] / 2
    assert compiled == pytest.approx(plain, rel=1e-5)


def test_sizes_that_vary():
    f = torch.compile(lambda x: (x * x).sum(), dynamic=True, fullgraph=True)
    for n in (2, 3, 5):
        x = torch.ones(n, requires_grad=True)
        f(x).backward()
        assert x.grad.tolist() == [2.0] * n

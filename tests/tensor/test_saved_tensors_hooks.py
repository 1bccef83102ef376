"""Hooks on saved tensors: what they are asked, what they may not do, and what is kept without them."""

import subprocess
import sys

import pytest

import minidynamo as torch
from minidynamo.autograd import Function
from minidynamo.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def hooked(f, pack=lambda t: t, unpack=lambda t: t, times=1):
    """The gradient of f at (1, 2), and what the hooks were asked."""
    seen = []

    def on_pack(t):
        seen.append(("pack", t.tolist(), t.requires_grad, t.is_leaf, torch.is_grad_enabled()))
        return pack(t)

    def on_unpack(t):
        seen.append("unpack")
        return unpack(t)

    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(on_pack, on_unpack):
        y = f(x)
    for i in range(times):
        y.sum().backward(retain_graph=i + 1 < times)
    return x.grad.tolist(), seen


class Exponential(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y


E1, E2 = leaf(1.0, 2.0).exp().tolist()
AS_LEAF = ("pack", [1.0, 2.0], True, True, False)
AS_RESULT = ("pack", [E1, E2], True, False, False)


@pytest.mark.parametrize(
    "f, gradient, asked",
    [
        (lambda x: x + 1, [1.0, 1.0], []),
        (lambda x: x * 3, [3.0, 3.0], []),
        (lambda x: x * x, [2.0, 4.0], [AS_LEAF, AS_LEAF, "unpack", "unpack"]),
        (lambda x: x.exp(), [E1, E2], [AS_RESULT, "unpack"]),
        (lambda x: x.view(2, 1).exp().view(2), [E1, E2], [("pack", [[E1], [E2]], True, False, False), "unpack"]),
        (Exponential.apply, [E1, E2], [AS_LEAF, AS_RESULT, "unpack", "unpack"]),
    ],
    ids=["add", "times a number", "mul", "exp", "view", "Function"],
)
def test_what_hooks_are_asked(f, gradient, asked):
    found, seen = hooked(f)
    assert found == pytest.approx(gradient) and seen == asked


def test_each_pass_unpacks():
    found, seen = hooked(lambda x: x.exp(), times=2)
    assert found == pytest.approx([2 * E1, 2 * E2]) and seen[1:] == ["unpack", "unpack"]


def test_what_is_unpacked_is_used():
    assert hooked(lambda x: x.exp(), lambda t: "text", lambda t: torch.ones(2))[0] == [1.0, 1.0]


@pytest.mark.parametrize("f", [lambda x: x.exp(), Exponential.apply], ids=["op", "Function"])
def test_hooks_that_are_wrong(f):
    with pytest.raises(TypeError, match="unpack_hook.*int"):
        hooked(f, unpack=lambda t: 5)
    with pytest.raises(RuntimeError, match="in place"):
        hooked(f, pack=lambda t: t.mul_(2))
    with pytest.raises(ZeroDivisionError):
        hooked(f, pack=lambda t: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        hooked(f, unpack=lambda t: 1 / 0)
    with pytest.raises(TypeError, match="callable"), saved_tensors_hooks(1, 2):
        pass
    assert not torch._C._has_saved_tensor_hooks()


def test_the_innermost_is_asked():
    seen, x = [], leaf(1.0)

    def noting(name):
        return saved_tensors_hooks(lambda t: (seen.append(name), t)[1], lambda t: t)

    with noting("outer"):
        with noting("inner"):
            x.exp()
        x.exp()
    x.exp()
    assert seen == ["inner", "outer"]


def test_hooks_refused():
    ours = saved_tensors_hooks(lambda t: t, lambda t: t)
    with disable_saved_tensors_hooks("not now"):
        with pytest.raises(RuntimeError, match="not now"), ours:
            pass
        with disable_saved_tensors_hooks("nor now"), pytest.raises(RuntimeError, match="nor now"), ours:
            pass
    with ours, pytest.raises(RuntimeError, match="not now"), disable_saved_tensors_hooks("not now"):
        pass
    with ours:
        leaf(1.0).exp()


def test_writes_are_the_hooks_affair():
    x = leaf(1.0, 2.0)
    a = x * 1
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = a.sin()
    a.mul_(5)
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx(x.detach().cos().tolist())


@pytest.mark.parametrize(
    "f", [lambda x: x**3, lambda x: x.exp() * x, Exponential.apply], ids=["pow", "exp", "Function"]
)
def test_derivatives_of_derivatives(f):
    def second(x, context):
        with context:
            y = f(x).sum()
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        return torch.autograd.grad(first.sum(), x)[0].tolist()

    plain = saved_tensors_hooks(lambda t: t, lambda t: t)
    copied = saved_tensors_hooks(lambda t: t.detach().clone().tolist(), torch.tensor)
    x = leaf(1.0, 2.0)
    want = second(x, torch.enable_grad())
    assert second(x, plain) == second(x, copied) == pytest.approx(want)


def test_saved_on_the_cpu():
    x = leaf(1.0, 2.0)
    for arguments in ({}, {"pin_memory": True}):
        with save_on_cpu(**arguments):
            y = (x * x).sum()
        y.backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_hooks_for_one_saved_tensor():
    x = leaf(1.0, 2.0)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t + 1, lambda t: t)
    with pytest.raises(RuntimeError, match="already"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    kept = y.grad_fn._raw_saved_other
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 5.0]
    with pytest.raises(RuntimeError, match="freed"):
        kept.register_hooks(lambda t: t, lambda t: t)


def test_compiled_functions_keep_through_hooks():
    @torch.compile
    def f(x, w):
        return (x * w).exp()

    x, w = leaf(0.5, 1.0), leaf(1.0, 2.0)
    counts = {"pack": 0, "unpack": 0}

    def count(name, t):
        counts[name] += 1
        return t.detach().clone() if name == "pack" else t

    with saved_tensors_hooks(lambda t: count("pack", t), lambda t: count("unpack", t)):
        y = f(x, w)
    y.sum().backward()
    want = (x.detach() * w.detach()).exp()
    assert x.grad.tolist() == pytest.approx((want * w.detach()).tolist())
    assert w.grad.tolist() == pytest.approx((want * x.detach()).tolist())
    assert counts["pack"] >= 2 and counts["unpack"] >= 2


def test_saved_tensors_that_are_written_to():
    allowed = torch.autograd.graph.allow_mutation_on_saved_tensors
    x = torch.ones(3, requires_grad=True)
    with allowed():
        y = x * 2
        z = y**3
        y.zero_()
        (g,) = torch.autograd.grad(z.sum(), x, create_graph=True)
        assert g.tolist() == [24.0] * 3
        assert torch.autograd.grad(g.sum(), x)[0].tolist() == [48.0] * 3
        with pytest.raises(RuntimeError, match="nested"), allowed():
            pass
    with allowed() as kept:
        y = (x * x).sum()
        z = (x * x).sum()
        kept.clear()
    for each in (y, z):
        with pytest.raises(AssertionError, match="outside"):
            each.backward()
    with allowed():
        y = x.sin()
        z = y.exp() * y
        z.mul_(2)
        with torch.no_grad():
            x.mul_(3)
        z.sum().backward()
    assert [round(v, 3) for v in x.grad.tolist()] == [4.616] * 3


MEMORY = """
import resource
import minidynamo as torch
n = 1 << 21
x = torch.ones(n, requires_grad=True)
y = (x * 1).relu()
y.sum().backward()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
y = x * 1
for _ in range(40):
    y = {step}
y.sum().backward()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / (n * 4 / 1024))
"""


@pytest.mark.parametrize(
    "step, most", [("y + 1", 8), ("-y", 8), ("(y + 1).relu()", 50), ("y.view(2, -1).t().contiguous().view(-1)", 8)]
)
def test_only_what_is_read_is_kept(step, most):
    """Of 40 calls, or 80: how many times the memory of one result is needed at most."""
    found = subprocess.run([sys.executable, "-c", MEMORY.format(step=step)], capture_output=True, text=True, check=True)
    assert float(found.stdout) < most

"""Floats that change from call to call, and floats made of sizes: inputs of graphs, not constants."""

import math

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter


def X(n=4):
    return torch.arange(1, n + 1, dtype=torch.float32)


FLOATS = (0.5, 1.5, 2.5, -3.25, 1e30)


class Holder:
    def __init__(self, value):
        self.value = value


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.by = 1.0

    def forward(self, x):
        return x * self.by


SCALE = Scale()


def scaled_by_module(x, f):
    SCALE.by = f
    return SCALE(x)


# Functions of a tensor and a float: how often they are compiled for FLOATS.
OF_FLOATS = [
    (lambda x, f: x * f, 2),
    (lambda x, f: (x + f * 2 - 1, f, -f, f / 3, f // 1, f % 2, f * f, abs(f), f**3), 2),
    (lambda x, f: (x.long() * f, x.half() - f, x.double() / f, f - x, f / x, x > f), 2),
    (lambda x, f: torch.where(x > f, x, f).clamp(min=f), 2),
    (lambda x, f: x * (f if f > -10 else 2.0), 2),
    (lambda x, f: x * f if f else x, 2),
    (lambda x, f: (x * f, f > 1.0, f == 1.5, not f), 2),
    (lambda x, f: x * math.sqrt(abs(f)) + math.sin(f), 2),
    (lambda x, f: x * float(f) + max(f, 1.0) - min(f, 2.0), 2),
    (lambda x, f: torch.tensor(f) * x + torch.tensor([f, 1, 2, 3.0]), 2),
    (lambda x, f: x * Holder(f).value, 2),
    (scaled_by_module, 2),
    (lambda x, f: (x + 1, isinstance(f, float), type(f)), 1 + 1),
    (lambda x, f: torch.add(x, x, alpha=f), 2),
    (lambda x, f: (x + 1, str(f)), 5),
]
SIZES = (4, 5, 6, 7, 12)
OF_SIZES = [
    (lambda x: x * x.shape[0] ** -0.5, 2),
    (lambda x: x / math.sqrt(x.shape[0]) * (1 / x.shape[0]), 2),
    (lambda x: (x + 1, x.shape[0] / 3, x.shape[0] ** 0.5, x.shape[0] * 0.5, -(x.shape[0] / 2)), 2),
    (lambda x: x * float(x.shape[0]) - math.log(x.shape[0]), 2),
    (lambda x: (x[: int(x.shape[0] / 2)], x[: math.ceil(x.shape[0] / 2)], x[: math.floor(x.shape[0] * 0.5)]), 2),
    (lambda x: torch.softmax(x * (x.size(-1) ** -0.5), -1), 2),
    (lambda x: x * 2 if x.shape[0] / 2 > 1.5 else x, 2),
    (lambda x: x * 2 + 1 if x.shape[0] > 2.5 else x + 1, 2),
    (lambda x: x * torch.sym_float(torch.sym_max(x.shape[0], 5)), 2),
    (lambda x: (x[: torch.sym_int(x.shape[0] / 2)], torch.sym_min(x.shape[0], 6), torch.sym_sum([x.shape[0], 1])), 2),
    (lambda x: x * max(x.shape[0], 5) - min(x.shape[0], 50), 2),
]


def flat(v):
    return [x for item in v for x in flat(item)] if isinstance(v, (list, tuple)) else [v]


def agree(want, got):
    for a, b in zip(flat(want), flat(got), strict=True):
        if isinstance(a, torch.Tensor):
            assert a.dtype == b.dtype and a.shape == b.shape
            assert torch.equal(a.nan_to_num(), b.nan_to_num()), (a, b)
        else:
            assert type(a) is type(b) and repr(a) == repr(b)


def check(f, calls, compiles):
    for backend in (CompileCounter(), "inductor"):
        torch._dynamo.reset()
        compiled = torch.compile(f, backend=backend, fullgraph=True)
        for args in calls:
            agree(f(*args), compiled(*args))
        if isinstance(backend, CompileCounter):
            assert backend.frame_count == compiles


@pytest.mark.parametrize("case", range(len(OF_FLOATS)))
def test_a_float_that_changes(case):
    f, compiles = OF_FLOATS[case]
    check(f, [(X(), value) for value in FLOATS], compiles)


@pytest.mark.parametrize("case", range(len(OF_SIZES)))
def test_a_float_made_of_sizes(case):
    f, compiles = OF_SIZES[case]
    check(f, [(X(n),) for n in SIZES], compiles)


def test_dynamic_from_the_first_call_and_never():
    for dynamic, compiles in ((True, 1), (False, 3), (None, 2)):
        torch._dynamo.reset()
        counter = CompileCounter()
        f = torch.compile(lambda x, f: x * f, backend=counter, dynamic=dynamic)
        for value in (0.5, 1.5, 2.5):
            assert torch.equal(f(X(), value), X() * value)
        assert counter.frame_count == compiles
    torch._dynamo.reset()
    counter = CompileCounter()
    with torch._dynamo.config.patch(specialize_float=True):
        f = torch.compile(lambda x, f: x * f, backend=counter)
        for value in (0.5, 1.5, 2.5):
            f(X(), value)
    assert counter.frame_count == 3


def test_what_was_decided_is_guarded():
    counter = CompileCounter()
    f = torch.compile(lambda x, f: x * f if f * 2 > 3 else x - int(f), backend=counter)
    torch._dynamo.reset()
    for value in (1.75, 2.0, 3.0, 0.25, 0.5, 1.0, 1.25, 9.0):
        want = X() * value if value * 2 > 3 else X() - int(value)
        assert torch.equal(f(X(), value), want)
    assert counter.frame_count == 3


def test_an_operation_that_fails_later_raises_where_plain_python_does():
    torch._dynamo.reset()
    seen = []

    def f(x, f):
        seen.append(f)
        return x * (1 / f)

    compiled = torch.compile(f, backend="eager")
    for value in (1.0, 2.0, 4.0):
        compiled(X(), value)
    with pytest.raises(ZeroDivisionError):
        compiled(X(), 0.0)
    assert seen == [1.0, 2.0, 4.0, 0.0]


def test_gradients_and_regions():
    torch._dynamo.reset()

    def f(x, f):
        y = torch.cond(x.sum() > 0, lambda x: x * f, lambda x: x - f, (x,))
        return (y * f).sum()

    def gradient(g, value):
        x = X().requires_grad_()
        g(x, value).backward()
        return x.grad

    compiled = torch.compile(f, fullgraph=True)
    for value in (0.5, 1.5, 2.5):
        assert torch.equal(gradient(compiled, value), gradient(f, value))


def test_odd_floats():
    torch._dynamo.reset()
    f = torch.compile(lambda x, f: (x * f, f), backend="eager")
    for value in (1.0, 2.0, math.nan, math.inf, -0.0, 0.0, 3, True, 5e-324):
        agree((X() * value, value), f(X(), value))


def test_questions_about_sizes():
    from minidynamo.fx.experimental import symbolic_shapes as shapes

    def f(x):
        n = x.sum().int().item()
        return x + 1, shapes.guard_or_false(n > 5), shapes.guard_or_true(n > 5), shapes.statically_known_true(n > 5)

    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        assert torch.compile(f, backend="eager", fullgraph=True)(X())[1:] == (False, True, False)
    assert f(X())[1:] == (True, True, True)


@pytest.mark.parametrize("name, error", [("value", ValueError), ("index", IndexError), ("type", TypeError)])
def test_checks_with_other_errors(name, error):
    torch._dynamo.reset()
    test = getattr(torch, f"_check_{name}")

    def f(x):
        test(x.shape[0] > 3, lambda: "too small")
        return x + 1

    compiled = torch.compile(f, backend="eager")
    agree(f(X()), compiled(X()))
    for g in (f, compiled):
        with pytest.raises(error, match="too small"):
            g(X(2))


F = torch.nn.functional
Y = torch.tensor([[-2.0, 0.3, 1.5], [0.0, -0.1, 4.0]])
# Ops that take numbers as settings: two compilations for any of them, the same values as plain.
WITH_SETTINGS = [
    lambda x, f: torch.lerp(x, x + 1, f),
    lambda x, f: x.clone().lerp_(x * 2, weight=f),
    lambda x, f: torch.addcmul(x, x, x + 1, value=f),
    lambda x, f: x.clone().addcdiv_(x, x + 3, value=-f),
    lambda x, f: torch.addmm(x, torch.ones(2, 2), x, beta=f, alpha=f * 2),
    lambda x, f: torch.baddbmm(x[None], torch.ones(1, 2, 2), x[None], alpha=f),
    lambda x, f: F.leaky_relu(x, f) + torch.nn.LeakyReLU(f)(x),
    lambda x, f: F.threshold(x, f, f * 3),
    lambda x, f: F.elu(x, f) + F.celu(x, alpha=f),
    lambda x, f: F.hardtanh(x, -f, f) + F.hardshrink(x, f) + F.softshrink(x, f),
    lambda x, f: F.softplus(x, f, threshold=2),
    lambda x, f: torch.linspace(0, f, 7) + torch.linspace(-f, 1.0, steps=7),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_settings_that_change_are_inputs(dtype):
    for number, f in enumerate(WITH_SETTINGS):
        torch._dynamo.reset()
        counter = CompileCounter()
        compiled = torch.compile(f, backend=counter, fullgraph=True)
        for value in (0.25, 0.75, 0.1, 1.5):
            x = Y if number in (4, 5) else Y.to(dtype)
            torch.testing.assert_close(compiled(x, value), f(x, value), rtol=1e-6, atol=1e-6, msg=str(number))
        assert counter.frame_count == 2, number


def test_whole_exponents_that_change_are_inputs():
    counter = CompileCounter()
    compiled = torch.compile(lambda x, n: (x**n, torch.pow(x, n)), backend=counter, fullgraph=True)
    for n in (2, 3, 4, 7):
        torch.testing.assert_close(compiled(Y, n), (Y**n, Y**n))
    assert counter.frame_count == 2


def test_settings_that_are_refused_are_refused():
    compiled = torch.compile(lambda x, f: F.softshrink(x, f), backend="eager")
    for f in (0.5, 0.25):
        compiled(Y, f)
    with pytest.raises(RuntimeError, match="lambda must be greater or equal to 0"):
        compiled(Y, -1.0)


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def test_items_are_settings():
    def f(x, s):
        n = s.item()
        line = torch.linspace(0, n, 3)
        return torch.lerp(x, x + 1, n), F.leaky_relu(x, n), torch.addcmul(x, x, x, value=n), x.clamp(min=n), line

    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter, fullgraph=True)
    for n in (0.25, 0.75):
        torch.testing.assert_close(compiled(Y, torch.tensor(n)), f(Y, torch.tensor(n)))
    assert counter.frame_count == 1

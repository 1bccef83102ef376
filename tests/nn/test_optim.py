"""Optimisers: against NumPy versions of their formulas, saved states, groups, hooks, bad arguments."""

import copy
import io
import math
import pickle

import numpy as np
import pytest

import minidynamo as torch

optim = torch.optim
STEPS = 20
START = np.random.default_rng(0).standard_normal((2, 3))
GRADS = np.random.default_rng(1).standard_normal((STEPS, 2, 3))


def parameter(values=START):
    return torch.tensor(values.tolist(), dtype=torch.float64).requires_grad_()


def parameters():
    return [torch.ones(2).requires_grad_()]


def run(optimizer, param, grads=GRADS):
    for grad in grads:
        param.grad = torch.tensor(grad.tolist(), dtype=torch.float64)
        optimizer.step()
    return np.array(param.tolist())


def sgd(p, grads, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    buffer = None
    for g in grads:
        g = g + weight_decay * p
        if momentum:
            buffer = g if buffer is None else momentum * buffer + (1 - dampening) * g
            g = g + momentum * buffer if nesterov else buffer
        p = p - lr * g
    return p


def moments(grads, p, update, betas=(0.9, 0.999), weight_decay=0.0):
    m = v = np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        g = g + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g**2
        p = update(p, g, m, v, t)
    return p


def adam(p, grads, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, decoupled=0.0):
    largest = [np.zeros_like(p)]

    def update(p, g, m, v, t):
        if amsgrad:
            v = largest[0] = np.maximum(largest[0], v)
        mean, square = m / (1 - betas[0] ** t), v / (1 - betas[1] ** t)
        return p * (1 - lr * decoupled) - lr * mean / (np.sqrt(square) + eps)

    return moments(grads, p, update, betas, weight_decay)


def adamw(p, grads, weight_decay=1e-2, **options):
    return adam(p, grads, decoupled=weight_decay, **options)


def nadam(p, grads, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3):
    product = [1.0]

    def mu(t):
        return betas[0] * (1 - 0.5 * 0.96 ** (t * momentum_decay))

    def update(p, g, m, v, t):
        product[0] *= mu(t)
        mean = (1 - mu(t)) / (1 - product[0]) * g + mu(t + 1) / (1 - product[0] * mu(t + 1)) * m
        return p - lr * mean / (np.sqrt(v / (1 - betas[1] ** t)) + eps)

    return moments(grads, p, update, betas, weight_decay)


def radam(p, grads, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    def update(p, g, m, v, t):
        longest = 2 / (1 - betas[1]) - 1
        r = longest - 2 * t * betas[1] ** t / (1 - betas[1] ** t)
        mean = m / (1 - betas[0] ** t)
        if r <= 5:
            return p - lr * mean
        rectified = math.sqrt((r - 4) * (r - 2) * longest / ((longest - 4) * (longest - 2) * r))
        return p - lr * mean * rectified * math.sqrt(1 - betas[1] ** t) / (np.sqrt(v) + eps)

    return moments(grads, p, update, betas, weight_decay)


def adamax(p, grads, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    largest = [np.zeros_like(p)]

    def update(p, g, m, v, t):
        largest[0] = np.maximum(betas[1] * largest[0], np.abs(g) + eps)
        return p - lr / (1 - betas[0] ** t) * m / largest[0]

    return moments(grads, p, update, betas, weight_decay)


def rmsprop(p, grads, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False):
    v = mean = buffer = np.zeros_like(p)
    for g in grads:
        g = g + weight_decay * p
        v = alpha * v + (1 - alpha) * g**2
        mean = alpha * mean + (1 - alpha) * g
        scaled = g / (np.sqrt(v - mean**2 if centered else v) + eps)
        buffer = momentum * buffer + scaled
        p = p - lr * buffer
    return p


def adagrad(p, grads, lr=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10):
    total = np.full_like(p, initial_accumulator_value)
    for t, g in enumerate(grads):
        g = g + weight_decay * p
        total = total + g**2
        p = p - lr / (1 + t * lr_decay) * g / (np.sqrt(total) + eps)
    return p


def adadelta(p, grads, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0):
    v = u = np.zeros_like(p)
    for g in grads:
        g = g + weight_decay * p
        v = rho * v + (1 - rho) * g**2
        d = np.sqrt(u + eps) / np.sqrt(v + eps) * g
        u = rho * u + (1 - rho) * d**2
        p = p - lr * d
    return p


def asgd(p, grads, lr=1e-2, lambd=1e-4, alpha=0.75, weight_decay=0.0, t0=1e6):
    eta = lr
    for t, g in enumerate(grads, 1):
        p, eta = (1 - lambd * eta) * p - eta * (g + weight_decay * p), lr / (1 + lambd * lr * t) ** alpha
    return p


def rprop(p, grads, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50)):
    size, before = np.full_like(p, lr), np.zeros_like(p)
    for g in grads:
        trend = np.sign(g * before)
        size = np.clip(size * np.choose(trend.astype(int) + 1, [etas[0], 1.0, etas[1]]), *step_sizes)
        before = np.where(trend < 0, 0.0, g)
        p = p - np.sign(before) * size
    return p


CASES = [
    ("SGD", sgd, {}),
    ("SGD", sgd, dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1)),
    ("SGD", sgd, dict(momentum=0.9, nesterov=True)),
    ("Adam", adam, {}),
    ("Adam", adam, dict(lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1, amsgrad=True)),
    ("AdamW", adamw, {}),
    ("AdamW", adamw, dict(lr=0.1, weight_decay=0.3, amsgrad=True)),
    ("NAdam", nadam, {}),
    ("NAdam", nadam, dict(lr=0.1, weight_decay=0.1, momentum_decay=0.1)),
    ("RAdam", radam, {}),
    ("RAdam", radam, dict(lr=0.1, betas=(0.8, 0.9), weight_decay=0.1)),
    ("Adamax", adamax, {}),
    ("Adamax", adamax, dict(lr=0.1, weight_decay=0.1)),
    ("RMSprop", rmsprop, {}),
    ("RMSprop", rmsprop, dict(momentum=0.9, centered=True, weight_decay=0.1)),
    ("Adagrad", adagrad, {}),
    ("Adagrad", adagrad, dict(lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5)),
    ("Adadelta", adadelta, {}),
    ("Adadelta", adadelta, dict(lr=0.3, rho=0.5, weight_decay=0.1)),
    ("ASGD", asgd, {}),
    ("ASGD", asgd, dict(lr=0.1, lambd=0.1, alpha=0.5, weight_decay=0.1)),
    ("Rprop", rprop, {}),
    ("Rprop", rprop, dict(lr=0.5, etas=(0.3, 1.5), step_sizes=(0.01, 1))),
]
# Kept in float32, as in torch: the product of NAdam, the rate of ASGD.
LOOSE = {"NAdam": 1e-6, "ASGD": 1e-6}
KINDS = ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta", "ASGD", "Rprop"]


@pytest.mark.parametrize(("name", "formula", "options"), CASES)
def test_formula(name, formula, options):
    kind, tolerance = getattr(optim, name), LOOSE.get(name, 1e-11)
    param = parameter()
    np.testing.assert_allclose(run(kind([param], **options), param), formula(START, GRADS, **options), tolerance)
    assert param.requires_grad and param.is_leaf
    param = parameter()
    wanted = formula(START, -GRADS, **options)
    np.testing.assert_allclose(run(kind([param], maximize=True, **options), param), wanted, tolerance)


ADAMS = [case for case in CASES if case[0] in ("Adam", "AdamW")]


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("lay_out", [lambda t: t, lambda t: t.t().contiguous().t()], ids=["rows", "columns"])
@pytest.mark.parametrize(("name", "formula", "options"), ADAMS)
def test_fused_formula(name, formula, options, lay_out, maximize):
    param = lay_out(parameter().detach()).requires_grad_()
    got = run(getattr(optim, name)([param], fused=True, maximize=maximize, **options), param)
    np.testing.assert_allclose(got, formula(START, -GRADS if maximize else GRADS, **options), 1e-11)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (2, 3, 4), (1, 1)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("lr", [0.125, torch.tensor(0.125)], ids=["float", "tensor"])
def test_fused_steps_are_those_of_plain_ones(shape, dtype, lr):
    torch.manual_seed(0)
    start, grads = torch.randn(shape), [torch.randn(shape) for _ in range(5)]
    results = []
    for fused in (None, True):
        param = start.clone().to(dtype).requires_grad_()
        optimizer = optim.AdamW([param], lr, weight_decay=0.1, eps=1e-3, fused=fused)
        for grad in grads:
            param.grad = grad.to(dtype)
            optimizer.step()
        assert param.dtype == dtype and param.shape == shape and optimizer.state[param]["step"] == 5
        results.append(param.detach().to(torch.float64))
    tolerance = {torch.float64: 1e-6, torch.float32: 1e-5}.get(dtype, 0.05)  # rates in float32 for a tensor lr
    torch.testing.assert_close(*results, rtol=tolerance, atol=tolerance)


def test_fused_needs_one_kernel_whatever_the_sizes_and_options():
    params = [torch.ones(*[2] * dim, 5).requires_grad_() for dim in range(12)]
    optimizer = optim.AdamW([{"params": [p], "weight_decay": 0.1 * k} for k, p in enumerate(params, 1)], fused=True)
    before = None
    for k in range(12):
        for param in params:
            param.grad = torch.ones_like(param)
        optimizer.param_groups[0]["lr"] = 0.1 / (k + 1)
        optimizer.step()
        frames = torch._dynamo.utils.counters["frames"]["total"]
        assert before in (None, frames)
        before = frames


def test_fused_steps_within_compiled_ones():
    param, other = (parameter() for _ in range(2))
    optimizer, plain = optim.AdamW([param], 0.1, fused=True), optim.AdamW([other], 0.1)

    def step(x, optimizer):
        loss = (x * x).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    compiled = torch.compile(step)
    for _ in range(4):
        assert abs(compiled(param, optimizer).item() - step(other, plain).item()) < 1e-9
    assert param.grad is None and np.allclose(param.tolist(), other.tolist(), 1e-9)


def test_fused_is_for_floating_point():
    param = torch.ones(2, dtype=torch.int64)
    param.grad = torch.ones(2, dtype=torch.int64)
    with pytest.raises(RuntimeError):
        optim.Adam([param], fused=True).step()


@pytest.mark.parametrize("name", KINDS)
def test_tensor_lr_and_ignored_options(name):
    kind, results = getattr(optim, name), []
    for options in (dict(lr=0.125), dict(lr=torch.tensor([0.125])), dict(lr=0.125, foreach=True)):
        param = parameter()
        results.append(run(kind([param], **options), param))
    np.testing.assert_allclose(results[1], results[0], 1e-5, 1e-7)  # arithmetic of rates in float32
    np.testing.assert_array_equal(results[2], results[0])


@pytest.mark.parametrize("name", KINDS)
def test_states_can_be_saved(name):
    kind = getattr(optim, name)
    options = dict(momentum=0.9) if name in ("SGD", "RMSprop") else {}
    param = parameter()
    first = kind([param], **options)
    run(first, param, GRADS[:10])
    middle, saved = np.array(param.tolist()), copy.deepcopy(first.state_dict())
    wanted = run(first, param, GRADS[10:])
    assert list(saved["state"]) == [0] and saved["param_groups"][0]["params"] == [0]
    file = io.BytesIO()
    torch.save(saved, file)
    file.seek(0)
    for state in (saved, pickle.loads(pickle.dumps(saved)), torch.load(file)):
        again = parameter(middle)
        second = kind([again], lr=5.0)
        second.load_state_dict(state)
        # ASGD's rate, in float32 before, takes the dtype of its parameter when it is loaded.
        np.testing.assert_allclose(run(second, again, GRADS[10:]), wanted, 1e-12)
        assert repr(second) == repr(first)


def test_momentum_free_sgd_keeps_no_state():
    param = parameter()
    optimizer = optim.SGD([param])
    run(optimizer, param)
    assert optimizer.state_dict()["state"] == {}


def test_states_take_the_dtype_of_parameters():
    param = parameter()
    optimizer = optim.Adam([param])
    run(optimizer, param)
    half = torch.zeros(2, 3, dtype=torch.bfloat16).requires_grad_()
    other = optim.Adam([half])
    other.load_state_dict(optimizer.state_dict())
    dtypes = {name: value.dtype for name, value in other.state[half].items()}
    assert dtypes == {"step": torch.float32, "exp_avg": torch.bfloat16, "exp_avg_sq": torch.bfloat16}


def test_lbfgs_finds_minima():
    for options in ({"lr": 0.5, "max_iter": 60}, {"line_search_fn": "strong_wolfe", "max_iter": 60}):
        x = torch.tensor([3.0, -2.0], dtype=torch.float64).requires_grad_()
        y = torch.tensor([[1.0]], dtype=torch.float64).requires_grad_()
        optimizer = optim.LBFGS([x, y], **options)

        def closure(x=x, y=y, optimizer=optimizer):
            optimizer.zero_grad()
            loss = ((x - torch.tensor([1.0, 2.0])) ** 2 * torch.tensor([1.0, 10.0])).sum() + ((y - x[0]) ** 2).sum()
            loss.backward()
            return loss

        first = optimizer.step(closure)
        assert first.item() == 4 + 160 + 4
        assert closure().item() < 1e-8, options
    x = torch.tensor([-1.2, 1.0], dtype=torch.float64).requires_grad_()
    optimizer = optim.LBFGS([x], max_iter=100, history_size=10, line_search_fn="strong_wolfe")

    def rosenbrock():
        optimizer.zero_grad()
        loss = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
        loss.backward()
        return loss

    optimizer.step(rosenbrock)
    np.testing.assert_allclose(x.tolist(), [1, 1], 1e-5)
    assert optimizer.state[x]["n_iter"] < 60
    optimizer.param_groups[0]["line_search_fn"] = "weak"
    with torch.no_grad():
        x.fill_(3.0)
    with pytest.raises(RuntimeError):
        optimizer.step(rosenbrock)


def test_groups():
    a, b, c = (torch.ones(1).requires_grad_() for _ in range(3))
    optimizer = optim.SGD([{"params": a, "lr": 1.0}, {"params": [b]}], lr=0.5)
    optimizer.add_param_group({"params": [c], "weight_decay": 1.0})
    for param in (a, b):
        param.grad = torch.ones(1)
    optimizer.step()
    assert [param.item() for param in (a, b, c)] == [0, 0.5, 1]  # c has no gradient
    assert [group["params"] for group in optimizer.state_dict()["param_groups"]] == [[0], [1], [2]]
    assert repr(optimizer).startswith("SGD (\nParameter Group 0\n    dampening: 0\n")
    named = optim.SGD([("w", a), ("v", b)])
    assert named.param_groups[0]["param_names"] == ["w", "v"] == named.state_dict()["param_groups"][0]["param_names"]
    with pytest.raises(ValueError):
        named.add_param_group({"params": [c]})


def test_zero_grad_and_closure():
    p = torch.ones(2).requires_grad_()
    optimizer = optim.SGD([p], lr=0.25)

    @torch.no_grad()
    def outside_of_gradients():
        return optimizer.step(closure)

    def closure():
        optimizer.zero_grad()
        loss = (p**2).sum()
        loss.backward()
        return loss

    assert outside_of_gradients().item() == 2 and p.tolist() == [0.5, 0.5]
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert p.grad is None


def test_hooks():
    seen, optimizer = [], optim.SGD(parameters())
    before = optimizer.register_step_pre_hook(lambda own, args, kwargs: seen.append(("before", own, args, kwargs)))
    optimizer.register_step_post_hook(lambda own, args, kwargs: seen.append("after"))
    optimizer.step()
    assert seen == [("before", optimizer, (optimizer,), {}), "after"]
    before.remove()
    everywhere = optim.optimizer.register_optimizer_step_post_hook(lambda own, args, kwargs: seen.append("all"))
    optimizer.step()
    everywhere.remove()
    assert seen[2:] == ["after", "all"]
    optimizer.register_step_pre_hook(lambda own, args, kwargs: 3)
    with pytest.raises(RuntimeError):
        optimizer.step()
    optimizer.register_state_dict_post_hook(lambda own, state: state | {"more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda own, state: seen.append(state.pop("more")))
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen[4:] == [1]


def test_own_optimizer():
    class Sign(optim.Optimizer):
        def __init__(self, params, lr=optim.optimizer.required):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(p.grad.sign() * group["lr"])

    with pytest.raises(ValueError):
        Sign(parameters())
    p = torch.ones(2).requires_grad_()
    p.grad = torch.tensor([3.0, -2.0])
    optimizer = Sign([p], lr=0.5)
    schedule = optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    schedule.step()
    assert p.tolist() == [0.5, 1.5] and optimizer.param_groups[0]["lr"] == 0.05


BAD = [
    (TypeError, lambda: optim.SGD(torch.ones(2))),
    (TypeError, lambda: optim.SGD([{"params": set(parameters())}])),
    (TypeError, lambda: optim.SGD([3])),
    (ValueError, lambda: optim.SGD([])),
    (ValueError, lambda: optim.SGD([parameters()[0] * 2])),
    (ValueError, lambda: optim.SGD([{"params": (p := parameters())}, {"params": p}])),
    (ValueError, lambda: optim.SGD(parameters(), -1)),
    (ValueError, lambda: optim.SGD(parameters(), nesterov=True)),
    (ValueError, lambda: optim.SGD(parameters()).load_state_dict({"state": {}, "param_groups": []})),
    (ValueError, lambda: optim.SGD(parameters()).load_state_dict({"state": {}, "param_groups": [{"params": []}]})),
    (ValueError, lambda: optim.Adam(parameters(), torch.ones(2))),
    (ValueError, lambda: optim.Adam(parameters(), torch.ones(1), foreach=True)),
    (ValueError, lambda: optim.Adam(parameters(), betas=(1.0, 0.9))),
    (ValueError, lambda: optim.Adam(parameters(), betas=(0, 0.9))),
    (RuntimeError, lambda: optim.Adam(parameters(), fused=True, foreach=True)),
    (NotImplementedError, lambda: optim.Adam(parameters(), differentiable=True)),
    (ValueError, lambda: optim.Adadelta(parameters(), rho=2)),
    (ValueError, lambda: optim.Rprop(parameters(), etas=(1.2, 0.5))),
    (ValueError, lambda: optim.LBFGS([{"params": parameters()}, {"params": parameters()}])),
    (NotImplementedError, lambda: optim.Optimizer(parameters(), {}).step()),
]


@pytest.mark.parametrize(("error", "call"), BAD)
def test_bad_arguments(error, call):
    with pytest.raises(error):
        call()


def test_capturable_is_refused_when_it_steps():
    param = parameter()
    with pytest.raises(AssertionError):
        run(optim.Adam([param], capturable=True), param)

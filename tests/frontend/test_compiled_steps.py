"""Optimisers in compiled code: a step is one graph, and what it leaves behind is what a plain step leaves."""

import copy
from collections import OrderedDict

import pytest

import minidynamo as torch
from minidynamo import nn
from minidynamo._dynamo.testing import CompileCounter

F = nn.functional

OPTIMISERS = {
    "SGD": [dict(lr=0.1), dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1), dict(lr=0.1, maximize=True)],
    "Adam": [dict(), dict(amsgrad=True, weight_decay=0.1), dict(lr=torch.tensor(0.01))],
    "AdamW": [dict(), dict(weight_decay=0.3, maximize=True)],
    "NAdam": [dict()],
    "Adamax": [dict(weight_decay=0.1)],
    "Adagrad": [dict(lr_decay=0.1)],
    "Adadelta": [dict()],
    "RMSprop": [dict(), dict(momentum=0.9, centered=True)],
    "RAdam": [dict(), dict(lr=0.1, weight_decay=0.1)],
    "ASGD": [dict(), dict(lr=0.1, lambd=0.1, t0=2)],
}
CASES = [(name, options) for name, rows in OPTIMISERS.items() for options in rows]


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()  # steps of all optimisers share a code object


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))


def same(a, b):
    for p, q in zip(a, b, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-6, atol=1e-7)


def state_of(optimizer):
    return [
        value if isinstance(value, torch.Tensor) else torch.tensor(float(value))
        for group in optimizer.param_groups
        for p in group["params"]
        for value in optimizer.state[p].values()
    ]


def trained(name, options, wrap, steps=6):
    net, x = model(), torch.linspace(-1, 1, 20).view(4, 5)
    optimizer = getattr(torch.optim, name)(net.parameters(), **copy.deepcopy(options))
    step = wrap(optimizer.step)
    for _ in range(steps):
        optimizer.zero_grad()
        net(x).square().sum().backward()
        step()
    return list(net.parameters()), state_of(optimizer)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_steps_are_those_of_plain_python(name, options):
    plain = trained(name, options, lambda step: step)
    counter = CompileCounter()
    compiled = trained(name, options, lambda step: torch.compile(step, backend=counter, fullgraph=True))
    for a, b in zip(plain, compiled, strict=True):
        same(a, b)
    # The first step makes the state, where there is one; the others share a graph.
    assert counter.frame_count <= 2
    same(plain[0], trained(name, options, lambda step: torch.compile(step, fullgraph=True))[0])


def test_new_state_is_in_the_optimizer():
    net = model()
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(2, 5)).sum().backward()
    torch.compile(optimizer.step, fullgraph=True)()
    assert list(optimizer.state) == list(net.parameters())
    for p in net.parameters():
        assert set(optimizer.state[p]) == {"step", "exp_avg", "exp_avg_sq"}
        assert optimizer.state[p]["step"].item() == 1
    assert optimizer.state_dict()["state"][0]["step"].item() == 1


def test_parameters_without_gradients_are_left_alone():
    a, b = (torch.nn.Parameter(torch.ones(3)) for _ in range(2))
    optimizer = torch.optim.Adam([{"params": [a], "lr": 0.5}, {"params": [b]}], lr=0.1)
    step = torch.compile(optimizer.step, fullgraph=True)
    (a * 2).sum().backward()
    step()
    assert b.tolist() == [1, 1, 1] and a.tolist() != [1, 1, 1] and b not in optimizer.state
    b.grad = torch.ones(3)
    step()
    torch.testing.assert_close(b, torch.full((3,), 0.9), rtol=1e-5, atol=0)


def test_a_train_step_breaks_at_backward_only():
    net, other = model(), model()
    x, y = torch.randn(8, 5), torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])

    def stepper(net, optimizer):
        def train_step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
            return loss

        return train_step

    plain = stepper(net, torch.optim.AdamW(net.parameters()))
    traced = stepper(other, torch.optim.AdamW(other.parameters()))
    compiled = torch.compile(traced)
    for _ in range(5):
        assert compiled(x, y).item() == pytest.approx(plain(x, y).item(), rel=1e-5)
    same(net.parameters(), other.parameters())
    reasons = torch._dynamo.explain(traced)(x, y).break_reasons
    assert ["backward" in str(reason) for reason in reasons] == [True]


def test_zero_grad_both_ways():
    net = model()
    optimizer = torch.optim.SGD(net.parameters())
    clear = torch.compile(optimizer.zero_grad, fullgraph=True)
    net(torch.ones(1, 5)).sum().backward()
    kept = [p.grad for p in net.parameters()]
    clear(set_to_none=False)
    assert all(p.grad is g and not g.any() for p, g in zip(net.parameters(), kept, strict=True))
    clear()
    assert all(p.grad is None for p in net.parameters())
    clear()


def test_step_hooks_run_in_order():
    p = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([p], lr=1.0)
    seen = []
    optimizer.register_step_pre_hook(lambda *_: seen.append(("before", p.tolist())))
    optimizer.register_step_post_hook(lambda *_: seen.append(("after", p.tolist())))
    p.grad = torch.ones(2)
    torch.compile(optimizer.step)()
    assert seen == [("before", [1, 1]), ("after", [0, 0])]


def test_a_grad_that_was_assigned_is_read_back():
    p, new = nn.Parameter(torch.ones(3)), torch.arange(3.0)

    def f(p, x):
        old = p.grad
        p.grad = x * 2
        here = p.grad
        p.grad = None
        gone = p.grad is None
        p.grad = here + 1
        return old, here, gone

    p.grad = torch.full((3,), 7.0)
    before = p.grad
    old, here, gone = torch.compile(f, fullgraph=True)(p, new)
    assert old is before and gone and here.tolist() == [0, 2, 4] and p.grad.tolist() == [1, 3, 5]


@pytest.mark.parametrize("wrong", [torch.ones(4), torch.ones(3, dtype=torch.float64), 1.0])
def test_a_grad_that_does_not_fit_raises_as_plain(wrong):
    p = nn.Parameter(torch.ones(3))

    def f(p):
        p.grad = wrong

    with pytest.raises((RuntimeError, TypeError)) as plain:
        f(p)
    with pytest.raises(type(plain.value)) as compiled:
        torch.compile(f)(p)
    assert str(compiled.value) == str(plain.value)
    assert p.grad is None


def test_tensors_are_keys_by_identity():
    a, b = torch.ones(2), torch.ones(2)
    table = {a: 1.0}

    def f(x, y):
        table.setdefault(y, 2.0)
        return x * table[x] + table[y], x in table

    value, there = torch.compile(f, fullgraph=True)(a, b)
    assert value.tolist() == [3, 3] and there and list(table.values()) == [1.0, 2.0] and list(table)[1] is b
    with pytest.raises(KeyError):
        torch.compile(f)(torch.ones(2), a)


def test_ordered_dicts_from_outside():
    tables = [OrderedDict(a=1.0, b=2.0, c=3.0), OrderedDict(c=3.0, a=1.0, b=2.0)]
    tables[1].move_to_end("c")  # as the first again, in another order of insertion

    def f(x, table):
        total = x
        for key, value in table.items():
            total = total * value + len(key)
        return total, list(table), [*table.values()], next(reversed(table))

    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter, fullgraph=True)
    x = torch.ones(2)
    for table in [*tables, OrderedDict(b=2.0, a=1.0, c=3.0)]:
        expected, got = f(x, table), compiled(x, table)
        assert expected[0].tolist() == got[0].tolist() and expected[1:] == got[1:]
    assert counter.frame_count == 2


def test_changes_of_ordered_dicts_keep_their_order():
    def f(x, table):
        table["d"] = 4
        table.move_to_end("a")
        del table["b"]
        table.move_to_end("d", last=False)
        first = table.popitem(last=False)
        table["e"] = first
        return x + 1

    def g(x, table):
        table.clear()
        table["z"] = 1
        return x + 1

    for function in (f, g):
        plain, compiled = OrderedDict(a=1, b=2, c=3), OrderedDict(a=1, b=2, c=3)
        function(torch.ones(1), plain)
        torch.compile(function, fullgraph=True)(torch.ones(1), compiled)
        assert list(plain.items()) == list(compiled.items()) and list(reversed(plain)) == list(reversed(compiled))
        compiled.move_to_end(next(iter(compiled)))  # its own bookkeeping holds
        assert len(compiled) == len(plain)


def test_the_other_name_of_grad():
    p, q = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    q.grad = torch.tensor([3.0, 4.0])
    p._grad = q.grad
    assert p.grad is q.grad and p._grad is q.grad

    def f(p, q):
        p._grad = q._grad
        return p.grad * 2, p._grad

    p.grad = None
    doubled, same_one = torch.compile(f, fullgraph=True)(p, q)
    assert doubled.tolist() == [6, 8] and same_one is q.grad and p.grad is q.grad


@pytest.mark.parametrize("name", [*OPTIMISERS, "Rprop"])
def test_schedules_need_no_new_code(name):
    def run(wrap):
        net = model()
        optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)
        step = wrap(optimizer.step)
        for _ in range(12):
            optimizer.zero_grad()
            net(torch.linspace(-1, 1, 20).view(4, 5)).square().sum().backward()
            step()
            schedule.step()
        return list(net.parameters())

    counter = CompileCounter()
    same(run(lambda step: step), run(lambda step: torch.compile(step, backend=counter)))
    if name in OPTIMISERS:
        assert counter.frame_count <= 2


def test_a_rate_of_another_type_is_another_graph():
    p = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([p], lr=1.0)
    step = torch.compile(optimizer.step, fullgraph=True)
    for lr in (1.0, 2.0, 3, torch.tensor(4.0), 5.0):
        p.grad = torch.ones(2)
        optimizer.param_groups[0]["lr"] = lr
        step()
    assert p.tolist() == [-14, -14]

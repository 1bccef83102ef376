"""Names programs ask for beside tensors: sizes as numbers, checks, random streams, settings and profiles."""

import copy
import pickle

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter
from minidynamo.profiler import profile, schedule

NUMBERS = [
    (lambda n: torch.sym_max(n, 4), 4),
    (lambda n: torch.sym_max(n, 2.5), 3.0),
    (lambda n: torch.sym_min(n, 4), 3),
    (lambda n: torch.sym_min(2.0, n), 2.0),
    (lambda n: torch.sym_int(n / 2), 1),
    (lambda n: torch.sym_int(-n / 2), -1),
    (lambda n: torch.sym_float(n), 3.0),
    (lambda n: torch.sym_not(n > 2), False),
    (lambda n: torch.sym_sum([n, 1, n]), 7),
    (lambda n: torch.sym_ite(n > 2, n, 0), 3),
]


@pytest.mark.parametrize("f, expected", NUMBERS)
def test_numbers_of_sizes(f, expected):
    counter = CompileCounter()
    found = f(3)
    assert found == expected and type(found) is type(expected)
    g = torch.compile(lambda x: x + f(x.shape[0]), backend=counter, fullgraph=True, dynamic=True)
    assert g(torch.zeros(3)).tolist() == [expected] * 3 and counter.frame_count == 1


CHECKS = [
    (lambda ok: torch._check_type(ok), TypeError),
    (lambda ok: torch._check_value(ok, lambda: "said"), ValueError),
    (lambda ok: torch._check_index(ok), IndexError),
    (lambda ok: torch._check_not_implemented(ok), NotImplementedError),
    (lambda ok: torch._check_with(KeyError, ok, lambda: "said"), KeyError),
    (lambda ok: torch._check_tensor_all(torch.tensor([True, ok])), RuntimeError),
]


@pytest.mark.parametrize("check, error", CHECKS)
def test_checks(check, error):
    assert check(True) is None
    with pytest.raises(error):
        check(False)


def test_checks_in_compiled_code():
    def f(x):
        torch._check_value(x.shape[0] > 2, lambda: "too short")
        return x + 1

    g = torch.compile(f, backend="eager")
    assert torch.compile(f, backend="eager", fullgraph=True)(torch.ones(3)).tolist() == [2.0] * 3
    with pytest.raises(ValueError, match="too short"):
        g(torch.ones(2))


def test_settings_are_guarded():
    counter = CompileCounter()
    f = torch.compile(
        lambda x: x + torch.are_deterministic_algorithms_enabled(),
        backend=counter,
        fullgraph=True,
    )
    found = [f(torch.zeros(())).item()]
    torch.use_deterministic_algorithms(True)
    try:
        found.append(f(torch.zeros(())).item())
    finally:
        torch.use_deterministic_algorithms(False)
    assert found == [0.0, 1.0] and counter.frame_count == 2


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copies_of_generators(copied):
    generator = torch.Generator().manual_seed(3)
    torch.rand(2, generator=generator)
    other = copied(generator)
    assert torch.rand(3, generator=generator).tolist() == torch.rand(3, generator=other).tolist()
    assert other.initial_seed() == 3


def test_random_counts():
    generator = torch.Generator().manual_seed(1)
    rates = torch.tensor([0.0, 2.0, 50.0]).expand(400, 3)
    before = torch.get_rng_state().tolist()
    drawn = torch.poisson(rates, generator=generator)
    assert torch.get_rng_state().tolist() == before and drawn.dtype == torch.float32
    assert torch.allclose(drawn.mean(0), rates[0], rtol=0.1)
    assert torch.poisson(rates, generator=generator.manual_seed(1)).tolist() == drawn.tolist()
    found = torch.binomial(torch.full((400,), 20.0), torch.full((400,), 0.25), generator=generator)
    assert abs(found.mean().item() - 5) < 0.5 and 0 <= found.min() and found.max() <= 20
    for wrong in (-rates, torch.tensor([1])):
        with pytest.raises(RuntimeError):
            torch.poisson(wrong)


def test_fork_rng_of_other_devices():
    state = torch.get_rng_state().tolist()
    with torch.random.fork_rng(devices=[], device_type="cpu"):
        torch.rand(2)
    assert torch.get_rng_state().tolist() == state


def test_sums_of_a_profile():
    with profile() as prof:
        torch.ones(3).sin()
    rows, events = prof.key_averages(), prof.events()
    total = rows.total_average()
    assert total.key == "Total" and total.count == events.total_average().count == len(events) == 2
    assert rows.self_cpu_time_total == pytest.approx(events.self_cpu_time_total)
    assert {row.key for row in events.key_averages()} == {"aten::ones", "aten::sin"} == {e.key for e in events}
    assert events[0].time_range.elapsed_us() == pytest.approx(events[0].cpu_time_total, abs=1e-3)
    assert "aten::sin" in events.table(sort_by="cpu_time_total", row_limit=5) and "aten::sin" in str(events)


@pytest.mark.parametrize("steps", [dict(wait=-1, warmup=0, active=1), dict(wait=0, warmup=0, active=0)])
def test_wrong_schedules(steps):
    with pytest.raises(AssertionError):
        schedule(**steps)

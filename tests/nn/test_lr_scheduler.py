"""Learning rate schedules against closed forms, saved schedules, averages of weights, bad arguments."""

import math
import pickle
import warnings

import numpy as np
import pytest

import minidynamo as torch

optim = torch.optim
schedules, swa = optim.lr_scheduler, optim.swa_utils


def two_groups(kind="SGD", **options):
    a, b = torch.ones(1).requires_grad_(), torch.ones(1).requires_grad_()
    return getattr(optim, kind)([{"params": [a], "lr": 0.5}, {"params": [b]}], lr=0.1, **options)


def linear(e):
    return 0.2 + 0.6 * min(e, 7) / 7


def cosine(e, period):
    return (1 + math.cos(math.pi * e / period)) / 2


SCHEDULES = {  # with the factor of the initial rate by epoch
    "LambdaLR": (lambda o: schedules.LambdaLR(o, lambda e: 0.9**e), lambda e: 0.9**e),
    "MultiplicativeLR": (lambda o: schedules.MultiplicativeLR(o, lambda e: 0.9), lambda e: 0.9**e),
    "StepLR": (lambda o: schedules.StepLR(o, 4, 0.5), lambda e: 0.5 ** (e // 4)),
    "MultiStepLR": (lambda o: schedules.MultiStepLR(o, [3, 3, 8], 0.5), lambda e: 0.5 ** (2 * (e >= 3) + (e >= 8))),
    "ConstantLR": (lambda o: schedules.ConstantLR(o, 0.25, 6), lambda e: 0.25 if e < 6 else 1),
    "LinearLR": (lambda o: schedules.LinearLR(o, 0.2, 0.8, 7), linear),
    "ExponentialLR": (lambda o: schedules.ExponentialLR(o, 0.8), lambda e: 0.8**e),
    "PolynomialLR": (lambda o: schedules.PolynomialLR(o, 9, 2.0), lambda e: (1 - min(e, 9) / 9) ** 2),
    "CosineAnnealingLR": (lambda o: schedules.CosineAnnealingLR(o, 7), lambda e: cosine(e, 7)),
    "CosineAnnealingWarmRestarts": (
        lambda o: schedules.CosineAnnealingWarmRestarts(o, 4, 2),
        lambda e: cosine(e, 4) if e < 4 else cosine(e - 4, 8) if e < 12 else cosine(e - 12, 16),
    ),
    "SequentialLR": (
        lambda o: schedules.SequentialLR(o, [schedules.ConstantLR(o, 0.1, 9), schedules.ExponentialLR(o, 0.9)], [5]),
        lambda e: 0.1 if e < 5 else 0.9 ** (e - 5),
    ),
    "ChainedScheduler": (
        lambda o: schedules.ChainedScheduler([schedules.ConstantLR(o, 0.1, 6), schedules.ExponentialLR(o, 0.9)]),
        lambda e: 0.9**e * (0.1 if e < 6 else 1),
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule(name):
    make, factor = SCHEDULES[name]
    optimizer = two_groups()
    schedule = make(optimizer)
    for epoch in range(20):
        assert schedule.get_last_lr() == [group["lr"] for group in optimizer.param_groups]
        np.testing.assert_allclose(schedule.get_last_lr(), [0.5 * factor(epoch), 0.1 * factor(epoch)], 1e-9, 1e-12)
        if epoch == 9:
            states = pickle.loads(pickle.dumps((schedule.state_dict(), optimizer.state_dict())))
            optimizer = two_groups()
            schedule = make(optimizer)
            schedule.load_state_dict(states[0])
            optimizer.load_state_dict(states[1])
        optimizer.step()
        schedule.step()


def test_cyclic_schedules():
    optimizer = two_groups("AdamW")
    schedule = schedules.CyclicLR(optimizer, 0.1, 0.5, 4, mode="triangular2")
    found = [(schedule.get_last_lr()[0], optimizer.param_groups[0]["betas"][0])]
    for _ in range(16):
        optimizer.step()
        schedule.step()
        found.append((schedule.get_last_lr()[0], optimizer.param_groups[0]["betas"][0]))
    assert schedule.state_dict()["last_epoch"] == 16
    np.testing.assert_allclose([rate for rate, _ in found[::4]], [0.1, 0.5, 0.1, 0.3, 0.1])
    np.testing.assert_allclose([momentum for _, momentum in found[::4]], [0.9, 0.8, 0.9, 0.85, 0.9])
    optimizer = two_groups(momentum=0.9)
    schedule = schedules.OneCycleLR(optimizer, [1.0, 0.5], total_steps=21, pct_start=11 / 21, anneal_strategy="linear")
    rates = [schedule.get_last_lr()]
    for _ in range(20):
        optimizer.step()
        schedule.step()
        rates.append(schedule.get_last_lr())
    np.testing.assert_allclose([rates[0], rates[10], rates[20]], [[0.04, 0.02], [1, 0.5], [4e-6, 2e-6]])
    np.testing.assert_allclose([rates[5][0], rates[15][0]], [0.52, 0.500002])
    assert optimizer.param_groups[0]["momentum"] == pytest.approx(0.95)
    schedule.step()
    with pytest.raises(ValueError):
        schedule.step()


def test_plateau():
    optimizer = two_groups()
    schedule = schedules.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=2, min_lr=0.03)
    rates = []
    for metric in (1, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, torch.tensor(0.9), 0.9, 0.9, 0.9, 0.9):
        schedule.step(metric)
        rates.append(schedule.get_last_lr())
    assert [rate[0] for rate in rates] == [0.5] * 3 + [0.25] * 4 + [0.125] * 4 + [0.0625]
    assert rates[-1][1] == 0.03
    other = schedules.ReduceLROnPlateau(two_groups(), mode="max")
    other.load_state_dict(schedule.state_dict())
    assert other.best == 0.9 and other.mode == "min"


def test_warnings_of_schedules():
    optimizer = two_groups()
    schedule = schedules.StepLR(optimizer, 2)
    with pytest.warns(UserWarning):
        schedule.step()  # before the optimizer
    with pytest.warns(UserWarning):
        schedule.get_lr()
    with pytest.warns(UserWarning):
        schedule.step(7)
    assert schedule.get_last_lr() == pytest.approx([0.0005, 0.0001])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer = two_groups()
        schedule = schedules.StepLR(optimizer, 2)
        optimizer.step()
        schedule.step()


def test_averages():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    mean = swa.AveragedModel(model)
    exponential = swa.AveragedModel(model, multi_avg_fn=swa.get_ema_multi_avg_fn(0.75))
    for value in (1.0, 2.0, 6.0):
        with torch.no_grad():
            model[0].weight.fill_(value)
        mean.update_parameters(model)
        exponential.update_parameters(model)
    assert mean.n_averaged.item() == 3 and torch.equal(mean.module[0].weight, torch.full((2, 2), 3.0))
    assert torch.allclose(exponential.module[0].weight, torch.full((2, 2), (1 * 0.75 + 2 * 0.25) * 0.75 + 6 * 0.25))
    mean.eval()
    batches = [torch.randn(8, 2) for _ in range(3)]
    swa.update_bn([[batch, "label"] for batch in batches], mean)
    wanted = torch.stack([mean.module[0](batch).mean(0) for batch in batches]).mean(0)
    assert torch.allclose(mean.module[1].running_mean, wanted, atol=1e-6)
    assert mean.module[1].momentum == 0.1 and not mean.training
    optimizer = two_groups()
    schedule = swa.SWALR(optimizer, 0.02, 4, "linear")
    for _ in range(6):
        optimizer.step()
        schedule.step()
    assert schedule.get_last_lr() == pytest.approx([0.02, 0.02])


BAD = [
    (TypeError, lambda: schedules.StepLR(3, 1)),
    (KeyError, lambda: schedules.StepLR(two_groups(), 1, last_epoch=3)),
    (ValueError, lambda: schedules.LambdaLR(two_groups(), [abs])),
    (TypeError, lambda: schedules.MultiplicativeLR(two_groups(), 3)),
    (ValueError, lambda: schedules.ConstantLR(two_groups(), 2)),
    (ValueError, lambda: schedules.LinearLR(two_groups(), 0)),
    (ValueError, lambda: schedules.ReduceLROnPlateau(two_groups(), factor=1.0)),
    (ValueError, lambda: schedules.ReduceLROnPlateau(two_groups(), "median")),
    (ValueError, lambda: schedules.CyclicLR(two_groups(), 0.1, 0.2, mode="square")),
    (ValueError, lambda: schedules.CyclicLR(two_groups("Adagrad"), 0.1, 0.2)),
    (ValueError, lambda: schedules.OneCycleLR(two_groups(), 0.1)),
    (ValueError, lambda: schedules.OneCycleLR(two_groups(), 0.1, total_steps=5, pct_start=2.0)),
    (ValueError, lambda: schedules.CosineAnnealingWarmRestarts(two_groups(), 0)),
    (ValueError, lambda: schedules.SequentialLR(two_groups(), [], [])),
    (ValueError, lambda: schedules.ChainedScheduler([schedules.ReduceLROnPlateau(two_groups())])),
    (ValueError, lambda: swa.get_ema_avg_fn(2)),
    (ValueError, lambda: swa.SWALR(two_groups(), 0.1, -1)),
    (AssertionError, lambda: swa.AveragedModel(torch.nn.Linear(1, 1), avg_fn=abs, multi_avg_fn=abs)),
]


@pytest.mark.parametrize(("error", "call"), BAD)
def test_bad_arguments(error, call):
    with pytest.raises(error):
        call()

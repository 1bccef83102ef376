"""Muon and Adafactor: after four steps what torch 2.13 gives, compiled as plain; refusals and saved states."""

import math

import pytest

import minidynamo as torch

Muon, Adafactor = torch.optim.Muon, torch.optim.Adafactor
# What makes the optimiser, the sizes of the parameter, torch's first numbers, the tolerance (Muon works in bfloat16).
CASES = [
    (lambda p: Muon(p), (4, 3), [0.841277, 0.978854, 0.984118, 0.856426], 2e-3),
    (
        lambda p: Muon(p, lr=0.1, nesterov=False, adjust_lr_fn="match_rms_adamw", weight_decay=0),
        (3, 5),
        [0.846122, 0.955451, 0.968206, 0.803089],
        1e-2,
    ),
    (lambda p: Adafactor(p), (4, 3), [0.825971, 0.957318, 0.960095, 0.836621], 1e-5),
    (
        lambda p: Adafactor(p, lr=0.5, weight_decay=0.1, d=1.5, maximize=True),
        (5,),
        [2.896598, 3.220167, 2.902632, 2.179883],
        1e-5,
    ),
    (lambda p: Adafactor(p, lr=0.5, eps=(1e-4, 1e-2)), (2, 3, 4), [0.368630, 0.242169, 0.126597, 0.012369], 1e-5),
    (lambda p: Adafactor(p, lr=torch.tensor(0.01)), (4, 3), [0.825971, 0.957318, 0.960095, 0.836621], 1e-5),
]


def waves(shape, shift):
    return (torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape) * 0.37 + shift).sin()


def trained(make, shape, compiled):
    torch._dynamo.reset()
    param = torch.nn.Parameter(waves(shape, 1))
    optimizer = make([param])

    def plain():
        optimizer.step()

    step = torch.compile(plain, fullgraph=True) if compiled else plain
    for t in range(4):
        param.grad = waves(shape, t * 0.7) * (t + 1)
        if t == 2:
            optimizer.param_groups[0]["lr"] = optimizer.param_groups[0]["lr"] * 0.5
        step()
    return param.detach(), optimizer


@pytest.mark.parametrize("case", CASES)
def test_steps_are_those_of_torch(case):
    make, shape, wanted, tolerance = case
    plain, optimizer = trained(make, shape, False)
    compiled, _ = trained(make, shape, True)
    assert plain.flatten()[:4].tolist() == pytest.approx(wanted, abs=tolerance)
    torch.testing.assert_close(compiled, plain, rtol=1e-6, atol=1e-6)
    fresh = make([torch.nn.Parameter(waves(shape, 1))])
    fresh.load_state_dict(optimizer.state_dict())
    assert fresh.state_dict()["param_groups"] == optimizer.state_dict()["param_groups"]


def test_states_and_options_have_torch_names():
    _, muon = trained(CASES[0][0], (4, 3), False)
    assert list(muon.state_dict()["state"][0]) == ["momentum_buffer"]
    assert "foreach" not in muon.param_groups[0] and muon.param_groups[0]["ns_steps"] == 5
    _, matrix = trained(CASES[2][0], (4, 3), False)
    assert list(matrix.state_dict()["state"][0]) == ["step", "row_var", "col_var"]
    _, vector = trained(CASES[3][0], (5,), False)
    assert list(vector.state_dict()["state"][0]) == ["step", "variance"]


def test_what_is_refused():
    matrix, vector = torch.ones(2, 2).requires_grad_(), torch.ones(2).requires_grad_()
    with pytest.raises(ValueError, match="2D"):
        Muon([vector])
    for options in ({"lr": -1}, {"momentum": -1}, {"weight_decay": -1}, {"adjust_lr_fn": "none"}):
        with pytest.raises(ValueError):
            Muon([matrix], **options)
    for options in ({"lr": -1}, {"beta2_decay": 0.1}, {"d": 0.5}, {"eps": (-1, 1)}, {"eps": (None, -1)}):
        with pytest.raises(ValueError):
            Adafactor([matrix], **options)
    matrix.grad = torch.ones(2, 2)
    for options in ({"ns_steps": 100}, {"ns_coefficients": (1.0, 2.0)}):
        with pytest.raises(ValueError):
            Muon([matrix], **options).step()
    z = torch.ones(2, 2, dtype=torch.complex64).requires_grad_()
    z.grad = torch.ones_like(z)
    for kind in (Muon, Adafactor):
        with pytest.raises(RuntimeError, match="complex"):
            kind([z]).step()

"""nn.init: values, deviations and bounds by the formulas of the papers, generators, exceptions."""

import math

import pytest

import minidynamo as torch

init = torch.nn.init


def seeded(n=0):
    made = torch.Generator()
    made.manual_seed(n)
    return made


def test_constants():
    w = torch.empty(2, 3)
    assert init.ones_(w) is w and w.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert init.zeros_(w).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert init.constant_(w, 2.5).tolist() == [[2.5] * 3] * 2
    assert init.eye_(w).tolist() == [[1, 0, 0], [0, 1, 0]]
    with pytest.raises(ValueError):
        init.eye_(torch.empty(3))


def test_parameters_are_filled_without_a_gradient():
    p = torch.nn.Parameter(torch.empty(3, 4))
    for fill in (init.uniform_, init.normal_, init.orthogonal_, init.kaiming_uniform_, init.xavier_normal_):
        assert fill(p) is p and p.is_leaf and p.requires_grad and p.grad is None


@pytest.mark.parametrize(
    "fill, low, high",
    [
        (lambda w: init.uniform_(w, -3, 5), -3, 5),
        (lambda w: init.xavier_uniform_(w, 2.0), -2 * math.sqrt(6 / 500), 2 * math.sqrt(6 / 500)),
        (lambda w: init.kaiming_uniform_(w, nonlinearity="relu"), -math.sqrt(6 / 300), math.sqrt(6 / 300)),
        (lambda w: init.kaiming_uniform_(w, 1.0, "fan_out"), -math.sqrt(3 / 200), math.sqrt(3 / 200)),
        (lambda w: init.trunc_normal_(w, 0, 1, -0.5, 0.25), -0.5, 0.25),
    ],
)
def test_bounds(fill, low, high):
    torch.manual_seed(0)
    w = fill(torch.empty(200, 300))
    span = high - low
    assert low <= w.min().item() < low + 0.01 * span and high - 0.01 * span < w.max().item() <= high


@pytest.mark.parametrize(
    "fill, deviation",
    [
        (lambda w: init.normal_(w, 0, 3), 3),
        (lambda w: init.xavier_normal_(w), math.sqrt(2 / 500)),
        (lambda w: init.kaiming_normal_(w, mode="fan_out"), math.sqrt(2 / (1 + 1e-4) / 200)),
        (lambda w: init.kaiming_normal_(w, nonlinearity="tanh"), 5 / 3 / math.sqrt(300)),
    ],
)
def test_deviations(fill, deviation):
    torch.manual_seed(0)
    w = fill(torch.empty(200, 300))
    assert w.std().item() == pytest.approx(deviation, rel=0.02) and abs(w.mean().item()) < 0.03 * deviation


def test_truncated_normal_far_in_a_tail():
    torch.manual_seed(0)
    w = init.trunc_normal_(torch.empty(1000), mean=0.0, std=1.0, a=6.0, b=7.0)
    assert 6 <= w.min().item() and w.max().item() <= 7 and w.mean().item() < 6.3
    with pytest.raises(ValueError):
        init.trunc_normal_(w, a=1.0, b=1.0)


@pytest.mark.parametrize(
    "fill",
    [
        init.uniform_,
        init.normal_,
        lambda w, generator: init.trunc_normal_(w, a=-0.1, b=0.1, generator=generator),
        init.xavier_uniform_,
        init.xavier_normal_,
        init.kaiming_uniform_,
        init.kaiming_normal_,
        init.orthogonal_,
        lambda w, generator: init.sparse_(w, 0.3, generator=generator),
    ],
)
def test_a_generator_decides_and_the_default_stream_stays(fill):
    state = torch.get_rng_state()
    one, same, other = (fill(torch.empty(6, 8), generator=seeded(n)) for n in (1, 1, 2))
    assert torch.equal(one, same) and not torch.equal(one, other)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("shape", [(5, 5), (3, 8), (8, 3), (1, 4), (4, 1), (4, 2, 3), (100, 90)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_orthogonal(shape, dtype):
    gain = 1.5
    q = init.orthogonal_(torch.empty(shape, dtype=dtype), gain, generator=seeded()).reshape(shape[0], -1) / gain
    product = q @ q.t() if q.size(0) <= q.size(1) else q.t() @ q
    off = (product - torch.eye(product.size(0), dtype=dtype)).abs().max().item()
    assert off < (1e-6 if dtype == torch.float32 else 1e-14)


def test_orthogonal_is_the_q_of_what_the_generator_gives():
    drawn = torch.empty(6, 4, dtype=torch.float64).normal_(0, 1, generator=seeded(4))
    q = init.orthogonal_(torch.empty(6, 4, dtype=torch.float64), generator=seeded(4))
    r = q.t() @ drawn
    assert r.tril(-1).abs().max().item() < 1e-14 and bool((r.diagonal() > 0).all())
    assert init.orthogonal_(torch.empty(0, 3)).shape == (0, 3)
    with pytest.raises(ValueError):
        init.orthogonal_(torch.empty(3))


@pytest.mark.parametrize("shape", [(4, 2, 3), (4, 2, 3, 5), (4, 2, 3, 3, 3)])
def test_dirac(shape):
    w = init.dirac_(torch.empty(shape))
    centre = tuple(n // 2 for n in shape[2:])
    assert w.sum().item() == 2 and w[(0, 0, *centre)] == w[(1, 1, *centre)] == 1
    w = init.dirac_(torch.empty(shape), groups=2)
    assert w.sum().item() == 4 and w[(2, 0, *centre)] == w[(3, 1, *centre)] == 1


def test_dirac_keeps_channels():
    x = torch.randn(1, 3, 8)
    w = init.dirac_(torch.empty(3, 3, 3))
    assert torch.equal(torch.nn.functional.conv1d(x, w, padding=1), x)
    with pytest.raises(ValueError):
        init.dirac_(torch.empty(3, 3))
    with pytest.raises(ValueError):
        init.dirac_(w, groups=2)


def test_sparse():
    w = init.sparse_(torch.empty(10, 7), 0.25, std=2.0, generator=seeded())
    assert (w == 0).sum(0).tolist() == [3] * 7
    with pytest.raises(ValueError):
        init.sparse_(torch.empty(10), 0.1)


def test_gains():
    assert (
        init.calculate_gain("linear") == init.calculate_gain("conv_transpose3d") == init.calculate_gain("sigmoid") == 1
    )
    assert init.calculate_gain("tanh") == 5 / 3 and init.calculate_gain("selu") == 0.75
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("leaky_relu", 0.2) == math.sqrt(2 / 1.04)
    for arguments in (("leaky_relu", True), ("leaky_relu", "a"), ("gelu",)):
        with pytest.raises(ValueError):
            init.calculate_gain(*arguments)


def test_fans_need_two_dimensions_and_elements():
    for fill in (init.xavier_uniform_, init.xavier_normal_, init.kaiming_uniform_, init.kaiming_normal_):
        with pytest.raises(ValueError):
            fill(torch.empty(3))
    with pytest.raises(ValueError):
        init.kaiming_uniform_(torch.empty(3, 3), mode="fan")
    with pytest.warns(UserWarning):
        assert init.kaiming_normal_(torch.empty(0, 3)).shape == (0, 3)


def test_old_names_warn():
    with pytest.warns(FutureWarning):
        assert init.constant(torch.empty(2), 3.0).tolist() == [3, 3]
    with pytest.warns(FutureWarning):
        init.xavier_normal(torch.empty(2, 2))
    assert init.orthogonal.__name__ == "orthogonal"

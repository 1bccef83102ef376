"""Pooling without an op of its own, against windows taken by NumPy; maxima put back; transposed convolution."""

import numpy as np
import pytest

import minidynamo as torch

F, nn = torch.nn.functional, torch.nn
rng = np.random.default_rng(0)


def adaptive_bounds(size, count):
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("wanted", [3, (2, 3, 4), (None, 1, 2)])
def test_adaptive_pooling_of_volumes(wanted, compiled):
    values = rng.normal(size=(2, 2, 4, 5, 6))
    x = torch.tensor(values)
    sizes = [w or n for w, n in zip(wanted if isinstance(wanted, tuple) else (wanted,) * 3, (4, 5, 6))]
    average, largest = nn.AdaptiveAvgPool3d(wanted), nn.AdaptiveMaxPool3d(wanted, return_indices=True)
    if compiled:
        average, largest = torch.compile(average), torch.compile(largest)
    means, (maxima, places) = average(x), largest(x)
    assert means.shape == maxima.shape == places.shape == (2, 2, *sizes)
    bounds = [adaptive_bounds(n, c) for n, c in zip((4, 5, 6), sizes)]
    for d, h, w in np.ndindex(*sizes):
        (d0, d1), (h0, h1), (w0, w1) = bounds[0][d], bounds[1][h], bounds[2][w]
        window = values[:, :, d0:d1, h0:h1, w0:w1].reshape(2, 2, -1)
        np.testing.assert_allclose(means[..., d, h, w].numpy(), window.mean(-1))
        assert np.array_equal(maxima[..., d, h, w].numpy(), window.max(-1))
    assert torch.equal(x.flatten(2).gather(2, places.flatten(2)).view(maxima.shape), maxima)
    assert torch.equal(average(x[0]), means[0]) and torch.equal(largest(x[0])[1], places[0])


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_norm_pooling(dims):
    x = torch.tensor(np.abs(rng.normal(size=(1, 2, *(6,) * dims))) + 0.1, requires_grad=True)
    made = getattr(nn, f"LPPool{dims}d")(3, 2)
    found = made(x)
    for index in np.ndindex(*(3,) * dims):
        window = x[(0, 0, *(slice(2 * i, 2 * i + 2) for i in index))].detach().numpy()
        assert found[(0, 0, *index)].item() == pytest.approx((window**3).sum() ** (1 / 3))
    assert torch.autograd.gradcheck(torch.compile(made), (x,))
    assert repr(made) == f"LPPool{dims}d(norm_type=3, kernel_size=2, stride=None, ceil_mode=False)"


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_maxima_put_back(dims, compiled):
    x = torch.tensor(rng.normal(size=(2, 3, *(5,) * dims)))
    pool = getattr(nn, f"MaxPool{dims}d")(2, return_indices=True)
    unpool = getattr(nn, f"MaxUnpool{dims}d")(2)

    def there_and_back(x):
        return unpool(*pool(x), output_size=x.size())

    found = (torch.compile(there_and_back) if compiled else there_and_back)(x)
    assert found.shape == x.shape
    kept = found != 0
    assert torch.equal(found[kept], x[kept]) and kept.sum().item() == 6 * 2**dims
    assert torch.equal(pool(found.masked_fill(~kept, -9.0))[0], pool(x)[0])
    assert torch.autograd.gradcheck(there_and_back, (x[:1, :1].clone().requires_grad_(),))


@pytest.mark.parametrize("dims", [2, 3])
def test_fractional_pooling(dims):
    x = torch.tensor(rng.normal(size=(2, 3, *(9,) * dims)), requires_grad=True)
    made = getattr(nn, f"FractionalMaxPool{dims}d")(2, output_size=5, return_indices=True)
    torch.manual_seed(0)
    maxima, places = made(x)
    assert maxima.shape == (2, 3, *(5,) * dims)
    assert torch.equal(x.flatten(2).gather(2, places.flatten(2)).view(maxima.shape), maxima)
    coordinates = np.stack(np.unravel_index(places[0, 0].numpy(), (9,) * dims))
    steps = np.diff(coordinates[0], axis=0)
    assert steps.min() >= -1 and steps.max() <= 4  # windows of 2, 1 to 3 apart
    half = getattr(F, f"fractional_max_pool{dims}d")(x, 2, output_ratio=0.5)
    assert half.shape == (2, 3, *(4,) * dims)
    draws = torch.tensor(rng.random((2, 3, dims)))
    again = [getattr(F, f"fractional_max_pool{dims}d")(x, 2, 5, _random_samples=draws) for _ in range(2)]
    assert torch.equal(*again)
    again[0].sum().backward()
    assert x.grad.sum().item() == again[0].numel()


def test_positions_of_fractional_windows():
    """Windows of 2 in 6 at 0, 1, 2, 4 for a draw of 0, and 0, 1, 3, 4 for one of 0.6: multiples of 4/3, truncated."""
    x = torch.arange(6.0).view(1, 1, 1, 6).expand(1, 1, 2, 6)
    for draw, ends in ((0.0, [1, 2, 3, 5]), (0.6, [1, 3, 4, 5])):
        found = F.fractional_max_pool2d(x, 2, output_size=(1, 4), _random_samples=torch.tensor([[[draw, 0.0]]]))
        assert found.flatten().tolist() == ends


@pytest.mark.parametrize(
    "settings",
    [{}, {"stride": 2, "padding": 1, "output_padding": 1}, {"groups": 2, "dilation": 2}, {"stride": (3, 1, 2)}],
)
def test_transposed_convolution_is_the_transpose(settings):
    """<conv(y), x> = <y, conv_transpose(x)> for all x and y."""
    made = nn.ConvTranspose3d(4, 6, 3, bias=False, dtype=torch.float64, **settings)
    x = torch.tensor(rng.normal(size=(2, 4, 2, 3, 2)))
    found = made(x)
    y = torch.tensor(rng.normal(size=found.shape))
    there = F.conv3d(y, made.weight, None, made.stride, made.padding, made.dilation, made.groups)
    assert there.shape == x.shape
    assert (there * x).sum().item() == pytest.approx((y * found).sum().item())
    assert torch.allclose(torch.compile(made)(x), found) and torch.allclose(made(x[0]), found[0])


def test_output_size_of_transposed_convolution():
    for dims in (1, 2, 3):
        made = getattr(nn, f"ConvTranspose{dims}d")(2, 2, 3, stride=2)
        x = torch.ones(1, 2, *(4,) * dims)
        assert made(x).shape == (1, 2, *(9,) * dims)
        assert made(x, output_size=(10,) * dims).shape == made(x, output_size=(1, 2, *(10,) * dims)).shape
        for wrong in ((11,) * dims, (9,) * (dims + 1)):
            with pytest.raises(ValueError):
                made(x, output_size=wrong)


def test_convolution_over_time():
    x, weight, bias = (torch.tensor(rng.normal(size=s)) for s in ((6, 2, 3), (3, 3, 4), (4,)))
    wanted = F.conv1d(x.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=1).permute(2, 0, 1)
    assert torch.equal(F.conv_tbc(x, weight, bias, 1), wanted)


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda: F.max_unpool1d(torch.ones(1, 1, 2), torch.zeros(1, 1, 3, dtype=torch.int64), 2), RuntimeError),
        (lambda: F.max_unpool1d(torch.ones(1, 1, 2), torch.zeros(1, 1, 2, dtype=torch.int64), 2, output_size=(9,)),
         ValueError),
        (lambda: F.fractional_max_pool2d(torch.ones(1, 1, 4, 4), 2), ValueError),
        (lambda: F.fractional_max_pool2d(torch.ones(1, 1, 4, 4), 2, output_size=4), RuntimeError),
        (lambda: nn.FractionalMaxPool2d(2, output_ratio=1.5), ValueError),
        (lambda: F.adaptive_avg_pool3d(torch.ones(2, 2), 1), RuntimeError),
        (lambda: F.conv_transpose3d(torch.ones(1, 3, 2, 2, 2), torch.ones(2, 2, 1, 1, 1)), RuntimeError),
        (lambda: F.conv_transpose3d(torch.ones(1, 2, 2, 2, 2), torch.ones(2, 2, 1, 1, 1), output_padding=1),
         RuntimeError),
    ],
)  # fmt: skip
def test_wrong_arguments(call, kind):
    with pytest.raises(kind):
        call()

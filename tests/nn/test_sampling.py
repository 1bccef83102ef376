"""Images read at other positions: grids against a plain loop, cubic and antialiased resizing by what they keep."""

import math

import numpy as np
import pytest

import minidynamo as torch

F = torch.nn.functional
rng = np.random.default_rng(0)


def position(x, size, padding, aligned):
    p = (x + 1) / 2 * (size - 1) if aligned else ((x + 1) * size - 1) / 2
    if padding == "border":
        return min(max(p, 0.0), size - 1.0)
    if padding == "reflection":
        low, high = (0.0, size - 1.0) if aligned else (-0.5, size - 0.5)
        while p < low or p > high:
            p = 2 * low - p if p < low else 2 * high - p
        return min(max(p, 0.0), size - 1.0)
    return p


def read(image, places):
    """The linear mean of neighbours, those outside counting as 0."""
    total = 0.0
    for corner in np.ndindex(*(2,) * len(places)):
        at = [math.floor(p) + c for p, c in zip(places, corner)]
        weight = np.prod([1 - abs(p - a) for p, a in zip(places, at)])
        if all(0 <= a < n for a, n in zip(at, image.shape)):
            total += weight * image[tuple(at)]
    return total


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("sizes", [(4, 5), (3, 4, 5)])
def test_grid_sample_as_a_loop(sizes, mode, padding, aligned):
    image = rng.normal(size=(1, 2, *sizes))
    grid = rng.uniform(-1.7, 1.7, size=(1, *(2, 3, 2)[: len(sizes)], len(sizes)))
    found = F.grid_sample(torch.tensor(image), torch.tensor(grid), mode, padding, aligned).numpy()
    for index in np.ndindex(*grid.shape[1:-1]):
        places = [position(x, n, padding, aligned) for x, n in zip(grid[0][index][::-1], sizes)]
        places = [float(np.round(p)) for p in places] if mode == "nearest" else places
        for channel in range(2):
            assert found[0, channel][index] == pytest.approx(read(image[0, channel], places), abs=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_gradients_of_grid_sample(mode, compiled):
    image = torch.tensor(rng.normal(size=(1, 1, 3, 4)), requires_grad=True)
    grid = torch.tensor(rng.uniform(-0.9, 0.9, size=(1, 2, 2, 2)), requires_grad=True)

    def sample(x, g):
        return F.grid_sample(x, g, mode, "border", False)

    assert torch.autograd.gradcheck(torch.compile(sample) if compiled else sample, (image, grid))


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 3, 4, 5)])
def test_the_identity_map_gives_the_image(size, aligned):
    dims = len(size) - 2
    theta = torch.eye(dims, dims + 1, dtype=torch.float64).expand(size[0], dims, dims + 1)
    grid = F.affine_grid(theta, size, aligned)
    x = torch.tensor(rng.normal(size=size))
    assert grid.shape == (size[0], *size[2:], dims)
    for mode in ("bilinear", "nearest", *(["bicubic"] if dims == 2 else [])):
        assert torch.allclose(F.grid_sample(x, grid, mode, align_corners=aligned), x)


def test_cubic_resizing_keeps_constants_and_grid_points():
    x = torch.tensor(rng.normal(size=(1, 2, 4, 5)))
    assert torch.allclose(F.interpolate(torch.full((1, 1, 4, 5), 3.0), size=(9, 7), mode="bicubic"), torch.tensor(3.0))
    aligned = F.interpolate(x, size=(7, 9), mode="bicubic", align_corners=True)
    assert torch.allclose(aligned[..., ::2, ::2], x)


def test_cubic_kernel():
    def kernel(x, a=-0.75):
        x = abs(x)
        if x < 1:
            return (a + 2) * x**3 - (a + 3) * x**2 + 1
        return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0

    impulse = torch.zeros(1, 1, 9, 9, dtype=torch.float64)
    impulse[:, :, 4] = 1
    found = F.interpolate(impulse, size=(36, 9), mode="bicubic")[0, 0, :, 0]
    wanted = [kernel((i + 0.5) / 4 - 0.5 - 4) for i in range(36)]
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-12)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialias_uses_every_element(mode):
    x = torch.tensor(rng.normal(size=(1, 1, 16, 16)), requires_grad=True)
    small = F.interpolate(x, size=(4, 4), mode=mode, antialias=True)
    small.sum().backward()
    assert (x.grad != 0).all().item() and x.grad.sum().item() == pytest.approx(16)
    large = F.interpolate(x, size=(32, 32), mode="bilinear", antialias=True)
    assert torch.allclose(large, F.interpolate(x, size=(32, 32), mode="bilinear"))


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda x: F.grid_sample(x, torch.zeros(1, 2, 2, 3)), RuntimeError),
        (lambda x: F.grid_sample(x, torch.zeros(2, 2, 2, 2)), RuntimeError),
        (lambda x: F.grid_sample(x, torch.zeros(1, 2, 2, 2), "linear"), ValueError),
        (lambda x: F.grid_sample(x, torch.zeros(1, 2, 2, 2), padding_mode="wrap"), ValueError),
        (lambda x: F.grid_sample(x, torch.zeros(1, 2, 2, 2, dtype=torch.float64)), RuntimeError),
        (lambda x: F.affine_grid(torch.zeros(1, 3, 3), (1, 1, 2, 2), False), ValueError),
        (lambda x: F.affine_grid(torch.zeros(1, 2, 3), (1, 1, 2, 0), False), ValueError),
        (lambda x: F.interpolate(x, size=(2, 2), mode="nearest", antialias=True), ValueError),
        (lambda x: F.interpolate(x, mode="bicubic"), ValueError),
        (lambda x: F.interpolate(x[0], size=(2, 2), mode="bicubic"), NotImplementedError),
    ],
)
@pytest.mark.filterwarnings("ignore:grid_sample")
def test_wrong_arguments(call, kind):
    with pytest.raises(kind):
        call(torch.zeros(1, 1, 4, 4))

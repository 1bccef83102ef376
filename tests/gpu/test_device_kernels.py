"""Kernels of the device engine where they have more than one block, chunk, tile or pass: the CPU's bits."""

from functools import partial

import pytest

import minidynamo as torch
from gpu.device_results import DTYPES, FLOATS, INTEGERS, bits, made, same
from minidynamo import _C

from .emulated_driver import LIBRARY, Driver


def positions(high, *shape, seed=5):
    torch.manual_seed(seed)
    return torch.randint(0, high, shape)


REDUCTIONS = {
    "rows": lambda x: x.sum(-1),
    "columns": lambda x: x.sum(0),
    "all": lambda x: x.sum(),
    "outer and inner": lambda x: x.sum((0, 2)),
    "middle": lambda x: x.prod(1),
    "largest": lambda x: x.amax(-1),
    "smallest": lambda x: x.amin(0, keepdim=True),
    "any": lambda x: x.any(1),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.transpose(0, 2).argmin(),
    "max": lambda x: x.max(1),
    "min": lambda x: x.min(-1, keepdim=True),
}


REDUCED = [(name, t) for name in REDUCTIONS for t in DTYPES if t != torch.bool or not name.startswith("arg")]


@pytest.mark.parametrize("name, dtype", REDUCED)
@pytest.mark.parametrize("shape", [(3, 5, 2100), (2100, 3, 2), (1030, 1, 1), (2, 1500, 3)])
def test_reductions(shape, name, dtype):
    same(REDUCTIONS[name], made(*shape, dtype=dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_folds_of_parts_of_tensors(dtype):
    x = made(40, 90, dtype=dtype)
    same(lambda x: x[::3, 5:].sum(1), x)
    same(lambda x: x.t()[3:, ::2].sum(0), x)
    same(lambda x: x.expand(3, 40, 90).sum((0, 1)), x)


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS))
@pytest.mark.parametrize("m, k, n", [(3, 5, 4), (64, 16, 64), (65, 33, 70), (1, 100, 130), (130, 1, 1)])
def test_products(m, k, n, dtype):
    a, b = made(m, k, dtype=dtype), made(k, n, dtype=dtype, seed=8)
    same(lambda a, b: a @ b, a, b)
    same(lambda a, b: b.t() @ a.t(), a, b)
    same(lambda a, b: a[:, ::2] @ b[::2], a, b)
    same(lambda a, b: a.expand(3, m, k) @ b, a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 3, 17, 64, 300, 1025, 2048, 2049])
def test_sorting(size, dtype):
    x = made(3, size, 2, dtype=dtype)
    if x.is_floating_point():
        x[1, 0, 0] = float("nan")
    same(lambda x: x.sort(dim=1, stable=True), x)
    same(lambda x: x.sort(1, descending=True), x)
    same(lambda x: x.sort(0), x)
    same(lambda x: x.flatten().argsort(), x)


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS))
def test_scans(dtype):
    x = made(4, 50, 3, dtype=dtype)
    for dim in (0, 1, -1):
        same(partial(torch.cumsum, dim=dim), x)
        same(partial(torch.cumprod, dim=dim), x)
        same(partial(torch.cummax, dim=dim), x)
        same(partial(torch.cummin, dim=dim), x)
        if dtype.is_floating_point:
            same(partial(torch.logcumsumexp, dim=dim), x)


@pytest.mark.parametrize("dtype", (*FLOATS, torch.int64, torch.int8))
@pytest.mark.parametrize("shape", [(16,), (2049,), (3, 100), (300, 20), (2, 600, 17)])
def test_scans_by_tiles(shape, dtype):
    x = made(*shape, dtype=dtype)
    same(lambda x: x.cumsum(-1), x)
    same(lambda x: (x / 8).cumprod(-1) if dtype.is_floating_point else x.cumprod(-1), x)
    same(lambda x: x.flip(0)[..., 1:].cumsum(-1, dtype=torch.float64), x)
    if dtype.is_floating_point:
        same(lambda x: x.logcumsumexp(-1), x)


def reduced(how, x, index, y, **options):
    return x.scatter_reduce(1, index, y, how, **options)


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions(dtype):
    x, y, index = made(30, 20, dtype=dtype), made(30, 20, dtype=dtype, seed=3), positions(20, 30, 20)
    rows, some = positions(30, 30), positions(20, 7, 1)
    same(lambda x, i: x.gather(1, i), x, index)
    same(lambda x, r: x.index_select(0, r), x, rows)
    same(lambda x, r: x.t().index_select(1, r.int()), x, rows)
    same(lambda x, r, s: x[r[:4], s], x, rows, some)
    same(lambda x, s: x[:, s - 20], x, some)
    same(lambda x, i: x.take(i * 30 - 3), x, index)
    same(lambda x, i, y: x.scatter(1, i, y), x, index, y)
    same(lambda x, i, y: x.scatter_add(1, i, y), x, index, y)
    same(lambda x, r, y: x.index_add(0, r, y), x, rows, y)
    same(lambda x, r, y: x.index_copy(0, r, y), x, rows, y)
    same(lambda x, r: x.index_fill(0, r[:3] - 30, 1), x, rows)
    same(lambda x, r, y: x.index_put((r,), y), x, rows, y)
    same(lambda x, r, y: x.index_put((r,), y[0], accumulate=True), x, rows, y)
    same(lambda x, r, s, y: x.index_put((r[:4], s), y[:7, :4]), x, rows, some, y)
    same(lambda x, r, s, y: x.t().index_put((s, r[:4]), y[:7, :4], accumulate=True), x, rows, some, y)
    same(lambda x, i, y: x.clone().put_(i, y, accumulate=True), x, index, y)
    for how in ("sum", "prod", "amax", "amin", "mean"):
        if dtype != torch.bool:
            same(partial(reduced, how), x, index, y)
            same(partial(reduced, how, include_self=False), x, index, y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_many_positions_for_few_elements(dtype):
    """Pairs are sorted by the element they name."""
    x, y = made(9, 4, dtype=dtype), made(300, 4, dtype=dtype, seed=3)
    rows, columns = positions(9, 300), positions(4, 300, seed=6)
    same(lambda x, r, y: x.index_put((r,), y), x, rows, y)
    same(lambda x, r, y: x.index_put((r,), y, accumulate=True), x, rows, y)
    same(lambda x, r, c, y: x.index_put((r - 9, c), y[:, 1]), x, rows, columns, y)
    same(lambda x, r, c, y: x.index_put((r, c), y[:, 1], accumulate=True), x, rows, columns, y)
    same(lambda x, r, y: x.index_add(0, r, y), x, rows, y)
    same(lambda x, r, y: x[:, 0].scatter_add(0, r, y[:, 0]), x, rows, y)
    same(lambda x, r, y: x.clone().put_(r * 4, y[:, 0], accumulate=True), x, rows, y)
    same(lambda x, r, y: x[:, 2].scatter(0, r, 1), x, rows, y)


def put(x, mask, value):
    x = x.clone()
    x[mask] = value
    return x


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks(dtype):
    x, y = made(6, 5, 3, dtype=dtype), made(1, dtype=dtype, seed=3)
    mask = made(6, 5, 3, dtype=torch.bool, seed=4)
    before = dict(_C._device_calls_on_host())
    same(put, x, mask, 1)
    same(put, x, mask, y)
    same(put, x, mask[:, :, 1], y[0])
    same(put, x.transpose(0, 2), mask[:3, :, 0], y)
    assert _C._device_calls_on_host() == before
    same(lambda x, m: x[m], x, mask)
    same(lambda x, m: x[m[:, 0, 0]], x, mask)
    same(lambda x, m: put(x, m, x[m] if x.dtype == torch.bool else x[m] * 2), x, mask)


FAILURES = {
    "gather": lambda x, i: x.gather(1, i),
    "index_select": lambda x, i: x.index_select(0, i[0]),
    "index": lambda x, i: x[:, i],
    "index from the end": lambda x, i: x[-i],
    "take": lambda x, i: x.take(i * 10),
    "scatter": lambda x, i: x.scatter(1, i, 1),
    "index_add": lambda x, i: x.index_add(0, i[0], x[: i.shape[1]]),
    "index_copy": lambda x, i: x.index_copy(0, i[0], x[: i.shape[1]]),
    "index_fill": lambda x, i: x.index_fill(0, i[0], 2),
    "put": lambda x, i: x.put_(i * 10, x[:1, :3]),
    "index_put": lambda x, i: x.index_put((i,), x[0]),
    "index_put of many": lambda x, i: x.index_put((i.repeat(1, 40),), x[0]),
    "division": lambda x, i: i // (i - 9),
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_is_wrong_is_told_when_somebody_waits(name):
    x, index = made(5, 6), torch.tensor([[1, 9, 0]])
    with pytest.raises(Exception) as expected:
        FAILURES[name](x.clone(), index)
    with pytest.raises(type(expected.value)) as found:
        FAILURES[name](x.cuda(), index.cuda())
        torch.cuda.synchronize()
    assert str(found.value) == str(expected.value)
    assert (torch.ones(3, device="cuda") + 1).tolist() == [2, 2, 2]  # the device goes on


# Of filters: enough for tiles of many, or each result by itself.
CONVOLUTIONS = {
    "tiles": ((2, 5, 13, 11), (70, 5, 3, 3), {"padding": 1}),
    "tiles of groups": ((3, 24, 9, 8), (72, 8, 3, 2), {"groups": 3, "stride": (2, 1), "padding": (1, 2)}),
    "points": ((2, 70, 9, 9), (33, 70, 1, 1), {}),
    "dilated": ((2, 3, 21, 19), (40, 3, 5, 3), {"dilation": (3, 2), "padding": (4, 0), "stride": 3}),
    "one by one": ((2, 3, 40, 40), (3, 3, 3, 3), {"padding": 2}),
    "depth by depth": ((2, 12, 20, 20), (24, 1, 3, 3), {"groups": 12, "padding": 1}),
    "one axis": ((3, 9, 150), (20, 9, 4), {"padding": 2, "stride": 2}),
    "three axes": ((2, 4, 6, 7, 8), (30, 4, 2, 3, 3), {"padding": (0, 1, 1), "dilation": (2, 1, 1)}),
}


@pytest.mark.parametrize("dtype", (*FLOATS, torch.int64, torch.uint8))
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, dtype):
    shape, filters, options = CONVOLUTIONS[name]
    convolved = (torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d)[len(shape) - 3]
    x, w = made(*shape, dtype=dtype), made(*filters, dtype=dtype, seed=2)
    same(lambda x, w: convolved(x, w, **options), x, w)
    same(lambda x, w: convolved(x.mT.contiguous().mT, w.mT.contiguous().mT, **options), x, w)
    if dtype.is_floating_point:
        w.view(-1)[3] = float("inf")  # zeros outside of the image take part: 0 * inf is nan
        same(lambda x, w: convolved(x, w, **options).isnan(), x, w)


def test_convolutions_in_tiles_take_few_instructions():
    """For each multiplication with its addition, counted by lanes of warps; a thread for each result takes 40."""
    driver, convolved = Driver(LIBRARY), torch.nn.functional.conv2d
    for filters, channels, edge in ((64, 16, 3), (128, 64, 1), (64, 3, 7)):
        x, w = torch.ones(2, channels, 32, 32).cuda(), torch.ones(filters, channels, edge, edge).cuda()
        torch.cuda.synchronize()
        driver.library.mdEmulatorReset()
        result = convolved(x, w, padding=edge // 2)
        torch.cuda.synchronize()
        instructions = 32 * sum(launch["warp_instructions"] for launch in driver.launches().values())
        assert 2 < instructions / (result.numel() * channels * edge**2) < 3


@pytest.mark.parametrize("dtype", (*FLOATS, torch.int64))
def test_windows(dtype):
    x, w = made(2, 6, 9, 11, dtype=dtype), made(4, 3, 3, 2, dtype=dtype, seed=2)
    same(lambda x, w: torch.nn.functional.conv2d(x, w, groups=2, stride=2, padding=(1, 2), dilation=(2, 1)), x, w)
    same(lambda x, w: torch.nn.functional.conv2d(x.to(memory_format=torch.channels_last)[:, :3], w), x, w)
    same(lambda x, w: torch.nn.functional.conv1d(x[0, :3], w[:, :, 0, :].repeat(1, 3, 1), padding=1), x, w)
    same(lambda x: torch.nn.functional.max_pool2d(x, (3, 2), 2, 1, return_indices=True), x)
    same(lambda x: torch.nn.functional.max_pool2d(x, 2, dilation=2), x)
    if dtype.is_floating_point:
        same(lambda x: torch.nn.functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False), x)
        same(lambda x: torch.nn.functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True), x)
        same(lambda x: torch.nn.functional.adaptive_avg_pool2d(x, (4, 3)), x)
        same(lambda x: torch.nn.functional.adaptive_max_pool2d(x, (4, 3), return_indices=True), x)


def drawn(function):
    results = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(11)
        results.append([bits(function(device)) for _ in range(2)])
    return results


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_numbers(dtype):
    calls = [lambda d: torch.randint(0, 2, (33, 3), dtype=dtype, device=d)]
    if dtype.is_floating_point:
        calls += [lambda d: torch.rand(301, dtype=dtype, device=d), lambda d: torch.randn(7, 41, dtype=dtype, device=d)]
    calls.append(lambda d: torch.empty(5, 21, dtype=dtype, device=d).bernoulli_(0.3))
    for call in calls:
        on_cpu, on_device = drawn(call)
        assert on_device == on_cpu


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS))
def test_numbers_in_order(dtype):
    for make in (
        lambda d: torch.arange(3, 90, 7, dtype=dtype, device=d),
        lambda d: torch.arange(0.5, 9, 0.75, device=d).to(dtype),
        lambda d: torch.linspace(-3, 8, 29, dtype=dtype, device=d),
        lambda d: torch.eye(5, 7, dtype=dtype, device=d),
        lambda d: torch.full((3, 4), 7, dtype=dtype, device=d),
    ):
        assert bits(make("cuda")) == bits(make("cpu"))


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions(dtype, to):
    x = made(9, 7, dtype=dtype)
    if dtype.is_floating_point:
        x.view(-1)[:6] = torch.tensor([float("inf"), -float("inf"), float("nan"), 1e20, -1e20, -0.0]).to(dtype)
    same(lambda x: x.to(to), x)
    same(lambda x: torch.cat([x.t(), x.t().to(to)]), x)
    same(lambda x: torch.zeros(7, 9, device=x.device, dtype=to).copy_(x.t()), x)


@pytest.mark.parametrize("dtype", (torch.float64, torch.int32, torch.float16, torch.bool))
def test_copies_by_tiles(dtype):
    x = made(3, 45, 70, dtype=dtype)
    same(lambda x: x.transpose(1, 2).contiguous(), x)
    same(lambda x: x.transpose(0, 2).contiguous(), x)
    same(lambda x: x.permute(2, 0, 1).contiguous(), x)
    same(lambda x: x[:, ::2].transpose(1, 2)[:, 3:].contiguous(), x)
    same(lambda x: torch.zeros_like(x).transpose(1, 2).copy_(x.transpose(1, 2).contiguous()), x)


def test_large_arguments():
    x = torch.tensor([1e5, -3e20, 1e300, 2.0**900, 7e15], dtype=torch.float64)
    for function in (torch.sin, torch.cos, torch.tan):
        same(function, x)
        same(function, x[:2].float())
    y = torch.tensor([3.0, 1e-300, -7.5, 1e290, 0.1], dtype=torch.float64)
    same(torch.fmod, x, y)
    same(torch.fmod, x.float(), y.float())
    same(torch.remainder, x, y)


def test_what_lies_on_the_cpu_follows():
    x = made(6, 5)
    for call in (
        lambda x, d: x + torch.tensor(2.5),
        lambda x, d: x.half() * torch.tensor(0.1),
        lambda x, d: x[torch.tensor([1, 3, 0])],
        lambda x, d: x.masked_fill(x > 0, torch.tensor(9.0)),
    ):
        assert bits(call(x.cuda(), "cuda")) == bits(call(x, "cpu"))

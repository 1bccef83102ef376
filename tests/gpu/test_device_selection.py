"""Kernels of the device engine whose results depend on what elements hold: masks, groups, counts, draws."""

from functools import partial

import pytest

import minidynamo as torch
from gpu.device_results import DTYPES, FLOATS, INTEGERS, bits, made, same
from minidynamo import _C

SIZES = (1, 7, 8, 2047, 2049, 5000)


@pytest.fixture(autouse=True)
def nothing_on_the_cpu():
    before = dict(_C._device_calls_on_host())
    yield
    assert _C._device_calls_on_host() == before


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_positions_of_elements(size, dtype):
    x = made(size, dtype=dtype)
    x[torch.arange(size) % 3 == 0] = 0
    same(torch.nonzero, x)
    same(lambda x: x[1:].nonzero() if x.numel() > 1 else x, x)
    same(lambda x: x[x > 0], x)
    same(lambda x: torch.masked_select(x, x == 0), x)
    same(lambda x: torch.zeros_like(x).nonzero(), x)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.float16, torch.int64, torch.bool))
def test_masks_of_several_dimensions(dtype):
    x = made(9, 4, 6, dtype=dtype)
    mask = made(9, 4, 6, dtype=torch.bool, seed=3)
    same(torch.nonzero, x)
    same(lambda x: x.permute(2, 0, 1).nonzero(), x)
    same(lambda x: x[:, ::2].argwhere(), x)
    same(lambda x, m: x[m], x, mask)
    same(lambda x, m: x.transpose(0, 2)[m.transpose(0, 2)], x, mask)
    same(lambda x, m: x[m[:, :, 1]], x, mask)
    same(lambda x, m: x[:, m[0]], x, mask)
    same(lambda x, m: x[m[:, 0, 0], :, 2], x, mask)
    same(lambda x, m: x[m[:, 0, 0], 1], x, mask)
    same(lambda x, m: x[:, m[0, :, 0], m[0, 0].nonzero()], x, mask)
    same(lambda x, m: x[m & ~m], x, mask)
    same(lambda x, m: x.nonzero(as_tuple=True), x, mask)


def put(x, mask, values, accumulate=False):
    x = x.clone()
    x.index_put_(mask if isinstance(mask, tuple) else (mask,), values, accumulate)
    return x


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_written_by_masks(dtype):
    x, mask = made(8, 9, 5, dtype=dtype), made(8, 9, 5, dtype=torch.bool, seed=3)
    values = made(400, dtype=dtype, seed=5)
    count = int(mask.sum())
    same(put, x, mask, values[:count])
    same(put, x.transpose(0, 2), mask.transpose(0, 2), values[:count])
    same(lambda x, m, v: put(x, m, v, True), x, mask, values[:count])
    rows = int(mask[:, 0, 0].sum())
    same(lambda x, m, v: put(x, m[:, 0, 0], v.reshape(9, 5)), x, mask, values[:45])
    same(lambda x, m, v: put(x, (m[:, 0, 0], torch.arange(rows, device=x.device)), v), x, mask, values[:5])
    same(lambda x, m, v: torch.masked_scatter(x, m, v), x, mask, values)
    same(
        lambda x, m, v: x.transpose(0, 1).masked_scatter(m[:, :, 0].t()[..., None], v.reshape(20, 20).t()),
        x,
        mask,
        values,
    )
    same(lambda x, m, v: x.clone().masked_scatter_(m & ~m, v[:0]), x, mask, values)


def test_more_asked_for_than_there_is():
    x = torch.zeros(3, 4)
    with pytest.raises(RuntimeError) as expected:
        x.masked_scatter(x == 0, torch.ones(11))
    with pytest.raises(RuntimeError) as found:
        x.cuda().masked_scatter((x == 0).cuda(), torch.ones(11, device="cuda"))
        torch.cuda.synchronize()
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", (1, 2, 33, 2100))
def test_unique(size, dtype):
    x = (made(size, dtype=torch.float64) / 2).to(dtype)
    if dtype in FLOATS and size > 9:
        x[3:9] = torch.tensor([float("nan"), -0.0, 0.0, float("inf"), float("nan"), -0.0]).to(dtype)
    same(lambda x: torch.unique(x, return_inverse=True, return_counts=True), x)
    same(lambda x: torch.unique_consecutive(x.sort()[0], return_inverse=True, return_counts=True), x)
    same(lambda x: torch.unique_consecutive(x[::2], return_inverse=True, return_counts=True), x)
    same(torch.unique, x)


@pytest.mark.parametrize("dtype", (torch.float32, torch.int8, torch.bool))
def test_unique_slices(dtype):
    x = (made(40, 3, 2, dtype=torch.float64) / 4).to(dtype)
    for dim in (0, 1, -1):
        same(partial(torch.unique, dim=dim, return_inverse=True, return_counts=True), x)
        same(partial(torch.unique_consecutive, dim=dim, return_inverse=True, return_counts=True), x)
    same(lambda x: torch.unique(x.transpose(0, 1), dim=1, return_inverse=True), x)
    same(lambda x: torch.unique(x.transpose(0, 2), return_inverse=True), x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_counts_of_numbers(dtype):
    x = (torch.arange(700) * 7 % 90).to(dtype)
    weights = made(700)
    same(torch.bincount, x)
    same(lambda x: torch.bincount(x[::3], minlength=200), x)
    same(lambda x, w: torch.bincount(x, w), x, weights)
    same(lambda x, w: torch.bincount(x[5:40], w.double()[5:40], minlength=3), x, weights)
    same(lambda x, w: torch.bincount(x, (w * 9).long()), x, weights)
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.bincount(torch.tensor([1, -1], device="cuda"))


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_histograms(dtype):
    x = made(3000, dtype=dtype)
    same(torch.histc, x)
    same(lambda x: torch.histc(x.reshape(50, 60).t(), 7, -3, 4.5), x)
    same(lambda x: torch.histc(x[:1], 3), x)
    for value in (float("nan"), float("inf")):
        y = x.clone()
        y[7] = value
        same(lambda y: torch.histc(y, 9, -1, 1), y)
        with pytest.raises(RuntimeError, match="not finite"):
            torch.histc(y.cuda())


@pytest.mark.parametrize("dtype", DTYPES)
def test_modes(dtype):
    x = (made(6, 35, 3, dtype=torch.float64) / 3).to(dtype)
    if dtype in FLOATS:
        x[1, :5] = float("nan")
    for dim in (0, 1, -1):
        same(partial(torch.mode, dim=dim), x)
        same(partial(torch.mode, dim=dim, keepdim=True), x.transpose(0, 2))
    same(lambda x: torch.mode(x[0, 0, 0]), x)


def reduced(how, include_self, x, index, y):
    return x.scatter_reduce(0, index, y, how, include_self=include_self)


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS))
def test_scattered_folds(dtype):
    x, y = made(30, 20, dtype=dtype), made(25, 18, dtype=dtype, seed=3)
    torch.manual_seed(9)
    index = torch.randint(0, 30, (25, 18))
    for how in ("sum", "prod", "mean", "amax", "amin"):
        for include_self in (True, False):
            same(partial(reduced, how, include_self), x, index, y)
    same(lambda x, i, y: x.t().scatter_reduce(1, i.t(), y.t(), "mean", include_self=False), x, index, y)
    long = torch.randint(0, 3, (300,))
    same(lambda x, i, y: x[:3, 0].scatter_reduce(0, i, y.reshape(-1)[:300], "mean"), x, long, y)
    if dtype in FLOATS:
        same(lambda x, i: x.scatter_reduce(0, i, torch.full_like(x, -0.0), "sum", include_self=False), x, index)


def test_repetition():
    repeats = torch.tensor([3, 0, 5, 1, 0, 2])
    x = made(6, 4)
    same(torch.repeat_interleave, repeats)
    same(lambda r: torch.repeat_interleave(r.int()), repeats)
    same(lambda x, r: x.repeat_interleave(r, 0), x, repeats)
    same(lambda r: torch.repeat_interleave(r.repeat(800)[::2]), repeats)
    with pytest.raises(RuntimeError, match="negative"):
        torch.repeat_interleave(torch.tensor([1, -1], device="cuda"))


@pytest.mark.parametrize("offset", (-9, -3, -1, 0, 2, 4, 8))
@pytest.mark.parametrize("rows, columns", [(5, 5), (1, 7), (7, 2), (4, 6)])
def test_triangles(rows, columns, offset):
    for make in (torch.tril_indices, torch.triu_indices):
        for dtype in (torch.int64, torch.int32):
            found = make(rows, columns, offset, dtype=dtype, device="cuda")
            assert bits(found) == bits(make(rows, columns, offset, dtype=dtype))


def drawn(call, *given):
    """On the CPU and on the device, with what is drawn afterwards."""
    results = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(4)
        results.append([bits(call(device, *[g.to(device) for g in given])), bits(torch.rand(3, device=device))])
    return results


@pytest.mark.parametrize("n", (1, 2, 3, 64, 1000, 5000))
def test_shuffles(n):
    on_cpu, on_device = drawn(lambda d: torch.randperm(n, device=d))
    assert on_device == on_cpu
    on_cpu, on_device = drawn(lambda d: torch.randperm(n, device=d, dtype=torch.float32))
    assert on_device == on_cpu


@pytest.mark.parametrize("dtype", FLOATS)
def test_draws_by_weights(dtype):
    weights = made(5, 300, dtype=dtype).abs()
    weights[:, ::4] = 0
    for call in (
        lambda _, w: torch.multinomial(w, 100),
        lambda _, w: torch.multinomial(w, 500, replacement=True),
        lambda _, w: torch.multinomial(w[0], 7, True),
        lambda _, w: torch.multinomial(w.t()[1:4], 2),
    ):
        on_cpu, on_device = drawn(call, weights)
        assert on_device == on_cpu


@pytest.mark.parametrize("weights, samples", [([1.0, -1], 1), ([0.0, 0], 1), ([1.0, 0], 2), ([float("inf"), 1], 1)])
def test_wrong_weights(weights, samples):
    with pytest.raises(RuntimeError) as expected:
        torch.multinomial(torch.tensor(weights), samples)
    with pytest.raises(RuntimeError) as found:
        torch.multinomial(torch.tensor(weights, device="cuda"), samples)
        torch.cuda.synchronize()
    assert str(found.value) == str(expected.value)


def chosen(x):
    y = x * 2
    kept = y[y > 0.5]
    return kept.sum(), torch.nonzero(x > 1), torch.bincount((x.abs() * 3).long().flatten())


def test_in_compiled_functions():
    x = made(20, 30)
    expected = bits(chosen(x))
    assert bits(torch.compile(chosen)(x.cuda())) == expected
    assert bits(torch.compile(chosen)(x)) == expected


def test_bytes_seen_as_flags_may_be_any():
    flags = torch.tensor([2, 3, 255, 0, 1, 254, 16, 128, 0, 64], dtype=torch.uint8).cuda().view(torch.bool)
    assert flags.nonzero().flatten().tolist() == [0, 1, 2, 4, 5, 6, 7, 9]


@pytest.mark.parametrize("value", [7.0, torch.tensor(5.0), torch.tensor([3.0, 4.0])])
@pytest.mark.parametrize("compiled", [False, True])
def test_masks_of_assignments_may_be_on_the_cpu(value, compiled):
    def put(x, mask):
        x[mask] = value.to(x.device) if isinstance(value, torch.Tensor) and value.dim() else value
        return x

    mask = torch.tensor([True, False, True])
    there = (torch.compile(put, fullgraph=True) if compiled else put)(torch.zeros(3).cuda(), mask)
    assert there.tolist() == put(torch.zeros(3), mask).tolist()

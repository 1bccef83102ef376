"""Convolution, pooling and resampling against loops over windows in NumPy."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidynamo as torch
from tensor.agreement import agree
from tensor.oracle import RELAXED
from tensor.test_products import strided, tensor, whole

F = torch.nn.functional


def padded(x, padding, value=0.0):
    widths = [(0, 0)] * (x.ndim - len(padding)) + [(p, p) for p in padding]
    return np.pad(x, widths, constant_values=value)


def convolve(x, w, stride, padding, dilation, groups):
    n = w.ndim - 2
    x = padded(x, padding)
    out = [(x.shape[i + 2] - dilation[i] * (w.shape[i + 2] - 1) - 1) // stride[i] + 1 for i in range(n)]
    result = np.zeros((x.shape[0], w.shape[0], *out), x.dtype)
    per_group, channels = w.shape[0] // groups, w.shape[1]
    for at in itertools.product(*map(range, out)):
        window = tuple(
            slice(at[i] * stride[i], at[i] * stride[i] + dilation[i] * (w.shape[i + 2] - 1) + 1, dilation[i])
            for i in range(n)
        )
        for g in range(groups):
            part = x[(slice(None), slice(g * channels, (g + 1) * channels), *window)].reshape(x.shape[0], w[0].size)
            filters = w[g * per_group : (g + 1) * per_group].reshape(per_group, -1)
            result[(slice(None), slice(g * per_group, (g + 1) * per_group), *at)] = part @ filters.T
    return result


@given(st.data())
@RELAXED
def test_conv2d_is_a_sum_over_windows(data):
    draw = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
    groups, k = draw(1, 3), (draw(1, 3), draw(1, 3))
    stride, padding, dilation = ([draw(low, 2) for _ in range(2)] for low in (1, 0, 1))
    sizes = [max(d * (n - 1) + 1 - 2 * p, 1) + draw(0, 5) for n, d, p in zip(k, dilation, padding)]
    x = whole(draw(0, 2), groups * draw(1, 2), *sizes, dtype=data.draw(st.sampled_from([np.float32, np.float64])))
    w = whole(groups * draw(1, 3), x.shape[1] // groups, *k, dtype=x.dtype)
    b = whole(w.shape[0], dtype=x.dtype)
    layout = data.draw(st.sampled_from(["dense", "reversed", "spaced"]))
    args = (stride, padding, dilation, groups)
    expected = convolve(x, w, *args) + b[:, None, None]
    result = torch.conv2d(strided(x, layout), strided(w, layout), tensor(b), *args)
    np.testing.assert_array_equal(result.numpy(), expected)
    assert result.is_contiguous() and result.dtype is (torch.float32 if x.dtype == np.float32 else torch.float64)


@pytest.mark.parametrize("k, dilation", [(1, 1), (3, 1), (3, 2), (5, 3), (7, 1)])
@pytest.mark.parametrize("rows", [False, True])
def test_sizes_that_stay(k, dilation, rows):
    """Many positions, so that they are cut into pieces; kernels that reach over the whole width."""
    x, w = whole(1, 3, 1 if rows else 23, 17 if not rows else 1900), whole(2, 3, 1 if rows else k, k)
    padding = [0 if rows else dilation * (k - 1) // 2, dilation * (k - 1) // 2]
    result = F.conv2d(tensor(x), tensor(w), None, 1, padding, dilation)
    np.testing.assert_array_equal(result.numpy(), convolve(x, w, [1, 1], padding, [dilation] * 2, 1))


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int16, np.int8, np.uint8])
def test_integers_multiply_too(dtype):
    x, w = whole(2, 4, 5, 6, dtype=dtype), whole(6, 2, 3, 2, dtype=dtype)
    expected = convolve(x, w, [1, 2], [1, 0], [1, 1], 2)
    result = F.conv2d(tensor(x), tensor(w), None, (1, 2), (1, 0), 1, 2)
    assert result.numpy().dtype == dtype
    np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_dimensions_padding_by_name_and_without_batch(n):
    conv = (F.conv1d, F.conv2d, F.conv3d)[n - 1]
    x, w = whole(2, 3, *(7, 6, 5)[:n]), whole(4, 3, *(3, 2, 4)[:n])
    plain = convolve(x, w, [1] * n, [0] * n, [1] * n, 1)
    np.testing.assert_array_equal(conv(tensor(x), tensor(w)).numpy(), plain)
    np.testing.assert_array_equal(conv(tensor(x), tensor(w), padding="valid").numpy(), plain)
    np.testing.assert_array_equal(conv(tensor(x[0]), tensor(w)).numpy(), plain[0])
    np.testing.assert_array_equal(
        conv(tensor(x), tensor(w), stride=[2] * n).numpy(), plain[(..., *[slice(0, None, 2)] * n)]
    )
    same = conv(tensor(x), tensor(w), padding="same")
    assert same.shape[2:] == x.shape[2:]
    before = [(k - 1) // 2 for k in w.shape[2:]]
    wide = np.pad(x, [(0, 0), (0, 0), *[(b, k - 1 - b) for b, k in zip(before, w.shape[2:])]])
    np.testing.assert_array_equal(same.numpy(), convolve(wide, w, [1] * n, [0] * n, [1] * n, 1))


@given(st.data())
@RELAXED
def test_transposed_convolution_is_the_transpose(data):
    draw = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
    groups, k, stride, dilation = draw(1, 2), draw(1, 3), draw(1, 3), draw(1, 2)
    padding, extra = draw(0, 2), draw(0, max(stride, dilation) - 1)
    length = draw(1, 4)
    out = (length - 1) * stride - 2 * padding + dilation * (k - 1) + extra + 1
    if out < 1:
        return
    w = whole(2 * groups, 3, k)
    y = whole(1, 2 * groups, length)
    result = F.conv_transpose1d(tensor(y), tensor(w), None, stride, padding, extra, groups, dilation)
    assert result.shape == (1, 3 * groups, out)
    # <conv(x), y> = <x, transpose(y)> for every x of the result's sizes.
    x = whole(1, 3 * groups, out)
    forward = convolve(x, w, [stride], [padding], [dilation], groups)[..., :length]
    assert (forward * y).sum() == (x * result.numpy()).sum()


def test_transposed_convolution_in_two_dimensions():
    x, w, b = whole(2, 3, 4, 5), whole(3, 2, 3, 2), whole(2)
    wide = np.zeros((2, 2, 9, 14), np.float32)
    for i, j, a, c in itertools.product(range(4), range(5), range(3), range(2)):
        wide[:, :, 2 * i + a, 3 * j + c] += x[:, :, i, j] @ w[:, :, a, c]
    result = F.conv_transpose2d(tensor(x), tensor(w), tensor(b), stride=(2, 3))
    np.testing.assert_array_equal(result.numpy(), wide + b[:, None, None])


def window_starts(size, k, s, p, d, ceil_mode):
    room = size + 2 * p - d * (k - 1) - 1
    count = (math.ceil(room / s) if ceil_mode else room // s) + 1
    if ceil_mode and (count - 1) * s >= size + p:
        count -= 1
    return [i * s - p for i in range(count)]


def pool(x, k, s, p, d, ceil_mode, fold):
    """fold(values, positions, padded count) for every window of the last two dimensions."""
    starts = [window_starts(x.shape[i - 2], k[i], s[i], p[i], d[i], ceil_mode) for i in range(2)]
    result = None
    for plane in np.ndindex(x.shape[:-2]):
        for (i, a), (j, b) in itertools.product(*map(enumerate, starts)):
            cells = [
                (r, c)
                for r in range(a, a + d[0] * (k[0] - 1) + 1, d[0])
                for c in range(b, b + d[1] * (k[1] - 1) + 1, d[1])
                if 0 <= r < x.shape[-2] and 0 <= c < x.shape[-1]
            ]
            area = 1
            for start, kernel, size, pad in zip((a, b), k, x.shape[-2:], p):
                area *= min(start + kernel, size + pad) - start
            value = fold([x[plane][cell] for cell in cells], [r * x.shape[-1] + c for r, c in cells], area)
            if result is None:
                result = np.zeros((*x.shape[:-2], len(starts[0]), len(starts[1]), len(value)))
            result[(*plane, i, j)] = value
    return result


@given(st.data())
@RELAXED
def test_pooling_is_a_fold_over_windows(data):
    draw = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
    k, s, d = ([draw(1, 3) for _ in range(2)] for _ in range(3))
    p, ceil_mode = [draw(0, n // 2) for n in k], data.draw(st.booleans())
    sizes = [max(dd * (n - 1) + 1, 1) + draw(0, 4) for n, dd in zip(k, d)]
    x = whole(2, draw(1, 2), *sizes)
    source = strided(x, data.draw(st.sampled_from(["dense", "reversed", "spaced"])))
    best = pool(x, k, s, p, d, ceil_mode, lambda v, at, area: (max(v), at[v.index(max(v))]))
    values, places = F.max_pool2d(source, k, s, p, d, ceil_mode, return_indices=True)
    np.testing.assert_array_equal(values.numpy(), best[..., 0])
    np.testing.assert_array_equal(places.numpy(), best[..., 1])
    np.testing.assert_array_equal(F.max_pool2d(source, k, s, p, d, ceil_mode).numpy(), best[..., 0])
    mean = pool(x, k, s, p, [1, 1], ceil_mode, lambda v, at, area: (sum(v) / area, sum(v) / max(len(v), 1), sum(v) / 3))
    np.testing.assert_allclose(F.avg_pool2d(source, k, s, p, ceil_mode).numpy(), mean[..., 0], rtol=1e-6)
    np.testing.assert_allclose(F.avg_pool2d(source, k, s, p, ceil_mode, False).numpy(), mean[..., 1], rtol=1e-6)
    divided = F.avg_pool2d(source, k, s, p, ceil_mode, divisor_override=3)
    np.testing.assert_allclose(divided.numpy(), mean[..., 2], rtol=1e-6)


@pytest.mark.parametrize(
    "size, out", [((5, 7), (2, 3)), ((4, 4), (4, 4)), ((3, 5), (5, 2)), ((6, 6), (1, 1)), ((5, 4), (None, 2))]
)
def test_adaptive_windows_cover_everything(size, out):
    x = whole(2, 3, *size)
    rows, cells = (o or s for o, s in zip(out, size))
    span = lambda i, n, o: slice(i * n // o, -((-(i + 1) * n) // o))  # noqa: E731
    mean, largest = np.zeros((2, 3, rows, cells)), np.zeros((2, 3, rows, cells))
    for i, j in itertools.product(range(rows), range(cells)):
        window = x[:, :, span(i, size[0], rows), span(j, size[1], cells)]
        mean[:, :, i, j], largest[:, :, i, j] = window.mean((2, 3)), window.max((2, 3))
    np.testing.assert_allclose(F.adaptive_avg_pool2d(tensor(x), out).numpy(), mean, rtol=1e-6, atol=1e-6)
    values, at = F.adaptive_max_pool2d(tensor(x), out, return_indices=True)
    np.testing.assert_array_equal(values.numpy(), largest)
    np.testing.assert_array_equal(
        np.take_along_axis(x.reshape(2, 3, -1), at.numpy().reshape(2, 3, -1), 2), largest.reshape(2, 3, -1)
    )
    np.testing.assert_allclose(
        F.adaptive_avg_pool1d(tensor(x[0]), cells).numpy()[0, 0, -1],
        x[0, 0, 0, span(cells - 1, size[1], cells)].mean(),
        rtol=1e-6,
    )
    np.testing.assert_array_equal(F.adaptive_max_pool1d(tensor(x[0]), 1)[..., 0].numpy(), x[0].max(-1))


def test_one_and_three_dimensions():
    x = whole(2, 3, 9)
    view = np.lib.stride_tricks.sliding_window_view(x, 3, 2)[:, :, ::2]
    np.testing.assert_array_equal(torch.max_pool1d(tensor(x), 3, 2).numpy(), view.max(-1))
    np.testing.assert_allclose(torch.avg_pool1d(tensor(x), 3, 2).numpy(), view.mean(-1), rtol=1e-6)
    values, at = torch.max_pool1d_with_indices(tensor(x), 3, 2)
    np.testing.assert_array_equal(np.take_along_axis(x, at.numpy(), 2), view.max(-1))
    y = whole(1, 2, 4, 4, 4)
    blocks = y.reshape(1, 2, 2, 2, 2, 2, 2, 2)
    np.testing.assert_array_equal(F.max_pool3d(tensor(y), 2).numpy(), blocks.max((3, 5, 7)))
    np.testing.assert_allclose(F.avg_pool3d(tensor(y), 2).numpy(), blocks.mean((3, 5, 7)), rtol=1e-6)
    values, at = F.max_pool3d(tensor(y), 2, return_indices=True)
    np.testing.assert_array_equal(
        np.take_along_axis(y.reshape(2, -1), at.numpy().reshape(2, -1), 1), values.numpy().reshape(2, -1)
    )
    assert torch.max_pool2d(tensor(whole(4, 4).astype(np.int64)[None]), 2).dtype is torch.int64


def test_a_nan_wins_and_halves_round_once():
    x = torch.tensor([[[1.0, float("nan"), 3.0, 2.0]]])
    assert torch.max_pool1d(x, 2).isnan().tolist() == [[[True, False]]]
    half = torch.full((1, 1, 64), 1000.0, dtype=torch.float16)
    assert F.avg_pool1d(half, 64).item() == 1000.0
    wide = torch.conv1d(
        half, torch.full((1, 1, 64), 0.5, dtype=torch.float16), torch.tensor([0.5], dtype=torch.float16)
    )
    assert wide.dtype is torch.float16 and wide.item() == 32000.0


def resampled(x, out, factors, mode, align):
    """Along the last two dimensions, one after the other, by matrices of weights."""
    for axis, (size, o, f) in zip((-2, -1), zip(x.shape[-2:], out, factors)):
        weights = np.zeros((o, size))
        ratio = (size - 1) / (o - 1) if align and o > 1 else 0 if align else 1 / f if f else size / o
        for i in range(o):
            if mode != "bilinear":
                at = i * ratio if mode == "nearest" else (i + 0.5) * ratio
                weights[i, min(math.floor(at), size - 1)] = 1
                continue
            at = i * ratio if align else max((i + 0.5) * ratio - 0.5, 0)
            low = min(math.floor(at), size - 1)
            weights[i, low] += 1 - (at - low)
            weights[i, min(low + 1, size - 1)] += at - low
        x = np.moveaxis(np.tensordot(weights, x, (1, x.ndim + axis)), 0, axis)
    return x


@pytest.mark.parametrize(
    "mode, align", [("nearest", None), ("nearest-exact", None), ("bilinear", False), ("bilinear", True)]
)
@pytest.mark.parametrize("size, factor", [((3, 7), None), ((8, 2), None), (None, 2), (None, (0.5, 1.5)), (None, 1.75)])
def test_interpolation(mode, align, size, factor):
    x = whole(2, 2, 4, 5, dtype=np.float64)
    factors = (None, None) if factor is None else factor if isinstance(factor, tuple) else (factor, factor)
    out = size or tuple(math.floor(n * f) for n, f in zip(x.shape[-2:], factors))
    expected = resampled(x, out, factors, mode, align)
    for layout in ("dense", "reversed", "spaced"):
        result = F.interpolate(strided(x, layout), size, factor, mode, align)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-12)
    assert F.upsample(tensor(x), size, factor, mode, align).shape == expected.shape


def test_interpolation_of_other_ranks_and_modes():
    x = whole(2, 3, 6)
    np.testing.assert_array_equal(F.interpolate(tensor(x), scale_factor=2).numpy(), x.repeat(2, -1))
    line = F.interpolate(tensor(x), 11, mode="linear", align_corners=True).numpy()
    np.testing.assert_allclose(line[..., ::2], x, rtol=1e-6)
    cube = whole(1, 1, 2, 2, 2)
    big = F.interpolate(tensor(cube), 3, mode="trilinear", align_corners=True).numpy()
    assert big[0, 0, 1, 1, 1] == pytest.approx(cube.mean()) and (big[..., ::2, ::2, ::2] == cube).all()
    np.testing.assert_allclose(
        F.interpolate(tensor(x), 3, mode="area").numpy(), x.reshape(2, 3, 3, 2).mean(-1), rtol=1e-6
    )
    half = F.interpolate(tensor(x).half(), scale_factor=2.0, mode="linear")
    assert half.dtype is torch.float16


def test_windows_as_columns_and_back():
    x = whole(2, 3, 5, 6)
    columns = F.unfold(tensor(x), (2, 3), padding=1, stride=(2, 1))
    view = np.lib.stride_tricks.sliding_window_view(padded(x, (1, 1)), (2, 3), (2, 3))[:, :, ::2]
    expected = view.transpose(0, 1, 4, 5, 2, 3).reshape(2, 18, -1)
    np.testing.assert_array_equal(columns.numpy(), expected)
    np.testing.assert_array_equal(F.unfold(tensor(x[0]), (2, 3), padding=1, stride=(2, 1)).numpy(), expected[0])
    ones = F.fold(F.unfold(torch.ones(1, 1, 5, 6), (2, 3), padding=1, stride=(2, 1)), (5, 6), (2, 3), 1, 1, (2, 1))
    back = F.fold(columns, (5, 6), (2, 3), padding=1, stride=(2, 1))
    np.testing.assert_array_equal(back.numpy(), x * ones.numpy())


def test_channels_and_positions_change_places():
    x = whole(2, 8, 3, 2)
    shuffled = F.pixel_shuffle(tensor(x), 2)
    np.testing.assert_array_equal(
        shuffled.numpy(), x.reshape(2, 2, 2, 2, 3, 2).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 6, 4)
    )
    np.testing.assert_array_equal(torch.pixel_unshuffle(shuffled, 2).numpy(), x)
    np.testing.assert_array_equal(torch.pixel_shuffle(tensor(x), 1).numpy(), x)
    np.testing.assert_array_equal(F.pixel_unshuffle(shuffled, 2).numpy(), x)
    mixed = torch.channel_shuffle(tensor(x), 4)
    np.testing.assert_array_equal(mixed.numpy(), x.reshape(2, 4, 2, 3, 2).swapaxes(1, 2).reshape(x.shape))
    np.testing.assert_array_equal(F.channel_shuffle(mixed, 2).numpy(), x)


def network(x, w, b, v):
    y = F.max_pool2d(torch.relu(F.conv2d(x, w, b, padding=1)), 2)
    z = F.avg_pool2d(F.conv2d(y, v, stride=2, padding="valid", groups=2), 2, 1, 1)
    return z, F.interpolate(y, scale_factor=2, mode="bilinear"), F.adaptive_avg_pool2d(y, (2, 3)), F.unfold(y, 2)


def test_compiled_with_changing_sizes():
    def operands(n, h, w):
        return tensor(whole(n, 2, h, w)), tensor(whole(4, 2, 3, 3)), tensor(whole(4)), tensor(whole(6, 2, 2, 2))

    agree(network, *operands(2, 12, 10), again=[operands(3, 14, 16), operands(2, 20, 12)])
    agree(lambda x, w: (F.conv_transpose2d(x, w, stride=2, padding=1), F.fold(x[0, :, :, 0], (3, 3), 1)),
          tensor(whole(2, 3, 9, 5)), tensor(whole(3, 2, 3, 2)))  # fmt: skip
    agree(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), tensor(whole(1, 2, 9, 9)),
          again=[(tensor(whole(2, 2, 7, 7)),)])  # fmt: skip


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: F.conv2d(x, torch.ones(2, 3, 2, 2)), RuntimeError, "channels"),
        (lambda x: F.conv2d(x, torch.ones(2, 2, 9, 9)), RuntimeError, "no room"),
        (lambda x: F.conv2d(x, torch.ones(2, 2, 2)), RuntimeError, "4 dimensions"),
        (lambda x: F.conv2d(x[0, 0], torch.ones(2, 2, 2, 2)), RuntimeError, "3D"),
        (lambda x: F.conv2d(x, torch.ones(2, 2, 2, 2).double()), RuntimeError, "dtype"),
        (lambda x: F.conv2d(x > 0, torch.ones(2, 2, 2, 2) > 0), NotImplementedError, "bool"),
        (lambda x: F.conv2d(x, torch.ones(2, 2, 2, 2), torch.ones(3)), RuntimeError, "bias"),
        (lambda x: F.conv2d(x, torch.ones(3, 1, 2, 2), groups=2), RuntimeError, "groups"),
        (lambda x: F.conv2d(x, torch.ones(2, 2, 2, 2), stride=0), RuntimeError, "stride"),
        (lambda x: F.conv2d(x, torch.ones(2, 2, 2, 2), padding=-1), RuntimeError, "padding"),
        (lambda x: F.conv2d(x, torch.ones(2, 2, 2, 2), stride=(1, 1, 1)), RuntimeError, "stride"),
        (lambda x: F.conv2d(x, torch.ones(2, 2, 2, 2), padding="some"), RuntimeError, "same"),
        (lambda x: F.conv2d(x, torch.ones(2, 2, 2, 2), stride=2, padding="same"), RuntimeError, "strides"),
        (lambda x: F.conv_transpose2d(x, torch.ones(2, 2, 2, 2), output_padding=1), RuntimeError, "output padding"),
        (lambda x: F.max_pool2d(x, 9), RuntimeError, "no room"),
        (lambda x: F.max_pool2d(x, 2, padding=2), RuntimeError, "half"),
        (lambda x: F.max_pool2d(x, 0), RuntimeError, "zero"),
        (lambda x: F.max_pool2d(x[0, 0], 2), RuntimeError, "3D"),
        (lambda x: F.max_pool2d(x, (2, 2, 2)), RuntimeError, "kernel_size"),
        (lambda x: F.max_pool2d(x > 0, 2), NotImplementedError, "bool"),
        (lambda x: F.avg_pool2d(x, 2, divisor_override=0), RuntimeError, "divisor"),
        (lambda x: F.adaptive_avg_pool2d(x, (2, 2, 2)), RuntimeError, "output_size"),
        (lambda x: F.adaptive_avg_pool2d(x, -1), RuntimeError, "negative"),
        (lambda x: F.interpolate(x), ValueError, "either"),
        (lambda x: F.interpolate(x, 2, 2.0), ValueError, "only one"),
        (lambda x: F.interpolate(x, (2, 2, 2)), ValueError, "spatial"),
        (lambda x: F.interpolate(x, 2, align_corners=True), ValueError, "align_corners"),
        (lambda x: F.interpolate(x, 2, mode="linear"), NotImplementedError, "linear"),
        (lambda x: F.interpolate(x, 0), RuntimeError, "greater than 0"),
        (lambda x: F.pixel_shuffle(x, 3), RuntimeError, "divisible"),
        (lambda x: F.unfold(x, 9), RuntimeError, "no room"),
        (lambda x: F.fold(x[0], (4, 4), 2), RuntimeError, "columns"),
    ],
)
def test_wrong_windows(call, error, message):
    with pytest.raises(error, match=message):
        call(torch.ones(1, 2, 4, 4))

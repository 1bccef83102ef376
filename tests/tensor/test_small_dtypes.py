"""float16, bfloat16, int8, int16 and uint8: rounding, wrapping, conversions, errors, text. NumPy is the oracle;
bfloat16 is compared as the upper half of float32."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import minidynamo as torch
from frontend.differential import same
from tensor.oracle import RELAXED

HALVES = (torch.float16, torch.bfloat16)
INTEGERS = {torch.uint8: np.uint8, torch.int8: np.int8, torch.int16: np.int16}
ALL_BITS = np.arange(65536, dtype=np.uint16)


def bfloat_values(bits):
    """float32 values of bfloat16 bit patterns."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def rounded(dtype, array):
    """float32 values rounded to a half, still as float32: NumPy's float16, or the upper bits to nearest even."""
    array = np.asarray(array, dtype=np.float32)
    if dtype is torch.float16:
        with np.errstate(over="ignore"):
            return array.astype(np.float16).astype(np.float32)
    bits = array.view(np.uint32).astype(np.uint64)
    kept = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(array), array, kept)


def half(dtype, array):
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32)).to(dtype)


def assert_same(tensor, expected):
    """The float32 values of a half tensor, zeros with their sign."""
    actual = tensor.float().numpy()
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(np.signbit(actual) & (actual == 0), np.signbit(expected) & (expected == 0))


# --- rounding -----------------------------------------------------------------------------------------


def test_every_float16_widens_and_comes_back():
    values = ALL_BITS.view(np.float16)
    tensor = torch.from_numpy(values.copy())
    assert_same(tensor, values.astype(np.float32))
    back = tensor.float().half().numpy()
    finite = ~np.isnan(values)
    np.testing.assert_array_equal(back.view(np.uint16)[finite], ALL_BITS[finite])
    assert np.isnan(back[~finite]).all()


def test_every_bfloat16_widens_and_comes_back():
    values = bfloat_values(ALL_BITS)
    tensor = torch.from_numpy(values).bfloat16()
    assert_same(tensor, values)
    assert_same(tensor.float().bfloat16(), values)


def neighbourhood(values):
    """Between neighbouring values: the midpoint and the float32 on either side of it."""
    values = np.sort(values[np.isfinite(values)].astype(np.float64))
    middle = ((values[1:] + values[:-1]) / 2).astype(np.float32)
    return np.concatenate([np.nextafter(middle, np.float32(-np.inf)), middle, np.nextafter(middle, np.float32(np.inf))])


@pytest.mark.parametrize("dtype", HALVES)
def test_every_midpoint_rounds_to_even(dtype):
    values = ALL_BITS.view(np.float16) if dtype is torch.float16 else bfloat_values(ALL_BITS)
    points = neighbourhood(values)
    beyond = [65519.9, 65520.0, 65536.0, 3.39e38, 3.4028235e38, math.inf, -math.inf, 6e-8, 2.9e-8, 1e-45, -0.0]
    points = np.concatenate([points, np.array(beyond, dtype=np.float32)])
    assert_same(torch.from_numpy(points).to(dtype), rounded(dtype, points))


def test_wider_numbers_reach_halves_through_float32():
    near_tie = 1 + 2**-11 + 2**-40  # above the tie of float16, but not of float32
    assert torch.tensor([near_tie], dtype=torch.float64).half().tolist() == [1.0]
    assert torch.tensor([near_tie], dtype=torch.float16).tolist() == [1.0]
    assert torch.full((2,), near_tie, dtype=torch.float16).tolist() == [1.0, 1.0]
    assert torch.tensor([2049, 70000]).half().tolist() == [2048.0, math.inf]


# --- arithmetic of halves -----------------------------------------------------------------------------

FLOAT_PAIRS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "fmod": np.fmod,
    "maximum": np.maximum,
}


@st.composite
def half_arrays(draw, count):
    size = draw(st.integers(0, 40))
    bits = [draw(npst.arrays(np.uint16, size)) for _ in range(count)]
    dtype = draw(st.sampled_from(HALVES))
    values = [b.view(np.float16).astype(np.float32) if dtype is torch.float16 else bfloat_values(b) for b in bits]
    return dtype, values


@pytest.mark.parametrize("name", FLOAT_PAIRS)
def test_each_operation_rounds_once(name):
    @given(half_arrays(2))
    @RELAXED
    def check(drawn):
        dtype, (a, b) = drawn
        with np.errstate(all="ignore"):
            expected = rounded(dtype, FLOAT_PAIRS[name](a, b).astype(np.float32))
        result = getattr(torch, name)(half(dtype, a), half(dtype, b))
        assert result.dtype is dtype
        if name == "maximum":  # of equal zeros either may be given
            np.testing.assert_array_equal(result.float().numpy(), expected)
        else:
            assert_same(result, expected)

    check()


@given(half_arrays(1))
@RELAXED
def test_roots_and_signs_of_halves(drawn):
    dtype, (a,) = drawn
    x = half(dtype, a)
    with np.errstate(all="ignore"):
        assert_same(x.sqrt(), rounded(dtype, np.sqrt(a)))
        assert_same(-x, -a)
        assert_same(x.abs(), np.abs(a))
        assert_same(x.reciprocal(), rounded(dtype, np.float32(1) / a))
        np.testing.assert_array_equal(x.isnan().numpy(), np.isnan(a))
        np.testing.assert_array_equal((x < 1).numpy(), a < 1)


def test_a_chain_rounds_after_every_step():
    a = np.float16(1000.5)
    x = torch.from_numpy(np.array([a]))
    assert ((x + 0.25) - 1000).tolist() == [float((a + np.float16(0.25)) - np.float16(1000))]


@pytest.mark.parametrize("dtype", HALVES)
def test_numbers_round_to_the_half_or_keep_the_digits_of_float32(dtype):
    values = rounded(dtype, np.arange(1, 400, dtype=np.float32) * np.float32(0.37))
    x, number = half(dtype, values), np.float32(3.3)
    short = rounded(dtype, number)
    for name in ("mul", "div"):
        operation = FLOAT_PAIRS[name]
        assert_same(getattr(torch, name)(x, 3.3), rounded(dtype, operation(values, number)))
        assert_same(getattr(torch, name)(x, torch.tensor(3.3)), rounded(dtype, operation(values, number)))
    for name in ("add", "sub", "fmod"):
        operation = FLOAT_PAIRS[name]
        assert_same(getattr(torch, name)(x, 3.3), rounded(dtype, operation(values, short).astype(np.float32)))
    y = x.clone()
    y *= 3.3
    assert_same(y, rounded(dtype, values * number))


def test_sums_accumulate_in_float32():
    ones = torch.full((5000,), 1.0, dtype=torch.float16)
    assert ones.sum().item() == 5000.0
    assert torch.full((5000,), 1.0, dtype=torch.bfloat16).sum().item() == 4992.0  # rounded at the end only
    assert torch.full((3000,), 30.0, dtype=torch.float16).sum().item() == math.inf
    assert torch.full((3000,), 30.0, dtype=torch.float16).mean().item() == 30.0
    assert torch.full((100,), 1 + 2**-11 + 2**-12).sum(dtype=torch.float16).item() == 100.125
    x = torch.arange(1, 9, dtype=torch.float16)
    assert x.var().item() == 6.0 and x.std().dtype is torch.float16
    assert x.reshape(2, 4).sum(0).tolist() == [6.0, 8.0, 10.0, 12.0]
    assert x.prod().item() == 40320.0
    assert (
        torch.add(x, x, alpha=0.1).tolist()
        == rounded(torch.float16, np.arange(1, 9, dtype=np.float32) * np.float32(1.1)).tolist()
    )


def test_products_of_matrices_round_once():
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-20, 20, size).astype(np.float32) for size in ((3, 300), (300, 4)))
    for dtype in HALVES:
        assert_same(half(dtype, a) @ half(dtype, b), rounded(dtype, a @ b))
        assert_same(torch.bmm(half(dtype, a[None]), half(dtype, b[None])), rounded(dtype, a @ b)[None])
    assert_same(half(torch.float16, a[0]) @ half(torch.float16, a[0]), rounded(torch.float16, a[0] @ a[0]))


# --- integers -----------------------------------------------------------------------------------------

WRAPPING = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "bitwise_xor": np.bitwise_xor}
DIVIDING = {"floor_divide": np.floor_divide, "remainder": np.remainder, "fmod": np.fmod}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", [*WRAPPING, *DIVIDING])
def test_small_integers_wrap(dtype, name):
    numpy_dtype = INTEGERS[dtype]

    @given(st.data())
    @RELAXED
    def check(data):
        size = data.draw(st.integers(0, 30))
        a, b = (data.draw(npst.arrays(numpy_dtype, size)) for _ in range(2))
        if name in DIVIDING:
            b[b == 0] = 3
        with np.errstate(all="ignore"):
            expected = {**WRAPPING, **DIVIDING}[name](a, b)
        result = getattr(torch, name)(torch.from_numpy(a), torch.from_numpy(b))
        assert result.dtype is dtype
        np.testing.assert_array_equal(result.numpy(), expected)

    check()


def test_edges_of_small_integers():
    i8, u8 = torch.tensor([-128, 7], dtype=torch.int8), torch.tensor([200, 7], dtype=torch.uint8)
    assert i8.abs().tolist() == [-128, 7] and (-i8).tolist() == [-128, -7]
    assert (-u8).tolist() == [56, 249] and (~u8).tolist() == [55, 248]
    assert (i8 // torch.tensor([-1, -2], dtype=torch.int8)).tolist() == [-128, -4]
    assert (i8 + 300).tolist() == [-84, 51] and (u8 - 201).tolist() == [255, 62]
    assert (u8 // -1).tolist() == [0, 0] and (u8 % -3).tolist() == [200, 7]
    assert (torch.tensor([1, 44], dtype=torch.int8) == 300).tolist() == [False, True]
    assert (torch.tensor([3, 2], dtype=torch.int8) ** torch.tensor([5, 7], dtype=torch.int8)).tolist() == [-13, -128]
    assert (u8 ** torch.tensor([2, 255], dtype=torch.uint8)).tolist() == [64, 7**255 % 256]
    assert (u8.square().tolist(), u8.sign().tolist()) == ([64, 49], [1, 1])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        i8 // 0


def test_reductions_of_small_integers():
    u8 = torch.tensor([[100, 200], [3, 255]], dtype=torch.uint8)
    assert u8.sum().item() == 558 and u8.sum().dtype is torch.int64
    assert u8.sum(dtype=torch.uint8).item() == 558 % 256 and u8.prod().item() == 100 * 200 * 3 * 255
    assert u8.amax().item() == 255 and u8.amin(0).tolist() == [3, 200] and u8.amin().dtype is torch.uint8
    assert u8.argmax().item() == 3 and u8.argmin(1).tolist() == [0, 0]
    values, indices = u8.max(0)
    assert (values.tolist(), values.dtype, indices.tolist()) == ([100, 255], torch.uint8, [0, 1])
    assert u8.all().dtype is torch.uint8 and u8.any(0).tolist() == [1, 1]
    assert torch.tensor([0, 2], dtype=torch.int8).all().dtype is torch.bool
    negative = torch.tensor([-128, -3], dtype=torch.int8)
    assert negative.amax().item() == -3 and negative.min().item() == -128
    with pytest.raises(RuntimeError, match="mean"):
        u8.mean()
    wide = torch.full((2, 300), 3, dtype=torch.int8)
    assert (wide @ wide.T).tolist() == [[2700 % 256 - 256] * 2] * 2


# float32 -> int8, uint8, int16: truncated, then wrapped from int32; what int32 cannot hold counts as its smallest value
FROM_FLOATS = {
    300.0: (44, 44, 300),
    -1.0: (-1, 255, -1),
    -129.0: (127, 127, -129),
    128.0: (-128, 128, 128),
    70000.0: (112, 112, 4464),
    3e9: (0, 0, 0),
    -3e9: (0, 0, 0),
    math.inf: (0, 0, 0),
    -math.inf: (0, 0, 0),
    math.nan: (0, 0, 0),
    -300.7: (-44, 212, -300),
}


@pytest.mark.parametrize("length", [1, 70])
def test_floats_to_small_integers(length):
    for value, expected in FROM_FLOATS.items():
        for source in (torch.float32, torch.float64):
            x = torch.full((length,), value, dtype=source)
            assert (x.char()[0].item(), x.byte()[0].item(), x.short()[0].item()) == expected, value
    x = torch.tensor([300.0, -300.5, 1.9], dtype=torch.float16)
    assert (x.byte().tolist(), x.short().tolist()) == ([44, 212, 1], [300, -300, 1])


def test_conversions_by_name():
    x = torch.tensor([1.5, -2.0, 0.0])
    for name, dtype in {
        "half": torch.half,
        "bfloat16": torch.bfloat16,
        "char": torch.int8,
        "short": torch.short,
        "byte": torch.uint8,
    }.items():
        converted = getattr(x, name)()
        assert converted.dtype is dtype and getattr(converted, name)() is converted
        assert x.to(dtype).tolist() == converted.tolist()
        assert converted.bool().tolist() == [True, True, False]
        assert torch.tensor([True, False]).to(dtype).tolist() == [1, 0]
        assert converted.double().dtype is torch.float64
    assert torch.tensor([200], dtype=torch.uint8).char().tolist() == [-56]
    assert torch.tensor([-1], dtype=torch.int8).byte().long().tolist() == [255]


# --- numbers that do not fit, in-place results, creation ----------------------------------------------


def test_numbers_that_do_not_fit_are_refused():
    i8, h = torch.tensor([1, 2], dtype=torch.int8), torch.ones(2, dtype=torch.float16)
    refused = [
        lambda: i8.clamp(max=300),
        lambda: torch.where(i8 > 0, i8, 300),
        lambda: i8.fill_(300),
        lambda: i8.masked_fill(i8 > 1, 300),
        lambda: torch.full((2,), 300, dtype=torch.int8),
        lambda: torch.full((2,), 255.5, dtype=torch.uint8),
        lambda: torch.full((2,), -256, dtype=torch.uint8),
        lambda: i8.__setitem__(0, 300),
        lambda: h.fill_(1e6),
        lambda: torch.full((2,), 70000, dtype=torch.float16),
        lambda: torch.tensor([300], dtype=torch.int8),
        lambda: torch.tensor([256], dtype=torch.uint8),
        lambda: torch.tensor([-1.7], dtype=torch.uint8),
        lambda: torch.tensor([40000], dtype=torch.int16),
        lambda: torch.randint(0, 300, (3,), dtype=torch.uint8),
    ]
    for call in refused:
        with pytest.raises(RuntimeError, match="fit|overflow|holds"):
            call()
    assert i8.tolist() == [1, 2] and h.tolist() == [1.0, 1.0]
    assert torch.tensor([-1], dtype=torch.uint8).tolist() == [255]
    assert torch.full((1,), -1, dtype=torch.uint8).tolist() == [255]
    assert torch.full((1,), math.inf, dtype=torch.float16).tolist() == [math.inf]
    assert torch.tensor([1e6], dtype=torch.float16).tolist() == [math.inf]
    assert i8.fill_(1.7).tolist() == [1, 1]


def test_in_place_results_keep_their_dtype():
    i8 = torch.tensor([1, 2], dtype=torch.int8)
    assert i8.add_(torch.tensor([300, 2], dtype=torch.int16)).tolist() == [45, 4]
    assert torch.tensor([1, 2], dtype=torch.uint8).add_(torch.tensor([-1, 2], dtype=torch.int8)).tolist() == [0, 4]
    h = torch.ones(2, dtype=torch.float16).add_(torch.full((2,), 0.1))
    assert h.tolist() == [1.099609375] * 2 and h.dtype is torch.float16
    for call in (lambda: i8.add_(1.5), lambda: i8.div_(2), lambda: torch.tensor([True]).add_(i8[:1])):
        with pytest.raises(RuntimeError):
            call()


def test_creation():
    assert torch.arange(0, 300, 100, dtype=torch.int8).tolist() == [0, 100, -56]
    assert torch.arange(0, 2, 0.3, dtype=torch.float16).tolist() == rounded(torch.float16, np.arange(7) * 0.3).tolist()
    assert torch.linspace(0, 255, 4, dtype=torch.uint8).tolist() == [0, 85, 170, 255]
    assert torch.eye(2, dtype=torch.bfloat16).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert torch.cat([torch.tensor([200], dtype=torch.uint8), torch.tensor([-1], dtype=torch.int8)]).tolist() == [
        200,
        -1,
    ]
    for dtype, steps in ((torch.float16, 2**11), (torch.bfloat16, 2**8)):
        u = torch.rand(3000, dtype=dtype)
        assert u.dtype is dtype and u.amax().item() < 1 and (u.double() * steps == (u.double() * steps).floor()).all()
        assert abs(torch.randn(3000, dtype=dtype).double().mean().item()) < 0.1
    assert torch.randint(0, 256, (3000,), dtype=torch.uint8).amax().item() == 255
    assert torch.tensor([1.5]).new_zeros(2, dtype=torch.short).dtype is torch.int16
    with pytest.raises(NotImplementedError):
        torch.rand(2, dtype=torch.uint8)


def test_default_dtype():
    try:
        torch.set_default_dtype(torch.float16)
        assert torch.ones(2).dtype is torch.float16 and torch.tensor(1.5).dtype is torch.float16
        assert (torch.tensor([1, 2]) / 2).dtype is torch.float16
        assert str(torch.ones(1)) == "tensor([1.])"
    finally:
        torch.set_default_dtype(torch.float32)
    with pytest.raises(TypeError):
        torch.set_default_dtype(torch.int16)


# --- NumPy, memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("numpy_dtype", [np.float16, np.int8, np.int16, np.uint8])
def test_memory_is_shared_with_numpy(numpy_dtype):
    array = np.arange(6, dtype=numpy_dtype).reshape(2, 3)
    tensor = torch.from_numpy(array)
    assert str(tensor.dtype) == "torch." + np.dtype(numpy_dtype).name
    tensor[:, 1] += 5
    tensor.T[0].zero_()
    np.testing.assert_array_equal(array, np.array([[0, 6, 2], [0, 9, 5]], dtype=numpy_dtype))
    assert tensor.numpy().dtype == numpy_dtype and tensor.numpy()[1, 1] == 9
    assert torch.tensor(array.T).tolist() == array.T.tolist()
    assert torch.tensor([numpy_dtype(3)]).dtype is tensor.dtype


def test_numpy_has_no_bfloat16():
    x = torch.ones(2, dtype=torch.bfloat16)
    for call in (x.numpy, lambda: np.asarray(x)):
        with pytest.raises(TypeError, match="^Got unsupported ScalarType BFloat16$"):
            call()


def test_views_write_through():
    for dtype in (*HALVES, *INTEGERS):
        x = torch.zeros(4, 6, dtype=dtype)
        x[1:3, ::2].copy_(torch.arange(6).reshape(2, 3))
        x.T[5].fill_(7)
        assert x.tolist()[1] == [0, 0, 1, 0, 2, 7] and x[:, 5].sum().item() == 28
        assert x.element_size() == dtype.itemsize and x[1:].storage_offset() == 6


# --- compiled -----------------------------------------------------------------------------------------


def chain(x, y):
    z = (x * 0.1 + y) * x - y / 3
    z += x
    return z, z.sum(), (z > y).sum(), z.amax(0), torch.where(z > 1, z, y), z.float().mean()


def integer_chain(x, y):
    z = x * y - 3
    z += 1
    return z // 7, z % 5, (z ^ y) & 31, z.sum(), z.amin(1), (z > 0).any(), z.to(torch.float16) / 3, z.bool()


@pytest.mark.parametrize("dtype", HALVES)
def test_compiled_halves(dtype):
    def args():
        values = np.random.default_rng(1).normal(size=(2, 9, 37)).astype(np.float32) * 8
        return half(dtype, values[0]), half(dtype, values[1])

    same(chain, args, frames=1)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_compiled_small_integers(dtype):
    def args():
        limits = np.iinfo(INTEGERS[dtype])
        values = np.random.default_rng(2).integers(limits.min, limits.max, (2, 5, 41), endpoint=True)
        return tuple(torch.from_numpy(v.astype(INTEGERS[dtype])) for v in values)

    same(integer_chain, args, frames=1)


def test_compiled_mixed_dtypes_and_limits():
    def f(h, b, i, u):
        limit = torch.finfo(h.dtype).max
        masked = torch.where(i > 0, h, -limit)
        return h + b, i + u, h * i, masked.amax(), u.to(torch.int8), b.half(), torch.zeros_like(u) + True

    def args():
        return (
            torch.tensor([0.1, 300.0, -7.0], dtype=torch.float16),
            torch.tensor([3.3, 1e30, 2.0], dtype=torch.bfloat16),
            torch.tensor([-1, 100, 127], dtype=torch.int8),
            torch.tensor([255, 3, 129], dtype=torch.uint8),
        )

    same(f, args)


def test_another_dtype_compiles_anew():
    counter = torch._dynamo.testing.CompileCounter()

    @torch.compile(backend=counter)
    def f(x):
        return x + x

    for dtype in (torch.float16, torch.bfloat16, torch.int8, torch.float16):
        assert f(torch.ones(3, dtype=dtype)).dtype is dtype
    assert counter.frame_count == 3

"""Compiled graphs of tensors on a GPU give the CPU's bits: every shape of kernel that loop nests become."""

import ctypes
import json

import numpy
import pytest

import minidynamo as torch

from .emulated_driver import LIBRARY

RANDOM = numpy.random.default_rng(7)


def values(*shape, dtype="float32"):
    x = torch.tensor(RANDOM.standard_normal(shape).astype("float64"))
    return (x * 50).to(torch.int32) if dtype == "int32" else x.to(getattr(torch, dtype))


def same_bits(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride()
    both = [t.float() if t.dtype in (torch.float16, torch.bfloat16) else t for t in (a, b)]
    x, y = (t.numpy() for t in both)
    assert numpy.array_equal(x, y, equal_nan=x.dtype.kind == "f")
    if x.dtype.kind == "f":
        assert numpy.array_equal(numpy.signbit(x)[x == 0], numpy.signbit(y)[y == 0])


EMULATOR = ctypes.CDLL(str(LIBRARY))
EMULATOR.mdEmulatorLaunches.restype = ctypes.c_size_t


def launched():
    """The kernels that ran since the last reset."""
    torch.cuda.synchronize()
    text = ctypes.create_string_buffer(1 << 20)
    EMULATOR.mdEmulatorLaunches(text, ctypes.c_size_t(len(text)))
    return set(json.loads(text.value))


def is_nest(kernel):
    return kernel.startswith(("fused_", "copy_"))


def check(f, *inputs, **options):
    torch._dynamo.reset()
    plain = torch.compile(f, fullgraph=True, **options)(*inputs)
    moved = [x.to("cuda") if isinstance(x, torch.Tensor) else x for x in inputs]
    launched()
    EMULATOR.mdEmulatorReset()
    result = torch.compile(f, fullgraph=True, **options)(*moved)
    assert all(map(is_nest, launched())), launched()  # the graph is fused, not run op by op
    plain, result = (r if isinstance(r, tuple) else (r,) for r in (plain, result))
    for a, b in zip(plain, result, strict=True):
        assert b.is_cuda
        same_bits(a, b.cpu())


SHAPES = [(), (1,), (7,), (64,), (1000,), (3, 5), (64, 64), (33, 1), (1, 33), (5, 1025), (130, 70), (2, 3, 40)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_elements(shape, dtype):
    x, y = values(*shape, dtype=dtype), values(*shape, dtype=dtype)
    check(lambda x, y: (x * y + 2 - x, torch.maximum(x, y), (x > y)), x, y)


def test_elementary_functions():
    x = values(4000)
    large = torch.tensor(numpy.geomspace(1, 1e30, 500).astype("float32"))
    check(lambda x: (x.sin() + x.exp(), x.abs().log(), x.tanh(), x.erf(), torch.fmod(x, 0.3), x.atan()), x)
    check(lambda x: (x.sin(), x.cos(), x.tan(), torch.fmod(x, 7.5)), large)
    check(lambda x: (x.sin(), x.cos(), x.tan(), torch.fmod(x, 7.5)), large.double() * 1e200)


def test_broadcasting_and_strides():
    x, row, column = values(60, 90), values(90), values(60, 1)
    check(lambda x, r, c: x * r + c, x, row, column)
    check(lambda x, r, c: x * r + c, x[:, ::2], row[::2], column)
    check(lambda x, y: x + y, values(70, 50), values(50, 70).t())
    check(lambda x, y: (x + y).exp(), values(6, 70, 50), values(6, 50, 70).transpose(1, 2))
    check(lambda x: x.permute(2, 0, 1) * 2, values(20, 33, 40))
    check(lambda x: torch.cat([x, x + 1], 1), values(20, 33))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize("n", [1, 2, 3, 17, 32, 33, 64, 65, 100, 1000, 1024, 1025, 5000, 40000])
def test_folds_of_rows(n, dtype):
    rows = 3 if n > 2000 else 37
    x = values(rows, n, dtype=dtype)
    check(lambda x: (x.sum(1), x.amax(1), x.amin(1)), x)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 100, 1024, 1025, 3000, 9000])
@pytest.mark.parametrize("columns", [1, 3, 32, 70])
def test_folds_of_columns(n, columns):
    x = values(n, columns)
    check(lambda x: (x.sum(0), x.amax(0), (x * 2).sum(0) + 1), x)
    check(lambda x: x.sum(1), values(3, min(n, 2000), columns))


def test_long_folds_are_split():
    check(lambda x: x.sum(), values(200_000))
    check(lambda x: (x.sum(0), x.amax(0)), values(70_000, 5))
    check(lambda x: torch.softmax(x, 0), values(100_000))


@pytest.mark.parametrize("n", [1, 5, 64, 100, 1000, 1024, 3000, 20000])
def test_several_passes(n):
    x, w, b = values(9, n), values(n), values(n)
    check(lambda x: torch.softmax(x, 1), x)
    check(lambda x: torch.log_softmax(x, -1), x)
    check(lambda x, w, b: torch.nn.functional.layer_norm(x, x.shape[-1:], w, b), x, w, b)
    check(lambda x: x.var(1), x)


def test_empty():
    check(lambda x: x + 1, values(0, 5))
    check(lambda x: (x.sum(0), x.sum(1), x.sum()), values(0, 5))
    check(lambda x: x.sum(1), values(5, 0))


def test_integer_division_by_zero():
    x, zero = torch.tensor([4, 5], device="cuda"), torch.tensor([2, 0], device="cuda")
    f = torch.compile(lambda x, y: x // y)
    assert f(x, torch.tensor([2, 2], device="cuda")).tolist() == [2, 2]
    result = f(x, zero)  # found out when somebody waits for it
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        result.tolist()


def test_writes():
    def step(x, y):
        x.mul_(2).add_(y)
        return x.sum()

    a, b = values(50, 20), values(50, 20)
    moved, other = a.to("cuda"), b.to("cuda")
    plain = torch.compile(step, fullgraph=True)(a, b)
    result = torch.compile(step, fullgraph=True)(moved, other)
    same_bits(plain, result.cpu())
    same_bits(a, moved.cpu())


def test_sizes_that_vary():
    torch._dynamo.reset()
    f = torch.compile(lambda x: (torch.softmax(x * 2, -1), x.sum(0)), dynamic=True, fullgraph=True)
    for rows, columns in [(3, 5), (17, 100), (40, 1500), (2, 5000)]:
        x = values(rows, columns)
        for a, b in zip(f(x), f(x.to("cuda")), strict=True):
            same_bits(a, b.cpu())


def test_numbers_that_vary():
    torch._dynamo.reset()
    f = torch.compile(lambda x, n: (x * n + 1).sum(0), dynamic=True, fullgraph=True)
    for n in (3, 4, 5):
        x = values(6, 7)
        expected, moved = f(x, n), x.to("cuda")
        launched()
        EMULATOR.mdEmulatorReset()
        same_bits(expected, f(moved, n).cpu())
        assert all(map(is_nest, launched())), launched()

"""uint16, uint32, uint64 and the 8-bit floats: kept, converted, moved, printed; values are those of torch 2.13."""

import copy
import io
import math
import pickle

import numpy as np
import pytest

import minidynamo as torch

UNSIGNED = [torch.uint16, torch.uint32, torch.uint64]
FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]
nan, inf = math.nan, math.inf


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (torch.float8_e4m3fn, [448.0, 448.0, 448.0, 448.0, 2**-9, 0.0, 448.0]),
        (torch.float8_e5m2, [448.0, 448.0, 57344.0, inf, 2**-9, 2**-10, inf]),
        (torch.float8_e4m3fnuz, [nan, nan, nan, nan, 2**-9, 2**-10, nan]),
        (torch.float8_e5m2fnuz, [448.0, 448.0, 57344.0, nan, 2**-9, 2**-10, nan]),
    ],
)
def test_floats_are_rounded_and_leave_the_range(dtype, expected):
    x = torch.tensor([448.0, 464.0, 57344.0, 61440.0, 2**-9, 2**-10, inf])
    assert np.array_equal(x.to(dtype).float().numpy(), np.array(expected, dtype=np.float32), equal_nan=True)


@pytest.mark.parametrize("dtype", FLOAT8)
def test_all_bit_patterns_come_back(dtype):
    bits = torch.arange(256, dtype=torch.uint8)
    memory = torch.empty(256, dtype=dtype)
    values = torch.tensor([v.item() for v in bits]).to(torch.float32)  # any floats: each is rounded to a pattern
    memory.copy_(values)
    again = memory.to(torch.float64).to(dtype)
    assert repr(again) == repr(memory)


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_integers_wrap(dtype):
    assert torch.tensor([-1, 5]).to(dtype).tolist() == [2 ** (8 * dtype.itemsize) - 1, 5]
    assert torch.tensor([2.9]).to(dtype).tolist() == [2]
    assert torch.tensor([2**64 - 1], dtype=torch.uint64).tolist() == [2**64 - 1]
    assert torch.full((2,), 3, dtype=dtype).tolist() == [3, 3]


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_what_unsigned_integers_compute(dtype):
    x = torch.tensor([3, 5], dtype=dtype)
    assert (x * 2).tolist() == [6, 10] and (x * 2).dtype == dtype
    assert (x & 1).tolist() == [1, 1]
    assert x.sum().dtype == torch.int64 and x.sum() == 8
    assert (x / 2).tolist() == [1.5, 2.5]
    assert (x == 3).tolist() == [True, False]
    assert torch.where(x == 3, x, x).dtype == dtype
    assert torch.cat([x, x])[1:3].tolist() == [5, 3]
    for refused in (lambda: x + x, lambda: -x, lambda: x < 4, lambda: x << 1, lambda: x.max(), lambda: x.flip(0)):
        with pytest.raises(NotImplementedError, match=str(dtype).removeprefix("torch.")):
            refused()
    with pytest.raises(RuntimeError, match="no common type"):
        x * torch.ones(2, dtype=torch.int64)


@pytest.mark.parametrize("dtype", FLOAT8)
def test_what_8_bit_floats_refuse(dtype):
    x = torch.tensor([1.0, 2.0]).to(dtype)
    assert (x == x).all() and x[torch.tensor([1, 0])].tolist() == [2.0, 1.0]
    for refused in (lambda: x + x, lambda: -x, lambda: x.sum(), lambda: x.exp(), lambda: x < x, lambda: x.sort()):
        with pytest.raises(NotImplementedError):
            refused()
    with pytest.raises(RuntimeError, match="no common type"):
        x + torch.ones(2)
    with pytest.raises(TypeError):
        x.numpy()


def test_arrays_share_memory():
    for name in ("uint16", "uint32", "uint64"):
        a = np.array([1, 2], dtype=name)
        x = torch.from_numpy(a)
        a[0] = 9
        assert x.tolist() == [9, 2] and x.numpy().dtype == name


@pytest.mark.parametrize("dtype", UNSIGNED + FLOAT8)
def test_copies_and_files(dtype):
    x = torch.tensor([1, 2, 3]).to(dtype)
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), torch.load(file)):
        assert y.dtype == dtype and y.tolist() == x.tolist()
    assert repr(x).endswith(f"dtype={dtype})")


def test_a_graph_rounds_through_them():
    graphs = []

    def keep(graph, inputs):
        graphs.append(graph)
        return graph.forward

    def f(x):
        scale = x.abs().amax() / 448.0
        q = (x / scale).to(torch.float8_e4m3fn)
        return q, q.to(torch.float32) * scale

    x = torch.linspace(-3, 3, 16)
    expected = f(x)
    for backend in (keep, "inductor"):
        q, back = torch.compile(f, backend=backend, fullgraph=True)(x)
        assert repr(q) == repr(expected[0]) and torch.equal(back, expected[1])
    assert len(graphs) == 1


def test_gradients_pass_conversions():
    x = torch.tensor([1.3, 2.7], requires_grad=True)
    x.to(torch.float8_e5m2).to(torch.float32).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]

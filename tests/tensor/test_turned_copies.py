"""Copies between layouts whose common runs are short, elements turned round, and the kernels of convolutions that go
back: against NumPy."""

import itertools

import numpy as np
import pytest

import minidynamo as torch

SHAPES = [(20, 24, 3, 3), (9, 40, 2, 5), (16, 17, 4), (33, 8, 8, 1, 3), (3, 5, 7), (8, 300, 2), (40, 1, 40, 3)]
TYPES = {"float32": np.float32, "float64": np.float64, "float16": np.float16, "uint8": np.uint8, "int64": np.int64}


def numbers(shape, dtype=np.float32):
    return (np.arange(np.prod(shape)) % 251).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_copies_of_transposed_tensors(shape, dtype):
    x = numbers(shape, TYPES[dtype])
    for order in itertools.permutations(range(len(shape))):
        if len(shape) > 4 and order[-1] != len(shape) - 1:
            continue
        turned = torch.tensor(x).permute(order)
        assert turned.contiguous().is_contiguous()
        np.testing.assert_array_equal(turned.contiguous().numpy(), x.transpose(order))
        cut = torch.tensor(x)[1:, ::2].permute(order)
        np.testing.assert_array_equal(cut.contiguous().numpy(), x[1:, ::2].transpose(order))
        np.testing.assert_array_equal((turned + turned).numpy(), (x + x).transpose(order))


@pytest.mark.parametrize("dtype", [*TYPES, "bool"])
@pytest.mark.parametrize("shape", [*SHAPES, (5,), (0, 3), (1, 1), (4, 0, 2)])
def test_elements_turned_round(shape, dtype):
    x = numbers(shape, TYPES.get(dtype, bool))
    for count in range(1, len(shape) + 1):
        for dims in itertools.combinations(range(len(shape)), count):
            np.testing.assert_array_equal(torch.tensor(x).flip(dims).numpy(), np.flip(x, dims))
    if len(shape) > 1:
        turned = torch.tensor(x).transpose(0, 1)
        made = turned.flip(0, -1)
        assert made.stride() == torch.empty_like(turned).stride()
        np.testing.assert_array_equal(made.numpy(), np.flip(x.swapaxes(0, 1), (0, -1)))
        np.testing.assert_array_equal(torch.tensor(x).expand(2, *shape).flip(0, 1).numpy(), np.flip([x, x], (0, 1)))


@pytest.mark.parametrize("shape", [(20, 0, 9, 3, 3), (0, 24, 9, 3, 3), (2, 24, 9, 0, 3)])
def test_copies_of_nothing(shape):
    x = torch.zeros(shape).transpose(1, 2)
    assert x.contiguous().shape == x.shape and (x + x).shape == x.shape
    y = torch.nn.functional.avg_pool3d(torch.zeros(0, 9, 24, 4, 4).transpose(1, 2), 2)
    assert y.shape == (0, 24, 4, 2, 2)


def test_numbers_without_dimensions():
    assert torch.tensor(3.0).flip(()).item() == 3.0


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size, stride", [(1, 1), (2, 1), (4, 2), (5, 1)])
def test_gradients_of_small_pictures_with_many_channels(size, stride, threads):
    draws = np.random.default_rng(0)
    x = torch.tensor(draws.integers(-2, 3, (2, 24, size, size)).astype(np.float64), requires_grad=True)
    w = torch.tensor(draws.integers(-2, 3, (40, 24, 3, 3)).astype(np.float64), requires_grad=True)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        y = torch.nn.functional.conv2d(x, w, stride=stride, padding=1)
        g = torch.tensor(draws.integers(-2, 3, tuple(y.shape)).astype(np.float64))
        y.backward(g)
    finally:
        torch.set_num_threads(before)
    expected = np.zeros((2, 24, size + 2, size + 2))
    for i, j in itertools.product(range(y.shape[2]), range(y.shape[3])):
        part = np.einsum("no,ochw->nchw", g.numpy()[:, :, i, j], w.detach().numpy())
        expected[:, :, i * stride : i * stride + 3, j * stride : j * stride + 3] += part
    np.testing.assert_array_equal(x.grad.numpy(), expected[:, :, 1:-1, 1:-1])

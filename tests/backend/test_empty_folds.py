"""Folding nothing gives the same bits in eager and compiled code: a sum of no elements is +0, not -0."""

import pytest

import minidynamo as torch

SHAPES = [((0,), 0), ((0, 5), 0), ((3, 0), 1), ((3, 0, 2), 1), ((0, 5), (0, 1)), ((2, 0, 3), (1, 2))]


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all"])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_compiled_equals_eager(name, shape, dim, dtype):
    if name == "prod" and isinstance(dim, tuple):
        pytest.skip("prod takes one dim")

    def fold(x):
        return getattr(x, name)(dim)

    x = torch.empty(shape, dtype=dtype)
    torch._dynamo.reset()
    expected, actual = fold(x), torch.compile(fold, fullgraph=True)(x)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    assert actual.numpy().tobytes() == expected.numpy().tobytes()

"""Folding nothing gives the same bits in eager and compiled code: a sum of no elements is +0, not -0."""

import pytest

import minidynamo as torch

SHAPES = [((0,), 0), ((0, 5), 0), ((3, 0), 1), ((3, 0, 2), 1), ((0, 5), (0, 1)), ((2, 0, 3), (1, 2))]

# prod takes one dim.
FOLDS = [(name, *at) for name in ("sum", "prod", "any", "all") for at in SHAPES if name != "prod" or type(at[1]) is int]


@pytest.mark.parametrize(("name", "shape", "dim"), FOLDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_compiled_equals_eager(name, shape, dim, dtype):
    def fold(x):
        return getattr(x, name)(dim)

    x = torch.empty(shape, dtype=dtype)
    torch._dynamo.reset()
    expected, actual = fold(x), torch.compile(fold, fullgraph=True)(x)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    assert actual.numpy().tobytes() == expected.numpy().tobytes()

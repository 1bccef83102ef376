"""Functions of torch that are made of ops: ldexp and renorm against NumPy, plain and compiled."""

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import same

ROWS = np.array([[3, 4], [0.3, 0.4], [1, 1], [0, 0], [5, 12]], dtype="float32")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
def test_ldexp(dtype):
    x = np.array([[1, -2, 3], [4, 5, 0]]).astype(dtype)
    exponents = np.array([3, -1, 0])
    result = torch.ldexp(torch.from_numpy(x), torch.from_numpy(exponents))
    assert result.tolist() == np.ldexp(x.astype("float64"), exponents).tolist()
    assert result.dtype == (torch.float32 if dtype == "int64" else getattr(torch, dtype))
    same(lambda x, e: torch.ldexp(x, e), lambda: (torch.from_numpy(x), torch.from_numpy(exponents)), frames=1)


@pytest.mark.parametrize(
    ("shape", "wrap"), [((3, 3), False), ((7, 3), False), ((7, 3), True), ((2, 5), True), ((4, 4, 4), False)]
)
def test_fill_diagonal(shape, wrap):
    want = np.zeros(shape)
    np.fill_diagonal(want, 5, wrap)
    assert torch.zeros(shape).fill_diagonal_(5, wrap).tolist() == want.tolist()
    same(lambda x: x.fill_diagonal_(5, wrap=wrap), lambda: (torch.zeros(shape),), frames=1, breaks=[])


def test_fill_diagonal_converts_and_refuses():
    assert torch.ones(2, 2, dtype=torch.int32).fill_diagonal_(2.5).tolist() == [[2, 1], [1, 2]]
    for shape in ((3,), (2, 3, 4)):
        with pytest.raises(RuntimeError):
            torch.zeros(shape).fill_diagonal_(1)


@pytest.mark.parametrize("call", ["linear", "bilinear", "embedding", "scaled_dot_product_attention", "cross_entropy"])
def test_layers_name_what_is_no_tensor(call):
    function, x = getattr(torch.nn.functional, call), torch.ones(2, 2)
    for args in ((x, [1.0], x), ([[1.0]], x, x)):
        with pytest.raises(TypeError, match=rf"{call}\(\): argument '\w+' \(position \d\) must be Tensor, not list"):
            function(*args)


@pytest.mark.parametrize("p", [1, 2, 3.5, float("inf")])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_renorm(p, dim):
    axis = 1 - dim % 2
    norm = np.linalg.norm(ROWS.astype("float64"), p, axis=axis, keepdims=True)
    want = np.where(norm > 2, ROWS * (2 / (norm + 1e-7)), ROWS)
    result = torch.renorm(torch.from_numpy(ROWS), p, dim, 2)
    np.testing.assert_allclose(result.numpy(), want, rtol=2e-6)
    kept = np.broadcast_to(norm <= 2, ROWS.shape)
    assert (result.numpy()[kept] == ROWS[kept]).all()
    same(lambda x: torch.renorm(x, p, dim, 2), lambda: (torch.from_numpy(ROWS),), frames=1, breaks=[])


def test_renorm_refuses():
    x = torch.from_numpy(ROWS)
    for error, args in (
        (RuntimeError, (x[0], 2, 0, 1.0)),
        (RuntimeError, (x, 0, 0, 1.0)),
        (RuntimeError, (x, 2, 0, -1.0)),
        (IndexError, (x, 2, 2, 1.0)),
        (RuntimeError, (x.long(), 2, 0, 1.0)),
    ):
        with pytest.raises(error):
            torch.renorm(*args)

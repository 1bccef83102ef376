"""Views, joining, splitting and matrix products against NumPy; what aliases and what does not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidynamo as torch
from tensor.oracle import FLOATS, INTEGERS, RELAXED, assert_matches, dtype_of, pairs

# --- shapes -------------------------------------------------------------------------------------------------


@given(st.data())
@RELAXED
def test_views_against_numpy(data):
    array, tensor = data.draw(pairs(shape=(2, 3, 4)))
    order = tuple(data.draw(st.permutations(range(array.ndim))))
    assert_matches(tensor.permute(order), array.transpose(order), dtype_of(array))
    first, second = data.draw(st.integers(-array.ndim, array.ndim - 1)), data.draw(st.integers(0, array.ndim - 1))
    assert_matches(tensor.transpose(first, second), array.swapaxes(first, second), dtype_of(array))
    where = data.draw(st.integers(-array.ndim - 1, array.ndim))
    assert_matches(tensor.unsqueeze(where), np.expand_dims(array, where), dtype_of(array))
    assert_matches(tensor.reshape(-1), array.reshape(-1), dtype_of(array))
    assert_matches(tensor.flatten(), array.reshape(-1), dtype_of(array))
    assert_matches(tensor.contiguous(), array, dtype_of(array))
    assert tensor.contiguous().is_contiguous()


def test_aliasing_of_shape_functions():
    x = torch.zeros(2, 3)
    flat = (x.view(6), x.reshape(3, 2), x.flatten(), x.t(), x.T, x.mT, x.permute(1, 0), x.unsqueeze(0), x.squeeze())
    parts = (x.detach(), x[0], x.chunk(2)[0], x.split(1)[1], x.view_as(x), x.narrow(1, 0, 2), x.expand(4, 2, 3))
    for view in (*flat, *parts):
        before = x.sum().item()
        (view if view.numel() <= 6 else view[0]).add_(1)
        assert x.sum().item() > before
    for copy in (x.clone(), x.t().reshape(6), x.to(torch.float64), x + 0, x.t().contiguous()):
        before = x.tolist()
        copy.zero_()
        assert x.tolist() == before
    assert x.contiguous() is x and x.to(torch.float32) is x and x.float() is x


def test_join_and_split():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(3.0).reshape(1, 3)
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    assert_matches(torch.cat([x, y]), np.concatenate([a, b]), torch.float64)
    assert_matches(torch.cat((x, x), dim=1), np.concatenate([a, a], 1), torch.float64)
    assert_matches(torch.stack([x, x], 1), np.stack([a, a], 1), torch.float64)
    assert torch.cat([x, torch.ones(1, 3)]).dtype is torch.float64
    assert [p.tolist() for p in x.split(2, 1)] == [a[:, :2].tolist(), a[:, 2:].tolist()]
    assert [p.shape[0] for p in torch.arange(7).split([3, 4])] == [3, 4]
    assert [p.shape[0] for p in torch.arange(7).chunk(3)] == [3, 3, 1]
    assert isinstance(x.split(1), tuple) and isinstance(x.unbind(), tuple)
    for wrong in (lambda: torch.cat([]), lambda: torch.cat([x, torch.ones(2)]), lambda: torch.stack([x, y]),
                  lambda: x.split([1, 5]), lambda: x.chunk(0), lambda: torch.cat(x)):  # fmt: skip
        with pytest.raises((RuntimeError, TypeError, ValueError, IndexError)):
            wrong()


@given(st.data())
@RELAXED
def test_matrix_products(data):
    m, k, n = (data.draw(st.integers(0, 5)) for _ in range(3))
    whole = st.integers(-9, 9)  # exact in every dtype, so that order does not matter
    draw = np.array(data.draw(st.lists(whole, min_size=m * k + k * n, max_size=m * k + k * n)))
    dtype = data.draw(st.sampled_from((*FLOATS, *INTEGERS)))
    a, b = draw[: m * k].reshape(m, k).astype(dtype), draw[m * k :].reshape(k, n).astype(dtype)
    x, y = (
        torch.tensor(a.tolist(), dtype=dtype_of(a)).reshape(m, k),
        torch.tensor(b.tolist(), dtype=dtype_of(a)).reshape(k, n),
    )
    for result in (x @ y, torch.matmul(x, y), torch.mm(x, y), x.mm(y), (y.t() @ x.t()).t()):
        assert_matches(result, a @ b, dtype_of(a))
    if k and m:
        assert_matches(x @ y[:, 0] if n else x[0] @ x[0], a @ b[:, 0] if n else a[0] @ a[0], dtype_of(a))
        assert_matches(x.reshape(1, m, k) @ y, (a @ b)[None], dtype_of(a))

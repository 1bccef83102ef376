"""Functions that rearrange: diagonals, triangles, repetition, rotation, splitting, grids; values, sizes, aliasing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidynamo as torch
from tensor.oracle import RELAXED, assert_matches, dtype_of, pairs

THREE = st.sampled_from([(2, 3, 4), (1, 3, 2), (3, 3, 1)])


@st.composite
def cubes(draw):
    return draw(
        pairs(
            shape=draw(THREE),
            views=(lambda x: x, lambda x: x.transpose(0, 2) if isinstance(x, torch.Tensor) else x.swapaxes(0, 2)),
        )
    )


def same(tensor, array):
    assert_matches(tensor, array, dtype_of(np.asarray(array)))


def axis(data, array, extra=0):
    return data.draw(st.integers(-array.ndim - extra, array.ndim + extra - 1))


@given(st.data())
@RELAXED
def test_moving_dimensions(data):
    array, tensor = data.draw(cubes())
    a, b = axis(data, array), axis(data, array)
    same(torch.movedim(tensor, a, b), np.moveaxis(array, a, b))
    same(tensor.moveaxis((0, 2), (1, 0)), np.moveaxis(array, (0, 2), (1, 0)))
    for swap in (torch.swapaxes, torch.swapdims, torch.transpose):
        same(swap(tensor, a, b), np.swapaxes(array, a, b))
    same(torch.swapaxes(tensor, axis0=a, axis1=b), np.swapaxes(array, a, b))
    same(tensor.ravel(), array.ravel())
    k = data.draw(st.integers(-5, 5))
    same(torch.rot90(tensor, k, (0, 2)), np.rot90(array, k, (0, 2)))


@given(st.data())
@RELAXED
def test_reversing_and_rolling(data):
    array, tensor = data.draw(cubes())
    dims = tuple(data.draw(st.lists(st.integers(0, 2), unique=True)))
    same(torch.flip(tensor, dims), np.flip(array, dims))
    same(torch.fliplr(tensor), np.fliplr(array))
    same(tensor.flipud(), np.flipud(array))
    shift, d = data.draw(st.integers(-9, 9)), axis(data, array)
    same(torch.roll(tensor, shift, d), np.roll(array, shift, d))
    same(tensor.roll((shift, 1), (0, 1)), np.roll(array, (shift, 1), (0, 1)))
    same(tensor.roll(shift), np.roll(array, shift))


@given(st.data())
@RELAXED
def test_triangles_and_diagonals(data):
    array, tensor = data.draw(cubes())
    k = data.draw(st.integers(-5, 5))
    same(torch.tril(tensor, k), np.tril(array, k))
    same(tensor.triu(diagonal=k), np.triu(array, k))
    a, b = data.draw(st.permutations(range(3)))[:2]
    same(torch.diagonal(tensor, k, a, b), np.diagonal(array, k, a, b))
    matrix, plain = tensor[0], array[0]
    same(torch.diag(matrix, k), np.diag(plain, k))
    same(torch.diag(matrix[0], k), np.diag(plain[0], k))
    same(torch.diagflat(matrix, k), np.diagflat(plain, k))
    embedded = torch.diag_embed(matrix, k)
    same(torch.diagonal(embedded, k, -2, -1), plain)
    assert torch.count_nonzero(embedded).item() == np.count_nonzero(plain)
    if array.dtype not in (np.bool_,) and np.isfinite(plain).all() and np.abs(plain.astype(np.float64)).max() < 1e6:
        assert torch.trace(matrix).item() == pytest.approx(np.trace(plain.astype(np.float64)), rel=1e-5)


@given(st.data())
@RELAXED
def test_repetition(data):
    array, tensor = data.draw(cubes())
    counts = tuple(data.draw(st.lists(st.integers(0, 3), min_size=3, max_size=4)))
    same(tensor.repeat(counts), np.tile(array, counts))
    same(tensor.repeat(*counts), np.tile(array, counts))
    few = tuple(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4)))
    same(torch.tile(tensor, few), np.tile(array, few))
    n, d = data.draw(st.integers(0, 3)), axis(data, array)
    same(torch.repeat_interleave(tensor, n, d), np.repeat(array, n, d))
    same(tensor.repeat_interleave(n), np.repeat(array, n))


@given(st.data())
@RELAXED
def test_splitting(data):
    array, tensor = data.draw(cubes())
    d, n = axis(data, array), data.draw(st.integers(1, 5))
    at = sorted(data.draw(st.lists(st.integers(0, 5), max_size=3)))
    for ours, theirs in (
        (torch.tensor_split(tensor, n, d), np.array_split(array, n, d)),
        (tensor.tensor_split(at, dim=d), np.array_split(array, at, d)),
        (torch.tensor_split(tensor, sections=n, dim=d), np.array_split(array, n, d)),
        (torch.hsplit(tensor, at), np.hsplit(array, at)),
        (torch.vsplit(tensor, array.shape[0]), np.vsplit(array, array.shape[0])),
        (tensor.dsplit(at), np.dsplit(array, at)),
    ):
        assert isinstance(ours, tuple) and len(ours) == len(theirs)
        for x, a in zip(ours, theirs, strict=True):
            same(x, a)


@given(st.data())
@RELAXED
def test_joining(data):
    array, tensor = data.draw(cubes())
    matrix, plain, vector, flat = tensor[0], array[0], tensor[0, 0], array[0, 0]
    same(torch.hstack((tensor, tensor)), np.hstack((array, array)))
    same(torch.hstack([vector, vector]), np.hstack([flat, flat]))
    same(torch.vstack((vector, vector)), np.vstack((flat, flat)))
    same(torch.row_stack((matrix, matrix)), np.vstack((plain, plain)))
    same(torch.dstack((vector, vector)), np.dstack((flat, flat)))
    same(torch.dstack((matrix, matrix)), np.dstack((plain, plain)))
    same(torch.column_stack((vector, vector)), np.column_stack((flat, flat)))
    same(torch.concat((matrix, matrix), dim=1), np.concatenate((plain, plain), 1))
    same(torch.concatenate((matrix, matrix)), np.concatenate((plain, plain)))
    if array.dtype != np.bool_ and np.isfinite(flat).all() and np.abs(flat.astype(np.float64)).max() < 1e4:
        same(torch.outer(vector, vector), np.outer(flat, flat))
    for ours, theirs in (
        (torch.atleast_1d, np.atleast_1d),
        (torch.atleast_2d, np.atleast_2d),
        (torch.atleast_3d, np.atleast_3d),
    ):
        for x, a in ((tensor, array), (matrix, plain), (vector, flat), (vector[0], flat[0])):
            same(ours(x), theirs(a))
        assert [y.shape for y in ours(vector, matrix)] == [torch.Size(y.shape) for y in theirs(flat, plain)]
    rows, columns = plain.shape
    block = np.zeros((rows + 1, columns + flat.size), array.dtype)
    block[:rows, :columns], block[rows:, columns:] = plain, flat
    same(torch.block_diag(matrix, vector), block)


def test_grids():
    a, b = np.arange(3.0), np.arange(2.0) + 5
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    for indexing in ("ij", "xy"):
        for grid in (torch.meshgrid(x, y, indexing=indexing), torch.meshgrid([x, y], indexing=indexing)):
            for ours, theirs in zip(grid, np.meshgrid(a, b, indexing=indexing), strict=True):
                same(ours, theirs)
    pairs_of = np.array([[p, q] for p in a for q in b])
    same(torch.cartesian_prod(x, y), pairs_of)
    for ours, theirs in zip(
        torch.broadcast_tensors(x, y.unsqueeze(1)), np.broadcast_arrays(a, b[:, None]), strict=True
    ):
        same(ours, theirs)
    same(torch.broadcast_to(x, (2, 3)), np.broadcast_to(a, (2, 3)))


@given(st.integers(0, 5), st.integers(0, 5), st.integers(-6, 6))
@RELAXED
def test_triangle_indices(rows, columns, offset):
    assert torch.tril_indices(rows, columns, offset).tolist() == [
        i.tolist() for i in np.tril_indices(rows, offset, columns)
    ]
    assert torch.triu_indices(rows, columns, offset).tolist() == [
        i.tolist() for i in np.triu_indices(rows, offset, columns)
    ]


def test_triangle_indices_of_large_matrices():
    """Work and memory grow with what is on the triangle, not with the matrix."""
    large = 2**62
    assert torch.tril_indices(large, 5, 3 - large).tolist() == [
        [large - 3 + i for i in (0, 1, 1, 2, 2, 2)], [0, 0, 1, 0, 1, 2]
    ]  # fmt: skip
    assert torch.triu_indices(large, 3, 1).tolist() == [[0, 0, 1], [1, 2, 2]]
    assert torch.triu_indices(2, large, large - 1).tolist() == [[0], [large - 1]]
    for shape in [(large, 0), (0, large), (large, 4, -large), (3, large, -3)]:
        assert torch.tril_indices(*shape).shape == (2, 0)
    for shape in [(large, 0), (0, large), (large, 4, 4), (large, 4, 2**63 - 1)]:
        assert torch.triu_indices(*shape).shape == (2, 0)
    for indices in (torch.tril_indices, torch.triu_indices):
        with pytest.raises(RuntimeError, match="size"):
            indices(large, large)


def test_strided_views():
    array = np.arange(24.0)
    x = torch.from_numpy(array.copy()).reshape(4, 6)
    window = np.lib.stride_tricks.sliding_window_view(array.reshape(4, 6), 3, 1)[:, ::2]
    same(x.unfold(1, 3, 2), window)
    same(torch.as_strided(x, (3, 2), (2, 5), 1), np.lib.stride_tricks.as_strided(array[1:], (3, 2), (16, 40)))
    same(x[1:].as_strided((2,), (1,)), array[6:8])
    for bad in (((30,), (1,), 0), ((2, 2), (20, 20), 0), ((2,), (-1,), 5), ((2,), (1,), -1), ((2, 2), (1,), 0)):
        with pytest.raises(RuntimeError):
            torch.as_strided(x, *bad)
    made = torch.empty_strided((2, 3), (1, 2))
    assert made.shape == (2, 3) and made.stride() == (1, 2)
    x.as_strided((2,), (6,)).zero_()
    assert x[0, 0].item() == 0 and x[1, 0].item() == 0 and x[0, 1].item() == 1


def test_strided_views_compiled():
    def f(x):
        y = x.t() + 1
        z = y.as_strided((2, 2), (1, 2), 1)
        x.as_strided((2,), (1,), 1).mul_(10)
        x.diagonal().add_(100)
        x.unfold(1, 2, 2).mul_(2)
        return y, z, x.as_strided((3,), (1,), 1)

    def run(callee):
        x = torch.arange(12.0).reshape(3, 4)
        return [v.tolist() for v in callee(x)], x.tolist()

    torch._dynamo.reset()
    assert run(torch.compile(f)) == run(f)


def test_a_wider_view_than_is_known_runs_as_python():
    def f(x):
        return x.as_strided((4,), (1,), 0) * 2

    torch._dynamo.reset()
    whole = torch.arange(6.0)
    assert torch.compile(f)(whole[2:4]).tolist() == [0.0, 2.0, 4.0, 6.0]
    with pytest.raises(RuntimeError):
        torch.compile(f)(torch.ones(2))


def test_views_share_memory_and_copies_do_not():
    x = torch.zeros(2, 4)
    views = (
        x.diagonal(),
        x.movedim(0, 1),
        x.swapaxes(0, 1),
        x.unflatten(1, (2, 2)),
        x.ravel(),
        x.broadcast_to((3, 2, 4))[0],
        x.tensor_split(2)[0],
        x.hsplit(2)[1],
        torch.atleast_3d(x),
        x.unfold(1, 2, 2),
        x.reshape_as(torch.ones(8)),
    )
    for view in views:
        before = x.sum().item()
        view.add_(1)
        assert x.sum().item() > before
    before = x.tolist()
    for copy in (
        x.tril(),
        x.triu(),
        x.flip(0),
        x.roll(0),
        x.roll(1, 0),
        x.rot90(),
        x.repeat(1, 1),
        x.tile((1,)),
        x.diag(),
        x.repeat_interleave(1),
        torch.hstack((x, x)),
    ):
        copy.zero_()
        assert x.tolist() == before


def test_products_with_sums():
    a = np.arange(9.0).reshape(3, 3)
    x, v = torch.from_numpy(a), torch.from_numpy(a[0].copy())
    same(torch.addmm(x, x, x, beta=0.5, alpha=2), 0.5 * a + 2 * (a @ a))
    same(torch.addmm(v, x, x), a[0] + a @ a)
    same(x.addmm(x, x, beta=0), a @ a)
    same(torch.addmv(v, x, v, alpha=3), a[0] + 3 * (a @ a[0]))
    same(torch.baddbmm(x, x.unsqueeze(0), x.unsqueeze(0)), (a + a @ a)[None])
    same(torch.inner(x, x), np.inner(a, a))
    same(torch.inner(v, v), np.asarray(np.inner(a[0], a[0])))
    assert torch.logspace(0, 3, 4).tolist() == [1.0, 10.0, 100.0, 1000.0]
    np.testing.assert_allclose(
        torch.logspace(-2, 2, 7, 2.0, dtype=torch.float64).numpy(), np.logspace(-2, 2, 7, base=2.0)
    )


def test_refusals():
    x = torch.ones(2, 3)
    for call, error in (
        (lambda: torch.tril(torch.ones(2)), RuntimeError),
        (lambda: torch.diagonal(torch.ones(2)), IndexError),
        (lambda: torch.diagonal(x, 0, 1, 1), RuntimeError),
        (lambda: torch.flip(x, (0, 0)), RuntimeError),
        (lambda: torch.flip(x, (2,)), IndexError),
        (lambda: x.repeat(2), RuntimeError),
        (lambda: x.repeat(-1, 1), RuntimeError),
        (lambda: torch.movedim(x, 0, (0, 1)), RuntimeError),
        (lambda: torch.movedim(x, (0, 0), (0, 1)), RuntimeError),
        (lambda: torch.hsplit(x, 2), RuntimeError),
        (lambda: torch.dsplit(x, 1), RuntimeError),
        (lambda: torch.vsplit(torch.ones(2), 2), RuntimeError),
        (lambda: torch.tensor_split(x, 0), RuntimeError),
        (lambda: torch.meshgrid(x), RuntimeError),
        (lambda: torch.meshgrid(torch.ones(2), indexing="no"), RuntimeError),
        (lambda: torch.cartesian_prod(x), RuntimeError),
        (lambda: torch.hstack([]), RuntimeError),
        (lambda: torch.hstack(x, x), TypeError),
        (lambda: x.unfold(1, 4, 1), RuntimeError),
        (lambda: x.unfold(1, 2, 0), RuntimeError),
        (lambda: torch.roll(x, (1, 2), 0), RuntimeError),
        (lambda: torch.rot90(torch.ones(2)), RuntimeError),
        (lambda: torch.block_diag(torch.ones(1, 1, 1)), RuntimeError),
        (lambda: torch.unflatten(x, 1, (2, 2)), RuntimeError),
        (lambda: torch.addmm(x, x, x.t(), beta=2), RuntimeError),
        (lambda: torch.outer(x, x), RuntimeError),
    ):
        with pytest.raises(error):
            call()

"""Products beyond matmul: weighted sums, einsum, tensordot, kron, chains; values, dtypes, strides, errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidynamo as torch
from tensor.agreement import agree
from tensor.oracle import RELAXED

RNG = np.random.default_rng(7)


def whole(*shape, dtype=np.float32):
    """Small whole numbers: sums of products are exact in every dtype."""
    return RNG.integers(-3, 4, shape).astype(dtype)


def tensor(array):
    return torch.from_numpy(np.array(array))


def strided(array, how):
    """The array's values as a tensor of other strides."""
    if how == "reversed" and array.ndim:
        order = tuple(range(array.ndim - 1, -1, -1))
        return tensor(np.ascontiguousarray(array.transpose(order))).permute(order)
    if how == "spaced" and array.ndim:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return tensor(wide)[..., ::2]
    return tensor(array)


LAYOUTS = st.sampled_from(["dense", "reversed", "spaced"])
TYPES = st.sampled_from([np.float32, np.float64, np.int64, np.int32])


def exactly(result, expected, dtype=None):
    expected = np.asarray(expected)
    assert tuple(result.shape) == expected.shape
    if dtype is not None:
        assert result.dtype is dtype
    np.testing.assert_array_equal(result.numpy(), expected.astype(result.numpy().dtype))


@given(TYPES, LAYOUTS, LAYOUTS, st.integers(0, 3), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
@RELAXED
def test_batches_and_weighted_sums(dtype, left, right, b, n, k, m):
    x, y, z = whole(b, n, k, dtype=dtype), whole(b, k, m, dtype=dtype), whole(n, m, dtype=dtype)
    p, q = strided(x, left), strided(y, right)
    exactly(torch.bmm(p, q), x @ y)
    exactly(torch.baddbmm(tensor(z), p, q, beta=2, alpha=3), 2 * z + 3 * (x @ y))
    exactly(torch.addbmm(tensor(z), p, q, beta=2, alpha=3), 2 * z + 3 * (x @ y).sum(0))
    own = tensor(z).clone()
    assert own.addbmm_(p, q) is own
    exactly(own, z + (x @ y).sum(0))
    u, v = whole(n, dtype=dtype), whole(m, dtype=dtype)
    exactly(torch.addr(tensor(z), tensor(u), tensor(v), beta=-1, alpha=2), -z + 2 * np.outer(u, v))
    exactly(tensor(z).addr_(tensor(u), tensor(v)), z + np.outer(u, v))
    exactly(torch.vdot(tensor(u), tensor(u)), np.vdot(u, u))


@given(TYPES, LAYOUTS, LAYOUTS)
@RELAXED
def test_tensordot_and_kron(dtype, left, right):
    x, y = whole(2, 3, 4, dtype=dtype), whole(4, 3, 5, dtype=dtype)
    p, q = strided(x, left), strided(y, right)
    exactly(torch.tensordot(p, q, dims=([1, 2], [1, 0])), np.tensordot(x, y, ([1, 2], [1, 0])))
    exactly(torch.tensordot(p, q, 1), np.tensordot(x, y, 1))
    exactly(torch.tensordot(p, q, 0), np.tensordot(x, y, 0))
    exactly(torch.tensordot(p, q, ([-1], [-3])), np.tensordot(x, y, (2, 0)))
    exactly(torch.kron(p, q), np.kron(x, y))
    exactly(p[0].kron(q[0, 0]), np.kron(x[0], y[0, 0]))


EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk", (3, 4), (4, 5)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("...a,a", (2, 3, 4), (4,)),
    ("ii->i", (4, 4)),
    ("ii", (4, 4)),
    ("iji->j", (3, 2, 3)),
    ("ij->ji", (3, 4)),
    ("ba", (3, 4)),
    ("ij->", (3, 4)),
    ("i,i", (5,), (5,)),
    ("i,j->ij", (3,), (4,)),
    ("ij,ij->ij", (3, 4), (3, 4)),
    ("ij,ij->i", (3, 4), (3, 4)),
    ("ij,kl->il", (3, 4), (2, 5)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("ijk,jil,lk", (2, 3, 4), (3, 2, 5), (5, 4)),
    ("aBc,Bd->cdaB", (2, 3, 4), (3, 5)),
    ("i...->...", (2, 3, 4)),
    ("...,...", (3, 4), (4,)),
    ("b n d , d e -> b n e", (2, 3, 4), (4, 5)),
    ("ij,j->i", (0, 4), (4,)),
    ("ij,j->i", (3, 0), (0,)),
    ("i,i,i->i", (3,), (3,), (3,)),
    ("abc,cd,abe->de", (2, 3, 4), (4, 5), (2, 3, 6)),
]  # fmt: skip


@pytest.mark.parametrize("equation, shapes", [(e[0], e[1:]) for e in EQUATIONS])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_einsum_is_numpys(equation, shapes, dtype):
    arrays = [whole(*s, dtype=dtype) for s in shapes]
    expected = np.einsum(equation, *arrays)
    for layout in ("dense", "reversed", "spaced"):
        exactly(torch.einsum(equation, *[strided(a, layout) for a in arrays]), expected)
    exactly(torch.einsum(equation, [tensor(a) for a in arrays]), expected)
    agree(lambda *operands: torch.einsum(equation, *operands), *[tensor(a) for a in arrays])


def test_einsum_takes_labels_as_lists():
    a, b = whole(3, 4), whole(4, 5)
    exactly(torch.einsum(tensor(a), [0, 1], tensor(b), [1, 2], [0, 2]), a @ b)
    exactly(torch.einsum(tensor(a), [0, 1], tensor(b), [1, 2]), a @ b)
    exactly(torch.einsum(tensor(a), [..., 1], tensor(b), [1, 7], [..., 7]), a @ b)
    with pytest.raises(ValueError, match="0 to 51"):
        torch.einsum(tensor(a), [0, 52])


def test_einsum_sums_what_an_ellipsis_left_out():
    a = whole(2, 3, 4)
    exactly(torch.einsum("...i->i", tensor(a)), a.sum((0, 1)))
    exactly(torch.einsum("ij,j->i", tensor(whole(1, 4) * 0 + 2), tensor(np.full(4, 3, np.float32))), [24.0])


def test_einsum_broadcasts_sizes_of_one():
    a, b = whole(3, 1), whole(4, 5)
    exactly(torch.einsum("ij,jk->ik", tensor(a), tensor(b)), a * b.sum(0))


@pytest.mark.parametrize(
    "equation, shapes, message",
    [
        ("ij,jk->ik", [(3, 4)], "names 2 operands, but 1"),
        ("ij", [(3, 4), (4,)], "names 1 operands, but 2"),
        ("ij->ijj", [(3, 4)], "more than once"),
        ("ij->ik", [(3, 4)], "does not appear"),
        ("i1,jk", [(3, 4), (4, 5)], "position 1"),
        ("i.j", [(3, 4)], "position 1"),
        ("...i...", [(3, 4)], "more than one ellipsis"),
        ("i", [(3, 4)], "2 dimensions"),
        ("ijk", [(3, 4)], "3 subscripts"),
        ("...ijk", [(3, 4)], "beside the ellipsis"),
        ("ii", [(3, 4)], "repeated"),
        ("ij,jk", [(3, 4), (5, 6)], "do not broadcast"),
    ],
)
def test_wrong_equations(equation, shapes, message):
    with pytest.raises(RuntimeError, match=message):
        torch.einsum(equation, *[torch.ones(s) for s in shapes])


def test_chains():
    a, b, c, d = whole(3, 9), whole(9, 2), whole(2, 7), whole(7)
    exactly(torch.chain_matmul(tensor(a), tensor(b), tensor(c)), a @ b @ c)
    exactly(torch.chain_matmul(tensor(a)), a)
    exactly(torch.linalg.multi_dot([tensor(a), tensor(b), tensor(c)]), a @ b @ c)
    exactly(torch.linalg.multi_dot([tensor(a), tensor(b), tensor(c), tensor(d)]), a @ b @ c @ d)
    exactly(torch.linalg.multi_dot([tensor(a[0]), tensor(b), tensor(c), tensor(d)]), a[0] @ b @ c @ d)
    exactly(torch.linalg.matmul(tensor(a), tensor(b)), a @ b)
    s = whole(2, 3, 3, dtype=np.int64)
    for n in range(6):
        exactly(torch.matrix_power(tensor(s), n), np.linalg.matrix_power(s, n))
    exactly(tensor(s).matrix_power(3), np.linalg.matrix_power(s, 3))
    exactly(torch.linalg.matrix_power(tensor(s[0]), 2), s[0] @ s[0])
    exactly(torch.linalg.vecdot(tensor(a), tensor(a)), (a * a).sum(-1))
    exactly(torch.linalg.vecdot(tensor(a), tensor(a[:1]), dim=0), (a * a[:1]).sum(0))


def test_matrix_norms():
    x = whole(2, 3, 4)
    for order in ("fro", 1, -1, np.inf, -np.inf):
        got = torch.linalg.matrix_norm(tensor(x), order)
        np.testing.assert_allclose(got.numpy(), np.linalg.norm(x, order, (1, 2)), rtol=1e-6)
    np.testing.assert_allclose(torch.linalg.matrix_norm(tensor(x), 1, (0, 2)).numpy(), np.linalg.norm(x, 1, (0, 2)))
    assert torch.linalg.matrix_norm(tensor(x), keepdim=True).shape == (2, 1, 1)
    with pytest.raises(RuntimeError):
        torch.linalg.matrix_norm(torch.ones(3))


def in_turned_memory(array):
    """The array's values as a tensor whose batch dimensions cannot be joined without a copy."""
    order = (0, array.ndim - 2, *range(1, array.ndim - 2), array.ndim - 1)
    back = (0, *range(2, array.ndim - 1), 1, array.ndim - 1)
    return tensor(np.ascontiguousarray(array.transpose(order))).permute(back)


@given(TYPES, st.integers(2, 3), st.sampled_from(["both", "left", "right", "one of left", "none of right"]), st.data())
@RELAXED
def test_batches_whose_dimensions_do_not_join(dtype, rank, turned, data):
    batch = [data.draw(st.integers(0, 3)) for _ in range(rank)]
    n, k, m = (data.draw(st.integers(0, 4)) for _ in range(3))
    x, y = whole(*batch, n, k, dtype=dtype), whole(*batch, k, m, dtype=dtype)
    if turned == "one of left":
        x = x[:, :1] if batch[1] else x
    if turned == "none of right":
        y = whole(k, m, dtype=dtype)[None]
    p = in_turned_memory(x) if turned != "right" else tensor(x)
    q = in_turned_memory(y) if turned in ("both", "right") else tensor(y)
    made = torch.matmul(p, q)
    exactly(made, x @ y)
    assert made.is_contiguous()
    exactly(torch.matmul(p.to(torch.float16), q.to(torch.float16)), x @ y, torch.float16)
    exactly(torch.matmul(p, q.mT.contiguous().mT), x @ y)


def test_their_operands_are_not_copied():
    x, y = in_turned_memory(whole(2, 3, 4, 5)).requires_grad_(), in_turned_memory(whole(2, 3, 5, 6))
    made = torch.matmul(x, y)
    node = made.grad_fn
    assert node.name() == "UnsafeViewBackward0"
    (expanded, _), (right, _) = node.next_functions
    assert expanded.name() == "ExpandBackward0" and right is None
    assert expanded.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    joined = torch.matmul(x.contiguous(), y.contiguous()).grad_fn  # there the dimensions join
    assert joined.next_functions[0][0].name() == "BmmBackward0"


def test_gradients_of_such_batches():
    def work(x, y, w):
        made = torch.matmul(x, y)
        (made * w).sum().backward()
        return made, x.grad, y.grad

    for shape in [(2, 3), (3, 1, 2)]:
        left, right, weight = whole(*shape, 4, 5), whole(*shape, 5, 6), whole(*shape, 4, 6)
        for f in (work, torch.compile(work)):
            x, y = in_turned_memory(left).requires_grad_(), in_turned_memory(right).requires_grad_()
            made, at_x, at_y = f(x, y, tensor(weight))
            exactly(made.detach(), left @ right)
            exactly(at_x, weight @ right.swapaxes(-1, -2))
            exactly(at_y, left.swapaxes(-1, -2) @ weight)
            assert at_x.stride() == x.stride() and at_y.stride() == y.stride()


def test_such_batches_compiled_for_changing_sizes_and_of_bools():
    def heads(x, y):
        b, n, _ = x.shape
        p, q = (t.view(b, n, 2, -1).transpose(1, 2) for t in (x, y))
        return p @ q.mT @ q

    def operands(b, n, k):
        return tensor(whole(b, n, k)), tensor(whole(b, n, k))

    agree(heads, *operands(2, 3, 4), again=[operands(3, 5, 6), operands(2, 9, 8)])
    with pytest.raises(NotImplementedError, match="bool"):
        heads(*(t > 0 for t in operands(2, 3, 4)))


def test_halves_accumulate_in_float32():
    x = torch.full((1, 4096), 1.0, dtype=torch.float16)
    assert torch.einsum("ij,kj->ik", x, x).item() == 4096.0
    assert torch.tensordot(x, x, ([1], [1])).dtype is torch.float16


def test_compiled_products_with_changing_sizes():
    def work(x, y, z):
        mixed = torch.einsum("bij,bjk->bik", x, y)
        return torch.baddbmm(z, x, y, alpha=2), mixed, torch.tensordot(x, y, ([0, 2], [0, 1])), torch.addbmm(z[0], x, y)

    def operands(b, n, k, m):
        return tensor(whole(b, n, k)), tensor(whole(b, k, m)), tensor(whole(b, n, m))

    agree(work, *operands(2, 3, 4, 5), again=[operands(3, 4, 5, 6), operands(5, 2, 9, 3)])
    chain = lambda a, b, c: (torch.chain_matmul(a, b, c), torch.kron(a, b), torch.vdot(a[0], a[0]))  # noqa: E731
    agree(chain, *[tensor(whole(*s)) for s in ((2, 3), (3, 4), (4, 5))])


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: torch.addbmm(x, x, x), RuntimeError),
        (lambda x: torch.addr(x, x, x), RuntimeError),
        (lambda x: torch.vdot(x, x), RuntimeError),
        (lambda x: torch.tensordot(x, x, 3), RuntimeError),
        (lambda x: torch.tensordot(x, x, -1), RuntimeError),
        (lambda x: torch.tensordot(x, x, ([0], [1])), RuntimeError),
        (lambda x: torch.tensordot(x, x, ([0, 0], [0, 1])), RuntimeError),
        (lambda x: torch.tensordot(x, x, ([0, 1], [0])), RuntimeError),
        (lambda x: torch.tensordot(x, x, "a"), TypeError),
        (lambda x: torch.chain_matmul(x, x), RuntimeError),
        (lambda x: torch.linalg.multi_dot([x]), RuntimeError),
        (lambda x: torch.matrix_power(x, 2), RuntimeError),
        (lambda x: torch.matrix_power(x[:, :2], -1), torch.linalg.LinAlgError),  # the inverse of a singular matrix
        (lambda x: torch.addbmm(x, x[None], x[None]), RuntimeError),
    ],
)
def test_wrong_products(call, error):
    with pytest.raises(error):
        call(torch.ones(2, 3))

"""Tensors, lists and masks as indices in compiled functions: one graph where sizes are known, the registry's code
where they are not, symbols where the settings allow them; failures at the user's line with inputs unchanged."""

import pytest

import minidynamo as torch
from frontend.differential import Defects, Seen, same

T = torch.tensor


def matrix():
    return torch.arange(12.0).reshape(3, 4)


def operands():
    return matrix(), T([2, 0]), T(1), T([True, False, True]), torch.ones(2, 4)


def dynamic():
    return torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)


def scalars():
    return torch._dynamo.config.patch(capture_scalar_outputs=True)


def raises_alike(function, make_args):
    """The default backend fails as the plain program does, at its line, and leaves what that leaves. (Backends that run
    op by op raise where the op is.)"""
    expected = Seen(function, make_args(), {}).summary()
    assert expected["error"] is not None
    torch._dynamo.reset()
    compiled = torch.compile(function)
    with Defects() as defects:
        for _ in range(2):
            assert Seen(compiled, make_args(), {}).summary() == expected
    assert defects == []


READS = [
    lambda x, i, k, m, v: x[i] + 1,
    lambda x, i, k, m, v: x[:, i] * 2,
    lambda x, i, k, m, v: x[i, i].sum(),
    lambda x, i, k, m, v: x[[0, 2]] + x[i, :],
    lambda x, i, k, m, v: x[None, i][..., 1:] + 1,
    lambda x, i, k, m, v: x[[True, False, True]] + 1,
    lambda x, i, k, m, v: x.t()[i, :] @ x,
    lambda x, i, k, m, v: x[k] + 1,
    lambda x, i, k, m, v: x[:, k] + x[k, k],
    lambda x, i, k, m, v: x.index_select(0, i) + x.take(i).sum() + x.gather(1, i.reshape(2, 1)),
    lambda x, i, k, m, v: x.scatter(0, i.reshape(1, 2), 7.0) + x.index_add(0, i, v),
    lambda x, i, k, m, v: torch.searchsorted(x[0], x[1]) + torch.bucketize(x, x[0])[0],
    lambda x, i, k, m, v: x.masked_scatter(x > 4, x) + torch.nn.functional.embedding(i, x).sum(),
]


@pytest.mark.parametrize("function", READS)
def test_one_graph(function):
    same(function, operands, frames=1, breaks=())


def write_positions(x, i, k, m, v):
    x[i] = v
    x[:, i] += 1
    x[1:, [0, 3]] = 0
    return x * 2


def write_masks(x, i, k, m, v):
    x[m] = v
    x[x > 8] = -1
    x[m, 0] = T(7.0)
    return x.sum()


def write_scalar_positions(x, i, k, m, v):
    x[k] = 5
    x[k, k] = 6.0
    x[:, k] = v[0, :3]
    return x + 1


def write_views(x, i, k, m, v):
    y = x.t()[1:]
    y[i] = v.t()[:2, :1] * 3
    return y.sum(), x


def write_methods(x, i, k, m, v):
    x.index_put_((i,), v, accumulate=True)
    x.scatter_add_(0, i.reshape(1, 2), v)
    x.index_add_(0, i, v, alpha=2)
    x.index_fill_(1, i, -1)
    x.masked_scatter_(x < 0, v)
    return x.clone()


@pytest.mark.parametrize("function", [write_positions, write_masks, write_scalar_positions, write_views, write_methods])
def test_writes_are_one_graph(function):
    same(function, operands, frames=1, breaks=())


def test_a_cache_written_in_a_loop():
    def steps(cache, at, row):
        for _ in range(3):
            cache[:, at] = row
            row = row + cache.sum(1)
            at = at + 1
        return cache[:, :2].mean()

    same(steps, lambda: (torch.zeros(2, 6), T([0, 1]), torch.ones(2, 2).sum(1, keepdim=True)), frames=1, breaks=())


def test_views_at_a_position_that_is_a_tensor():
    def read_and_write(x, k):
        row = x[k]
        row += 10
        return row, x.sum()

    same(read_and_write, lambda: (matrix(), T(1)), frames=1, breaks=())
    same(lambda x, k: x[k], lambda: (matrix(), T(-1)), frames=1, breaks=())


FAILS = [
    lambda x, i: (x.add_(1), x[i + 5])[1],
    lambda x, i: x.add_(1).index_select(0, i * 9),
    lambda x, i: x.mul_(2).scatter_add_(0, i.reshape(1, 2) + 7, torch.ones(1, 2)),
    lambda x, i: x.mul_(2).index_fill_(0, i + 9, 0),
]


@pytest.mark.parametrize("function", FAILS)
def test_failures_leave_inputs_as_the_program_would(function):
    raises_alike(function, lambda: (matrix(), T([2, 0])))


def test_a_failing_write_raises_at_its_line():
    def write(x, i):
        y = x + 1
        x[i] = y[i]
        y[i + 7] = 0
        return y

    raises_alike(write, lambda: (matrix(), T([2, 0])))
    raises_alike(lambda x, k: x[k] * 2, lambda: (matrix(), T(5)))


def test_sizes_that_change():
    compiled = torch.compile(lambda x, i: (x[i] * 2).sum(0) + x.index_add(0, i, x[i]).sum(), dynamic=True)
    for n in (3, 5, 8):
        x, i = torch.arange(4.0 * n).reshape(n, 4), T([0, n - 1, 1])
        assert torch.equal(compiled(x, i), (x[i] * 2).sum(0) + x.index_add(0, i, x[i]).sum())


def test_a_size_that_turns_out_to_be_a_number():
    def write(x, i):
        x[i, 0:2] = 3
        x[:, 0:2].mul_(2)
        return x * 2

    compiled = torch.compile(write, dynamic=True)
    for n in (4, 5):
        x, expected = torch.ones(n, 2, 1), torch.ones(n, 2, 1)
        assert (
            compiled(x, T([0, -1])).tolist() == write(expected, T([0, -1])).tolist() and x.tolist() == expected.tolist()
        )
    raises_alike(lambda x, k: x[k], lambda: (torch.ones(0, 2), T(0)))


# --- sizes that depend on values ----------------------------------------------------------------------------------

DYNAMIC = [
    lambda x, m: torch.nonzero(x > 3) + 1,
    lambda x, m: x[x > 3] * 2,
    lambda x, m: x[m] + x[0],
    lambda x, m: torch.masked_select(x, x > 3).sum(),
    lambda x, m: torch.unique(x % 3) + 1,
    lambda x, m: torch.unique(x % 3, return_counts=True)[1] * 2,
    lambda x, m: torch.bincount((x[0] * 2).long()) + 1,
    lambda x, m: torch.repeat_interleave(x, (x[:, 0] / 4).long(), 0) + 1,
    lambda x, m: torch.where(x > 3)[1] + 1,
    lambda x, m: torch.argwhere(m).sum(0),
]


@pytest.mark.parametrize("function", DYNAMIC)
def test_unknown_sizes_break_by_default(function):
    same(function, lambda: (matrix(), T([True, False, True])), breaks={"GB0036"})
    whole = torch.compile(function, fullgraph=True)  # which captures them without being told
    for x, mask in ((matrix(), T([True, False, True])), (matrix() * 0, T([False, False, False]))):
        assert whole(x, mask).tolist() == function(x, mask).tolist()


@pytest.mark.parametrize("function", DYNAMIC)
def test_unknown_sizes_are_captured_on_demand(function):
    with dynamic():
        same(function, lambda: (matrix(), T([True, False, True])), frames=1, breaks=())
        same(function, lambda: (matrix() * 0, T([False, False, False])), frames=1, breaks=())


def test_an_unknown_size_reaches_the_program():
    def sizes(x):
        found = x[x > 3]
        return found, found.shape[0], found.shape[0] * 2 + 1, found.numel()

    with dynamic():
        same(sizes, lambda: (matrix(),), frames=1, breaks=())
        compiled = torch.compile(sizes, fullgraph=True)
        for n in (0, 5, 12):
            x = torch.arange(12.0) - 11 + n + 3
            assert compiled(x)[1:3] == (n, 2 * n + 1)


def test_branches_on_unknown_sizes_break():
    def choose(x):
        found = torch.nonzero(x > 3)
        if found.shape[0] > 4:
            return found + 1
        return found - 1

    with dynamic():
        same(choose, lambda: (matrix(),), frames=2)
        with pytest.raises(torch._dynamo.exc.Unsupported, match="Data-dependent branching"):
            torch.compile(choose, fullgraph=True)(matrix())
        same(lambda x: x[x > 3] + x[x > 2], lambda: (T([1.0, 5.0]),), breaks=[])


def masks():
    return matrix(), T([True, False, True]), T([[True, False, True, False]] * 3), T([1, 3])


SEVERAL_MASKS = [
    lambda x, m, n, i: x[m, n[0]] + 1,
    lambda x, m, n, i: x[m, i] * 2,
    lambda x, m, n, i: x[m, i.reshape(2, 1)],
    lambda x, m, n, i: x[m, T([2])],
    lambda x, m, n, i: x[m, :2][:, None, i - 1],
    lambda x, m, n, i: x[m & n[:, 1], n[0]],
    lambda x, m, n, i: x.reshape(3, 2, 2)[m, T([0, 1]), n[0, 1:3]],
    lambda x, m, n, i: torch.stack([x, x])[:, m, n[1]].shape[1],
]


@pytest.mark.parametrize("function", SEVERAL_MASKS)
def test_several_masks_in_one_index(function):
    with dynamic():
        same(function, masks, frames=1, breaks=())


def test_masks_that_hold_differently_often():
    with dynamic():
        raises_alike(lambda x, m, n, i: x[m, n[0] | n[0, 1]], lambda: (*masks()[:2], ~masks()[2], T([1, 3])))
        raises_alike(lambda x, m, n, i: x[n[:, 0], i] + 1, masks)


# --- items --------------------------------------------------------------------------------------------------------


def test_items_break_by_default():
    same(lambda i: i * i.sum().item(), lambda: (T([2, 3]),), breaks={"GB0124"})


ITEMS = [
    lambda i: i * i.sum().item(),
    lambda i: torch.zeros(i.sum().item()) + 1,
    lambda i: (i + 1, int(i[0]) * 2 - 1, i.max().item() // 2),
    lambda i: torch.ones(i[0].item(), int(i[1])).sum(0),
    lambda i: [n + 1 for n in i.tolist()],
    lambda i: (i * 2, i[0].item() > 5, (i > 2).any().item()),
    lambda i: i * (i / 2).sum().item() + i.double() * i.half().mean(dtype=torch.float32).item(),
    lambda i: (i.half() * (i / 7).max().item(), float((i / 3)[0]), int((i * 1.9).sum())),
]


@pytest.mark.parametrize("function", ITEMS)
def test_items_are_captured_on_demand(function):
    with scalars():
        same(function, lambda: (T([2, 3]),), frames=1, breaks=())


def test_checks_teach_ranges():
    def pick(x, i):
        n = i[0].item()
        torch._check(n >= 0)
        torch._check(n < 3, lambda: "too large")
        return x[n] + 1, n * 2

    with scalars():
        same(pick, lambda: (matrix(), T([2, 3])), frames=1, breaks=())
        raises_alike(pick, lambda: (matrix(), T([3, 3])))

    def size(i):
        n = i.sum().item()
        torch._check_is_size(n)
        if n >= 0:
            return torch.zeros(n)
        return i

    with scalars():
        same(size, lambda: (T([2, 3]),), frames=1, breaks=())
    with pytest.raises(RuntimeError, match="no good"):
        torch._check(False, lambda: "no good")
    with pytest.raises(TypeError, match="cond must be a bool"):
        torch._check(1)


def test_branches_on_items_break():
    def choose(i):
        if i.sum().item() > 3:
            return i + 1
        return i - 1

    with scalars():
        same(choose, lambda: (T([2, 3]),), frames=2)
        with pytest.raises(torch._dynamo.exc.Unsupported, match="Data-dependent branching"):
            torch.compile(choose, fullgraph=True)(T([2, 3]))
        raises_alike(lambda i: torch.zeros(i.sum().item()), lambda: (T([-2, 1]),))
        raises_alike(lambda i: int((i / 0).sum()) + i, lambda: (T([1, 2]),))


SLICES = [
    lambda x, u: x[:u] + 1,
    lambda x, u: x[u:] * 2,
    lambda x, u: x[-u:],
    lambda x, u: x[1:u:2].sum(0),
    lambda x, u: (x[:, u - 1 : u + 1], x[:u].shape[0], x[u:].numel()),
    lambda x, u: torch.cat([x[:u], x[u:]]),
    lambda x, u: x[:u] + (x * 2)[:u],
    lambda x, u: (x[:u][1:], x[:u].reshape(-1) + 1),
]


@pytest.mark.parametrize("function", SLICES)
def test_slices_up_to_an_item(function):
    with scalars():
        for n in (2, 0, 1, 7, -1, -9):
            same(lambda x, n: function(x, n.item()), lambda n=n: (matrix(), T(n)), frames=1, breaks=())


def test_writes_through_slices_up_to_an_item():
    def write(x, n):
        u = n.item()
        x[:u] = 7
        x[u:, 1].add_(1)
        return x * 2

    with scalars():
        for n in (2, 0, 7, -1):
            same(write, lambda n=n: (matrix(), T(n)), frames=1, breaks=())


def test_slices_of_unknown_sizes():
    def parts(x):
        found = x[x > 3]
        return found[1:], found[:-1] * 2, found[::3], found[1:].shape[0]

    with dynamic():
        same(parts, lambda: (matrix(),), frames=1, breaks=())
        same(parts, lambda: (matrix() - 20,), frames=1, breaks=())


def test_an_item_as_position():
    def pick(x, n):
        return x[n.item()] + 1

    def write(x, n):
        x[n.item(), 1] = 9
        return x

    with scalars():
        for n in (0, 2, -3):
            same(pick, lambda n=n: (matrix(), T(n)), frames=1, breaks=())
            same(write, lambda n=n: (matrix(), T(n)), frames=1, breaks=())
        for n in (3, -4):
            raises_alike(pick, lambda n=n: (matrix(), T(n)))
            raises_alike(write, lambda n=n: (matrix(), T(n)))


def test_whether_a_copy_is_made_is_assumed_and_checked():
    def views(x, n):
        u = n.item()
        return x[:u].t().reshape(-1).mul_(2), x[:, :u].contiguous().add_(1), x[:, :u].flatten(), x[:u].t().ravel()

    with scalars():
        for n in (3, 0, 1, 4):
            same(views, lambda n=n: (matrix(), T(n)), breaks=[])

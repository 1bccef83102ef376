"""Arrays in compiled functions: memory, writes, indexing, guards, and what leaves the graph to NumPy."""

import numpy as np
import pytest

import minidynamo as torch
from frontend.arrays import agree, compare
from frontend.differential import codes
from minidynamo._dynamo.testing import CompileCounter


def grid(dtype=np.float64):
    return np.arange(12).astype(dtype).reshape(3, 4)


def breaks_with(function, code, make_args, frames=None):
    """The function agrees with plain Python, and its break is counted under the code."""
    torch._dynamo.utils.counters.clear()
    agree(function, make_args, frames=frames, backends=("eager",))
    assert code in codes(), codes()


# --- indexing ---------------------------------------------------------------------------------------------------------


def test_basic_indexing():
    def apply(a):
        return (
            a[0], a[-1], a[1, 2], a[1:], a[:, 1], a[::2, 1:3], a[..., 0], a[None, 1], a[1][2], a[:, None, 2:],
            a[0, 1:2], a[...], a[2:1], a[1, ...],
        )  # fmt: skip

    agree(apply, lambda: [grid()])


def test_index_arrays():
    def apply(a, rows, mask):
        return a[rows], a[[0, 2]], a[rows, 1], a[:, [1, 3]], a[rows, :2], np.take(a, rows, axis=0), np.where(mask, a, 0)

    agree(apply, lambda: [grid(), np.array([2, 0]), grid() > 4])


def test_iteration_and_unpacking():
    def apply(a):
        first, *rest = a
        total = 0
        for row in a:
            total = total + row.sum()
        return first + rest[1], total, [x * 2 for x in a[0]], sum(a), [r.max() for r in a]

    agree(apply, lambda: [grid()])


# --- writes -----------------------------------------------------------------------------------------------------------


def test_writes_reach_the_callers_array():
    def apply(a, b):
        a[0] = 1.5
        a[1, 2] = -3
        a[2] = b
        a[:, 1] += 2
        b *= 2
        return a.sum(), b

    agree(apply, lambda: [grid(), np.ones(4)])


def test_writes_through_views():
    def apply(a):
        view = a[1:].T
        view[0] = 7
        flat = a.reshape(-1)
        flat[3] = -1
        row = a[2]
        row += 10
        return view, flat, a[0]

    agree(apply, lambda: [grid()])


def test_results_share_memory_as_numpys_do():
    def apply(a):
        return a[1:], a.T, a.reshape(2, 6), a + 0, a.copy(), a

    a = grid()
    torch._dynamo.reset()
    parts = torch.compile(apply, fullgraph=True)(a)
    assert [np.shares_memory(p, a) for p in parts] == [np.shares_memory(p, a) for p in apply(a)]
    assert parts[-1] is a
    parts[0][0, 0] = 99
    assert a[1, 0] == 99


def test_out_arguments():
    def apply(a, out):
        np.add(a, 1, out=out)
        b = np.multiply(out, 2, out=(out,))
        np.sum(a, axis=0, out=out[0])
        return b is out

    agree(apply, lambda: [grid(), np.zeros((3, 4))])


def test_inplace_operators_keep_the_dtype():
    def apply(a):
        a += 1.5
        a **= 2
        a[a.shape[0] - 1] //= 2
        return a

    agree(apply, lambda: [grid(np.float32)])


def test_overlapping_writes_read_the_old_values():
    def apply(a):
        a[1:] += a[:-1]
        a[:, :2] = a[:, 1:3]
        return a

    agree(apply, lambda: [grid()])


def test_assigned_values_are_cast():
    def apply(a):
        a[0] = np.array([1.7, -2.3, 3.5, 4.0])
        a[1] = 9
        a.fill(3)
        return a

    agree(apply, lambda: [grid(np.int64)])


def test_scalars_do_not_change():
    def apply(a):
        s = a.sum()
        before = s
        s += 1
        return before, s

    agree(apply, lambda: [grid()])


def test_two_names_for_one_array():
    def apply(a, b):
        a += 1
        return a + b

    agree(apply, lambda: [grid()] * 2)


def test_overlapping_arguments():
    def apply(a, b):
        a += 1
        return b * 2

    def views():
        base = np.arange(6.0)
        return [base[:4], base[2:]]

    agree(apply, views)
    torch._dynamo.reset()
    compiled = torch.compile(apply)
    first, second = np.arange(4.0), np.arange(4.0)
    compare(compiled(first, second), second * 2)
    compare(compiled(*views()), apply(*views()))


# --- what may not be written to ---------------------------------------------------------------------------------------


def test_read_only_arrays_are_read():
    def locked():
        a = grid()
        a.flags.writeable = False
        return [a]

    agree(lambda a: a * 2 + a[0], locked)

    def write(a):
        a[0] = 1

    agree(write, locked, frames=0)
    agree(lambda a: np.broadcast_to(a, (2, 3, 4)), lambda: [grid()])


def test_an_array_that_became_read_only_is_not_written_to():
    def write(a):
        a += 1
        return a

    torch._dynamo.reset()
    compiled = torch.compile(write)
    a = grid()
    compiled(a)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(a)
    assert (a == grid() + 1).all()


# --- guards -----------------------------------------------------------------------------------------------------------


def count_frames(function, *calls):
    counter = CompileCounter()
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=counter)
    for args in calls:
        compare(compiled(*args), function(*args))
    return counter.frame_count


def test_another_dtype_rank_or_layout_compiles_anew():
    def double(a):
        return a * 2

    assert count_frames(double, [grid()], [grid()]) == 1
    assert count_frames(double, [grid()], [grid(np.float32)]) == 2
    assert count_frames(double, [grid()], [grid()[0]]) == 2
    assert count_frames(double, [grid()], [np.asfortranarray(grid())]) == 2
    assert count_frames(double, [grid()], [grid()[::-1]]) == 1  # no tensor has such strides


def test_sizes_that_change_become_symbols():
    def norms(a):
        return np.sqrt((a * a).sum(axis=1)) / a.shape[0]

    assert count_frames(norms, *([np.ones((n, 4))] for n in (3, 5, 7, 9, 12))) == 2


def test_scalars_are_inputs():
    def scaled(a, s):
        return a * s

    assert count_frames(scaled, *([grid(), np.float64(v)] for v in (1.0, 2.0, 3.5))) == 1
    assert count_frames(scaled, [grid(), np.float64(2)], [grid(), np.float32(2)]) == 2


TABLE = np.arange(4.0)


def test_globals_closures_and_attributes():
    class Model:
        def __init__(self):
            self.weights = np.ones(4)

    scale, model = np.array([2.0, 3.0, 4.0, 5.0]), Model()

    def apply(a):
        return a * TABLE + scale - model.weights

    agree(apply, lambda: [grid()])


def test_arrays_put_into_containers():
    def apply(held, a):
        held.append(a[0] * TABLE)
        held[0] = a
        return held[-1] + 1

    agree(apply, lambda: [[np.ones(4)], grid()])


# --- between NumPy and tensors ----------------------------------------------------------------------------------------


def test_tensors_from_arrays_and_back():
    def apply(a):
        t = torch.from_numpy(a)
        t += 1
        b = (t * 2).numpy()
        return b + a, t.numpy() is a

    agree(apply, lambda: [grid()])


def test_tensors_made_of_arrays():
    def apply(a):
        copy = torch.tensor(a)
        shared = torch.as_tensor(a)
        shared += 1
        return copy.numpy(), torch.asarray(a).numpy(), torch.tensor(a, dtype=torch.float32).numpy()

    agree(apply, lambda: [grid()])


def test_a_tensor_leaves_as_an_array():
    def apply(x):
        return (x + 1).numpy() * 2, x.numpy()

    x = torch.arange(4.0)
    torch._dynamo.reset()
    got = torch.compile(apply, fullgraph=True)(x)
    compare(got, apply(x))
    assert np.shares_memory(got[1], x.numpy())


def test_from_numpy_gives_tensors_over_the_callers_memory():
    def apply(a):
        return torch.from_numpy(a)

    a = grid()
    torch._dynamo.reset()
    t = torch.compile(apply)(a)
    a[0, 0] = 42
    assert isinstance(t, torch.Tensor) and t[0, 0].item() == 42


# --- breaks -----------------------------------------------------------------------------------------------------------


def test_what_has_no_traced_form_is_left_to_numpy():
    breaks_with(lambda a: np.fft.fft(a + 1).real * 2, "GB0007", lambda: [grid()])
    breaks_with(lambda a: np.sum(a, where=a > 3) + 1, "GB0007", lambda: [grid()])
    breaks_with(lambda a: a + np.random.default_rng(0).random(4), "GB0147", lambda: [grid()])


def test_errors_are_numpys():
    def wrong_shape(a):
        return a + np.ones(5)

    def wrong_axis(a):
        return np.sum(a, axis=7)

    def wrong_cast(a):
        a += 1.5

    def caught(a):
        try:
            return a.reshape(5, 5)
        except ValueError as error:
            return str(error)

    for function in (wrong_shape, wrong_axis, caught):
        agree(function, lambda: [grid()], frames=None)
    agree(wrong_cast, lambda: [grid(np.int64)], frames=None)
    agree(lambda a: a**-1, lambda: [grid(np.int64)], frames=None)
    agree(lambda a: a + 300, lambda: [grid(np.uint8)], frames=None)
    agree(lambda a: a // 0, lambda: [grid(np.int64)], frames=None)


def test_attributes_that_arrays_have_only_at_run_time():
    breaks_with(lambda a: ((a + 1).flags.c_contiguous, a * 2), "GB0157", lambda: [grid()])
    breaks_with(lambda a: (len((a + 1).tobytes()), a * 2), "GB0158", lambda: [grid()])
    breaks_with(lambda a: (getattr(a + 1, "__version__", "none"), a * 2), "GB0159", lambda: [grid()])


def test_arrays_of_other_dtypes():
    breaks_with(lambda x, names: x * len(names), "GB0185", lambda: [grid(), np.array(["a", "b"])])
    breaks_with(lambda a: a + 1, "GB0185", lambda: [np.array([1j], dtype=np.clongdouble)], frames=0)


def test_truth_is_decided_outside():
    def apply(a):
        if (a > 3).any():
            return a * 2
        return a

    agree(apply, lambda: [grid()], frames=2)


def test_tracing_of_numpy_can_be_switched_off():
    with torch._dynamo.config.patch(trace_numpy=False):
        torch._dynamo.utils.counters.clear()
        torch._dynamo.reset()
        x = torch.ones(3)
        got = torch.compile(lambda x: torch.from_numpy((x + 1).numpy()) * 2)(x)
        assert got.tolist() == [4.0] * 3
        assert "GB0105" in codes()


def test_a_tensor_over_an_array_is_an_object_of_its_own():
    def reshaped(x):
        v = torch.from_numpy(x.numpy())
        v.unsqueeze_(0)
        return v.shape, x.shape, v is x

    assert torch.compile(reshaped)(torch.zeros(2, 3)) == ((1, 2, 3), (2, 3), False)

    def twice(a):
        v, w = torch.from_numpy(a), torch.from_numpy(a)
        w.squeeze_(0)
        v.add_(1)
        return v.shape, w, v is w

    a = np.zeros((1, 3))
    shape, w, same_object = torch.compile(twice)(a)
    assert (shape, w.tolist(), same_object) == ((1, 3), [1.0, 1.0, 1.0], False) and a.tolist() == [[1.0, 1.0, 1.0]]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, bool])
def test_sums_and_products_in_narrow_integers(dtype):
    def f(a):
        return a.sum(dtype=dtype), np.prod(a, dtype=dtype), a.sum(axis=0, dtype=dtype), np.cumsum(a, dtype=dtype)

    agree(f, lambda: (np.array([[100, 100], [3, 0]]),))

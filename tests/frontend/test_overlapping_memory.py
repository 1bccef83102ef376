"""Writes to tensors and arrays whose elements share memory, with themselves or with another argument: whatever they do
plain they do compiled, in every tier, wherever the tensor lives. The whole memory behind is compared."""

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import Box
from minidynamo._dynamo import config
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.usefixtures("no_defects")

windows = np.lib.stride_tricks.as_strided
OVERLAPS = {
    "expanded_rows": lambda b: b[:4].expand(3, 4),
    "expanded_columns": lambda b: b[:3].unsqueeze(1).expand(3, 4),
    "transposed": lambda b: b[:3].expand(4, 3).t(),
    "as_strided": lambda b: b.as_strided((3, 4), (1, 1), 2),
    "stairs": lambda b: b.as_strided((3, 4), (2, 1)),
    "unfolded": lambda b: b.unfold(0, 4, 2),
    "view_of_view": lambda b: b.unfold(0, 5, 1)[1:4, 1:],
    "apart_after_all": lambda b: b.as_strided((3, 4), (1, 3)),
}


def into_two(c):
    torch.add(c[0], 1, out=c[1])


def by_position(c):
    c[0].index_put_((torch.tensor([0, 2]),), torch.tensor([5.0, 6.0]))


def scattered(c):
    c[1].scatter_(0, torch.tensor([3, 0]), torch.tensor([-1.0, -2.0]))


def masked_assignment(c):
    c[0, c[0] > 2] = 7


def rows_by_a_tensor(c):
    c[torch.tensor([0, 2])] = 4


def in_a_loop(c):
    for i in range(c.shape[0]):
        c[i] += i


def operator_on_part(c):
    c[:, 1] -= 3


def whole_operator(c):
    c *= 2


def read_between(c):
    before = c.sum()
    c[0].mul_(before)
    again = c + before
    c[2, 1:].sub_(again[1, 1:])
    return before, again


def unsaid(c):
    return c[1:] + 1, c.t().sum(0)


WRITES = {
    "setitem": lambda c: c.__setitem__(0, 2),
    "element": lambda c: c.__setitem__((1, -1), 9),
    "slices": lambda c: c.__setitem__((slice(None), slice(1, 3)), 4),
    "row_method": lambda c: c[0].mul_(5),
    "copy": lambda c: c[1].copy_(c[0]),
    "fill_part": lambda c: c[0][1:].fill_(3),
    "column": lambda c: c[:, 1].add_(1),
    "whole": lambda c: c.add_(1),
    "whole_copy": lambda c: c.copy_(c.clone() * 2),
    "whole_zero": lambda c: c.zero_(),
    "diagonal": lambda c: c.diagonal().add_(1),
    "narrow": lambda c: c.narrow(1, 1, 2)[0].mul_(2),
    "permuted": lambda c: c.t()[1].sub_(1),
    "masked": lambda c: c[0].masked_fill_(c[0] > 2, -1),
    "clamped": lambda c: c[1].clamp_(1, 3),
    "summed_in": lambda c: c[0].index_add_(0, torch.tensor([1, 1]), torch.tensor([1.0, 2.0])),
    "random": lambda c: c[0].uniform_(),
    "cumulative": lambda c: c[1].cumsum_(0),
    "out": into_two,
    "by_position": by_position,
    "scattered": scattered,
    "masked_assignment": masked_assignment,
    "rows_by_a_tensor": rows_by_a_tensor,
    "in_a_loop": in_a_loop,
    "operator_on_part": operator_on_part,
    "whole_operator": whole_operator,
    "read_between": read_between,
    "no_write": unsaid,
}


def numbers(o):
    if isinstance(o, (torch.Tensor, np.ndarray, np.generic)):
        return o.tolist()
    return [numbers(x) for x in o] if isinstance(o, (list, tuple)) else o


def outcome(call, make):
    """What a call gave or raised, and what the memory holds then."""
    base, args = make()
    torch.manual_seed(3)
    try:
        gave = numbers(call(*args))
    except Exception as error:  # noqa: BLE001  whatever is raised is compared
        gave = type(error).__name__, str(error)
    return gave, numbers(base)


def agree(f, make, **settings):
    torch._dynamo.reset()
    compiled = torch.compile(f, **settings)
    expected = outcome(f, make)
    for _ in range(3):
        assert outcome(compiled, make) == expected
    return expected


def tensors(overlap):
    base = torch.arange(12.0)
    return base, (overlap(base),)


def arrays(overlap):
    base = np.arange(12.0)
    return base, (overlap(base),)


def then_read(write):
    def f(c):
        gave = write(c)
        return (gave if isinstance(gave, tuple) else None), c + 0, c.sum()

    return f


@pytest.mark.parametrize("backend", ["inductor", "eager", "aot_eager"])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("overlap", OVERLAPS)
def test_every_overlap_and_write(overlap, write, backend):
    agree(then_read(WRITES[write]), lambda: tensors(OVERLAPS[overlap]), backend=backend)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("overlap", OVERLAPS)
def test_before_there_is_machine_code(overlap, write):
    with config.patch(background_compile=True):
        agree(then_read(WRITES[write]), lambda: tensors(OVERLAPS[overlap]))


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_one_graph(overlap):
    for write in ("setitem", "row_method", "operator_on_part", "copy", "no_write"):
        if overlap in ("expanded_columns", "transposed") and write in ("setitem", "row_method", "copy"):
            continue  # refused: the row overlaps itself
        if overlap == "expanded_rows" and write == "operator_on_part":
            continue
        counter = CompileCounter()
        agree(then_read(WRITES[write]), lambda: tensors(OVERLAPS[overlap]), backend=counter, fullgraph=True)
        assert counter.frame_count == 1, write


# --- where it lives ---------------------------------------------------------------------------------------------------

HELD = None


def hold(c):
    global HELD
    HELD = c


def from_global(write):
    return lambda: (write(HELD), HELD.sum())[1]


def placed(place, write):
    """A function that writes to what it finds at `place`, and its arguments for a given tensor."""
    if place == "global":
        return from_global(write), lambda c: (hold(c), ())[1]
    if place == "attribute":
        return lambda box: (write(box.c), box.c.sum())[1], lambda c: (Box(c=c),)
    if place == "list":
        return lambda items: (write(items[1]), items[1].sum())[1], lambda c: ([None, c],)
    if place == "dict":
        return lambda named: (write(named["c"]), named["c"] * 1)[1], lambda c: ({"c": c},)
    if place == "twice":
        return lambda a, b: (write(a), b + 1)[1], lambda c: (c, c)
    if place == "view_beside":
        return lambda a, b: (write(a), b + 1)[1], lambda c: (c, c[1])
    assert place == "method"
    return lambda box: box.run(), lambda c: (Holder(c, write),)


class Holder:
    def __init__(self, c, write):
        self.c, self.write = c, write

    def run(self):
        self.write(self.c)
        return self.c * 2


PLACES = ["global", "attribute", "list", "dict", "twice", "view_beside", "method"]


@pytest.mark.parametrize("write", ["setitem", "row_method", "operator_on_part", "masked", "in_a_loop", "whole", "out"])
@pytest.mark.parametrize("overlap", ["expanded_rows", "as_strided", "unfolded", "apart_after_all"])
@pytest.mark.parametrize("place", PLACES)
def test_everywhere(place, overlap, write):
    f, arguments = placed(place, WRITES[write])

    def make():
        base, (c,) = tensors(OVERLAPS[overlap])
        return base, arguments(c)

    agree(f, make)
    agree(f, make, backend="eager")


@pytest.mark.parametrize("overlap", ["expanded_rows", "as_strided", "unfolded"])
def test_in_a_closure(overlap):
    def outcome_of(compile_it):
        base = torch.arange(12.0)
        c = OVERLAPS[overlap](base)

        def f(x):
            c[0] = x
            return c * 2

        torch._dynamo.reset()
        call = torch.compile(f) if compile_it else f
        return numbers([call(torch.tensor(4.0)), call(torch.tensor(5.0)), base])

    assert outcome_of(True) == outcome_of(False)


# --- two arguments ----------------------------------------------------------------------------------------------------

PAIRS = {
    "partly": lambda b: (b[:8].view(2, 4), b[4:].view(2, 4)),
    "shifted": lambda b: (b[:8], b[1:9]),
    "crossed": lambda b: (b[:9].view(3, 3), b[:9].view(3, 3).t()),
    "interleaved": lambda b: (b[::2], b[1::2]),
    "window_and_base": lambda b: (b.unfold(0, 4, 2), b),
    "inside": lambda b: (b[3:7], b),
    "same_twice": lambda b: (b[2:6], b[2:6]),
}


def first_from_second(a, b):
    a[1] += 1
    b[0] -= 2
    return a * 1, b * 1


def both_whole(a, b):
    a.mul_(3)
    b.add_(1)
    return a.sum(), b.sum()


def copied(a, b):
    a[0].copy_(b[1].sum())
    return b + 1


@pytest.mark.parametrize("backend", ["inductor", "eager"])
@pytest.mark.parametrize("write", [first_from_second, both_whole, copied])
@pytest.mark.parametrize("pair", PAIRS)
def test_two_arguments(pair, write, backend):
    def make():
        base = torch.arange(12.0)
        return base, PAIRS[pair](base)

    agree(write, make, backend=backend)


# --- sizes that change ------------------------------------------------------------------------------------------------


def row_written(c):
    c[0] += 1
    c[1, 1:] *= 2
    return c.sum()


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_an_overlap_comes_and_goes(dynamic):
    """One function, tensors of one rank whose sizes and strides change between apart and overlapping."""
    torch._dynamo.reset()
    compiled = torch.compile(row_written, dynamic=dynamic)
    shapes = [((2, 3), (3, 1)), ((3, 4), (4, 1)), ((4, 5), (5, 1)), ((3, 6), (6, 1)), ((3, 4), (6, 1)), ((3, 4), (2, 1)),  # noqa: E501
              ((4, 5), (3, 1)), ((4, 3), (5, 1)), ((3, 5), (0, 1)), ((5, 5), (4, 2)), ((5, 2), (4, 2)), ((3, 4), (1, 3)),  # noqa: E501
              ((2, 3), (1, 5)), ((4, 3), (1, 3)), ((3, 4), (1, 1)), ((5, 4), (2, 3))]  # fmt: skip
    for sizes, strides in shapes + shapes[::-1]:

        def make(sizes=sizes, strides=strides):
            base = torch.arange(64.0)
            return base, (base.as_strided(sizes, strides, 3),)

        assert outcome(compiled, make) == outcome(row_written, make), (sizes, strides)


# --- NumPy ------------------------------------------------------------------------------------------------------------

ARRAYS = {
    "as_strided": lambda b: windows(b, (3, 4), (8, 8)),
    "stairs": lambda b: windows(b, (3, 4), (16, 8)),
    "stride_zero": lambda b: windows(b, (3, 4), (0, 8)),
    "sliding": lambda b: np.lib.stride_tricks.sliding_window_view(b, 4, writeable=True)[::2],
    "transposed": lambda b: windows(b, (4, 3), (8, 8)).T,
}


def np_out(c):
    np.add(c[0], 1, out=c[1])


def np_method_sort(c):
    c[0].sort()


ARRAY_WRITES = {
    "setitem": WRITES["setitem"],
    "element": WRITES["element"],
    "slices": WRITES["slices"],
    "loop": in_a_loop,
    "column": operator_on_part,
    "whole": whole_operator,
    "fill": lambda c: c[0].fill(7),
    "masked": masked_assignment,
    "copyto": lambda c: np.copyto(c[0], c[1]),
    "out": np_out,
    "sort": np_method_sort,
    "put": lambda c: c[1].put([0, 2], [5, 6]),
    "positions": lambda c: c.__setitem__([0, 2], 4),
    "no_write": lambda c: (c[1:] + 1, c.T.sum(0)),
}


@pytest.mark.parametrize("write", ARRAY_WRITES)
@pytest.mark.parametrize("overlap", ARRAYS)
def test_arrays(overlap, write):
    agree(then_read(ARRAY_WRITES[write]), lambda: arrays(ARRAYS[overlap]))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("overlap", ["as_strided", "sliding"])
def test_arrays_everywhere(overlap, place):
    f, arguments = placed(place, WRITES["setitem"])

    def make():
        base, (c,) = arrays(ARRAYS[overlap])
        return base, arguments(c)

    agree(f, make)

"""What other threads change while a graph lets them go on: a call has the effects and the result it would have if all
of it took place when its graph was done."""

import sys
import threading

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import Box
from minidynamo._dynamo import config

pytestmark = pytest.mark.usefixtures("no_defects")


class Pause:
    """Kept whole in a graph. While it runs another thread makes the change, if there is one, and ends."""

    def __init__(self):
        self.change = None
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        if self.change:
            change, self.change = self.change, None
            thread = threading.Thread(target=change)
            thread.start()
            thread.join()
        return x * 1


pause_now = Pause()


@torch._dynamo.allow_in_graph
def pause(x):
    return pause_now(x)


def outcomes(f, make, change, **settings):
    """Plain and compiled: what a warm call gives in which another thread makes the change, and the state after it."""
    seen = []
    for call in (f, torch.compile(f, **settings)):
        for _ in range(3):
            call(torch.ones(2), make())
        state, x = make(), torch.ones(2)
        pause_now.change = lambda state=state: change(state)
        pause_now.calls = 0
        found = call(x, state)
        assert pause_now.change is None and pause_now.calls == 1
        seen.append((plain_values(found), plain_values(vars(state)), plain_values(x)))
    assert seen[1] == seen[0]
    return seen[0]


def plain_values(o):
    if isinstance(o, torch.Tensor):
        return o.tolist()
    if isinstance(o, (list, tuple)):
        return [plain_values(v) for v in o]
    if isinstance(o, dict):
        return {k: plain_values(v) for k, v in o.items()}
    if isinstance(o, Box):
        return plain_values(vars(o))
    return o.tolist() if hasattr(o, "tolist") else o


def add_100(box):
    box.n += 100


def counts(x, box):
    y = pause(x)
    box.n += 1
    return y


def forwarded(gm, inputs):
    return gm.forward


WAYS = pytest.mark.parametrize("backend", ["llvm", "blocks", "eager", forwarded])


@WAYS
def test_a_counter_loses_nothing(backend):
    found = outcomes(counts, lambda: Box(n=5), add_100, backend=backend)
    assert found[1]["n"] == 106


@WAYS
def test_what_is_returned_is_read_after_the_graph(backend):
    def f(x, box):
        return pause(x), box.n, box.items, box.items[0], box.name

    def change(box):
        box.n, box.items, box.name = 7.5, [8, 9], "other"

    found = outcomes(f, lambda: Box(n=1.5, items=[1], name="one"), change, backend=backend)
    assert found[0] == [[1, 1], 7.5, [8, 9], 8, "other"]


def test_objects_are_read_again():
    def f(x, box):
        y = pause(x)
        box.part.seen = True
        box.items.append(1)
        return y, box.part

    def change(box):
        box.part, box.items = Box(k=2), [0]

    found = outcomes(f, lambda: Box(part=Box(k=1), items=[]), change)
    assert found[0][1] == {"k": 2, "seen": True} and found[1]["items"] == [0, 1]


def test_items_cells_and_globals():
    cell = 0

    def f(x, box):
        global total
        nonlocal cell
        y = pause(x)
        box.items[0] += 1
        box.names["k"] += 1
        cell += 1
        total += 1
        return y

    def change(box):
        global total
        nonlocal cell
        box.items[0] += 100
        box.names["k"] += 100
        cell += 100
        total += 100

    def make():
        global total
        nonlocal cell
        total = cell = 0
        return Box(items=[0], names={"k": 0})

    found = outcomes(f, make, change)
    assert found[1] == {"items": [101], "names": {"k": 101}}
    assert cell == total == 101


def test_a_way_not_taken():
    def f(x, box):
        y = pause(x)
        if box.flag:
            box.n += 1
            return y * 2
        return y * 3

    def change(box):
        box.flag = False

    assert outcomes(f, lambda: Box(flag=True, n=0), change)[0] == [3, 3]


def test_a_tensor_that_is_replaced():
    def f(x, box):
        y = pause(x)
        box.n += 1
        return y + box.w, box.n

    def change(box):
        box.w = torch.full((2,), 10.0)

    assert outcomes(f, lambda: Box(n=0, w=torch.ones(2)), change)[0] == [[11, 11], 1]


def test_an_array_that_is_replaced():
    def f(x, box):
        y = pause(x)
        box.n += 1
        return y + torch.from_numpy(box.a), box.n

    def change(box):
        box.a = np.full(2, 10, np.float32)

    assert outcomes(f, lambda: Box(n=0, a=np.ones(2, np.float32)), change)[0] == [[11, 11], 1]


def test_a_size_that_changes():
    def f(x, box):
        y = pause(x)
        box.n = box.w.size(0) * 10
        return y + box.w.sum()

    def change(box):
        box.w = torch.ones(5)

    found = outcomes(f, lambda: Box(n=0, w=torch.ones(3)), change, dynamic=True)
    assert found[0] == [6, 6] and found[1]["n"] == 50


def test_a_number_the_graph_takes():
    def f(x, box):
        y = pause(x)
        box.n += 1
        return y * box.n

    assert outcomes(f, lambda: Box(n=5), add_100, dynamic=True)[0] == [106, 106]


def test_over_a_break():
    def f(x, box):
        y = pause(x)
        n = box.n
        torch._dynamo.graph_break()
        box.n = n + 1
        return y

    assert outcomes(f, lambda: Box(n=5), add_100)[1]["n"] == 106


def test_before_a_break_at_any_place():
    def f(x, box):
        try:
            y = pause(x)
            n = box.n
            torch._dynamo.graph_break()
            box.n = n + 1
        finally:
            box.done = True
        return y

    with config.patch(trace_more=True):
        assert outcomes(f, lambda: Box(n=5), add_100)[1]["n"] == 106


# Op after op the code that `pause` calls comes after the first write.
@pytest.mark.parametrize(
    ("backend", "first"),
    [("llvm", True), ("blocks", True), ("llvm", False), ("blocks", False), ("eager", False), (forwarded, False)],
)
def test_with_writes_to_tensors(backend, first):
    """Nothing is written before all is known to hold, or others do not go on any more."""

    def f(x, box):
        if first:
            box.seen.mul_(2)
        y = pause(x)
        box.n += 1
        box.total.add_(y)
        return y * box.scale

    def change(box):
        box.n, box.scale = box.n + 100, 3

    def make():
        return Box(n=0, scale=2, total=torch.zeros(2), seen=torch.ones(2))

    found = outcomes(f, make, change, backend=backend)
    assert found[0] == [3, 3] and found[1]["n"] == 101 and found[1]["total"] == [1, 1]


@pytest.mark.parametrize("backend", ["llvm", "blocks", "eager"])
def test_elements_another_thread_adds(backend):
    def f(x, box):
        box.total.add_(1)
        return pause(x)

    def change(box):
        box.total.add_(100)

    assert outcomes(f, lambda: Box(total=torch.zeros(2)), change, backend=backend)[1]["total"] == [101, 101]


def test_random_numbers_are_drawn_once():
    def f(x, box):
        y = pause(x) + torch.rand(2)
        if box.flag:
            box.n += 1
        return y

    def change(box):
        box.flag = False

    drawn = []
    for call in (f, torch.compile(f)):
        call(torch.ones(2), Box(flag=True, n=0))
        box, x = Box(flag=True, n=0), torch.ones(2)
        torch.manual_seed(3)
        pause_now.change = lambda box=box: change(box)
        drawn.append((call(x, box).tolist(), torch.rand(2).tolist(), box.n))
    assert drawn[0] == drawn[1]


def test_a_part_of_a_graph_decides_nothing():
    """Between a region of cond and the end of the graph others go on."""

    def f(x, box):
        y = torch.cond(x.sum() > 0, lambda a: a * 2, lambda a: a * 3, (x,))
        z = pause(y)
        box.n += 1
        return z

    assert outcomes(f, lambda: Box(n=0), add_100)[1]["n"] == 101


def test_a_compiled_function_inside():
    inner = torch.compile(lambda x, box: counts(x, box))

    @torch._dynamo.allow_in_graph
    def part(x):
        inner(x, other)
        return x * 1

    def f(x, box):
        y = pause(part(x))
        box.n += 1
        return y

    other = Box(n=0)
    state, x = Box(n=0), torch.ones(2)
    call = torch.compile(f)
    for _ in range(4):
        state.n = other.n = 0
        call(x, state)
    state.n = other.n = 0

    def change():
        state.n += 100
        other.n += 100

    pause_now.change = change
    call(x, state)
    assert (state.n, other.n) == (101, 101)


# --- kernels that take long -------------------------------------------------------------------------------------------


def while_it_runs(call, change):
    """The other thread waits for the interpreter's lock and gets it when a kernel lets go of it."""
    go = threading.Event()

    def other():
        go.wait()
        change()

    thread = threading.Thread(target=other)
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        thread.start()
        go.set()
        call()
    finally:
        sys.setswitchinterval(before)
        thread.join()


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("backend", ["llvm", "blocks", "eager"])
def test_a_counter_beside_a_long_kernel(backend, background):
    def f(x, box):
        y = x @ x @ x
        box.n += 1
        return y

    x, box = torch.randn(400, 400), Box(n=0)
    with config.patch(background_compile=background):
        compiled = torch.compile(f, backend=backend)
        for k in range(12):
            while_it_runs(lambda: compiled(x, box), lambda: add_100(box))
            assert box.n == (k + 1) * 101


@pytest.mark.parametrize("backend", ["llvm", "blocks", "eager"])
def test_writes_and_counters_beside_a_long_kernel(backend):
    def f(x, box):
        y = x @ x @ x
        box.total.add_(1)
        box.large.copy_(y)
        box.n += 1

    def change():
        box.total.add_(100)
        box.n += 100

    x, box = torch.randn(400, 400), Box(n=0, total=torch.zeros(2), large=torch.zeros(400, 400))
    compiled = torch.compile(f, backend=backend)
    for k in range(12):
        while_it_runs(lambda: compiled(x, box), change)
        assert box.n == (k + 1) * 101 and box.total.tolist() == [box.n] * 2


def test_threads_that_count_in_one_object():
    def f(x, box):
        y = (x @ x).sum()
        box.n += 1
        box.names["calls"] += 1
        return y

    x, box = torch.randn(200, 200), Box(n=0, names={"calls": 0})
    compiled = torch.compile(f, dynamic=True)
    compiled(x, box)
    threads = [threading.Thread(target=lambda: [compiled(x, box) for _ in range(40)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert box.n == box.names["calls"] == 161


def test_what_is_read_again_lives():
    """The old object goes when the call ends, and its finaliser runs."""
    gone = []

    class Noisy(Box):
        def __del__(self):
            gone.append(self.k)

    def f(x, box):
        y = pause(x)
        box.part.seen = True
        return y

    def change():
        box.part = Noisy(k=2)

    box, x = Box(part=Noisy(k=1)), torch.ones(2)
    compiled = torch.compile(f)
    for _ in range(3):
        compiled(x, box)
    pause_now.change = change
    compiled(x, box)
    assert box.part.k == 2 and box.part.seen and gone == [1]

"""while_loop, scan, map and associative_scan: loops as nodes of the graph, in every backend and in plain Python."""

import collections

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo._dynamo.exc import TorchRuntimeError, UncapturedHigherOrderOpError
from minidynamo._dynamo.testing import CompileCounter, EagerAndRecordGraphs
from minidynamo._higher_order_ops import associative_scan, map, scan, while_loop

pytestmark = pytest.mark.smoke


ALL = ("eager", "llvm", "blocks")


def data(*shape):
    return torch.from_numpy(np.linspace(-1, 2, int(np.prod(shape)), dtype="float32").reshape(shape))


table = data(3)


def counted(x):
    return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))


def by_value(x):
    return while_loop(lambda x: x.sum() < 40, lambda x: (x * x + 1,), (x,))


def as_graphs_call_it(x):
    op = torch.ops.higher_order.while_loop
    return op(lambda i, x, y: i < 3, lambda i, x, y: (i + 1, x * y), (torch.tensor(0), x), (x + 1,))


def never(x):
    return while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))


def ints(x):
    n, y = while_loop(lambda n, x: n < 5, lambda n, x: (n + 2, x + n), (1, x))
    return n, y * n


def nested_state(x):
    def step(d, rest):
        return {"i": d["i"] + 1, "x": d["x"] + rest[0][0]}, [(rest[0][0] * 2,)]

    return while_loop(lambda d, rest: d["i"] < 2, step, ({"i": torch.tensor(0), "x": x}, [(x,)]))


def capturing(x):
    scale, n = x + 1, 3
    return while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * scale + table), (torch.tensor(0), x))


def strided(x):
    both = torch.stack([x, x + 1]).T
    return while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, (x.T + 1).T), (torch.tensor(0), both))


Pair = collections.namedtuple("Pair", "a b")


def named_state(x):
    def step(i, pair, ordered):
        return i + 1, Pair(pair.b * 2, ordered["k"] + pair.a), collections.OrderedDict(k=pair.a - 1)

    state = (torch.tensor(0), Pair(x, x + 1), collections.OrderedDict(k=x * 3))
    return while_loop(lambda i, pair, ordered: i < 3, step, state)


def named_sums(x):
    return scan(lambda c, row: (Pair(c.a + row, c.b * row), [Pair(row * 2, c.a * 1)]), Pair(x.sum(), x.max()), x)


def loop_in_loop(x):
    def inner(x):
        return while_loop(lambda j, x: j < 2, lambda j, x: (j + 1, x + table), (torch.tensor(0), x))[1]

    return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, inner(x)), (torch.tensor(0), x))


def cond_in_loop(x):
    def step(i, x):
        return i + 1, torch.cond(i > 1, lambda x: x + i, lambda x: x * 2, (x,))

    return while_loop(lambda i, x: i < 4, step, (torch.tensor(0), x))


def two_calls_deep(x):
    def innermost(x):
        return counted(x)[1]

    def inner(x):
        return innermost(x=x)

    return inner(x) + 1


def sums(x):
    return scan(lambda c, x: (c + x, c * x), x.sum(), x)


def sums_of_rows(x):
    rows = torch.stack([x, x * 2, x - 1])
    return scan(lambda c, row: (c + row, (row.max(), {"c": c * 2})), x, rows, reverse=True)


def sums_of_columns(x):
    return scan(combine_fn=lambda c, y: (c * y, c + table[:2]), init=x[:2], xs=torch.stack([x, x + 1]), dim=1)


def two_of_each(x):
    def step(c, row):
        return {"a": c["a"] + row[0], "b": c["b"] * row[1]}, c["a"] * 1

    return scan(step, {"a": x, "b": x + 1}, (torch.stack([x, x]), torch.stack([x, x * 3])))


def scan_in_scan(x):
    def outer(c, row):
        return scan(lambda a, e: (a + e * c.sum(), a * 2), c.sum(), row)[0] + c, row * 2

    return scan(outer, x, torch.stack([x, x + 1]))


def rows(x):
    return map(lambda a: a * 2 + table, torch.stack([x, x + 1]))


def rows_and_more(x):
    def f(pair, y, n):
        return {"sum": pair[0] + pair[1]["k"] * y, "max": (pair[0].max() * n,)}

    return map(f, (torch.stack([x, x * 3]), {"k": torch.stack([x, x + 1])}), x, 3)


def map_in_map(x):
    return map(lambda row: map(lambda e: e * 2, row), torch.stack([x, x]))


def prefixes(x):
    return associative_scan(lambda a, b: a * 0.5 + b, torch.cat([x, x + 1]), 0, combine_mode="generic")


def prefixes_reversed(x):
    xs = {"m": torch.stack([x, x + 1, x * 2, x - 1], 1), "n": torch.stack([x, x, x, x], 1)}

    def combine(a, b):
        return {"m": a["m"] + b["m"] * b["n"], "n": a["n"] * b["n"] * table}

    return associative_scan(combine, xs, 1, reverse=True, combine_mode="generic")


def products(x):
    return associative_scan(lambda a, b: a * b, x, 0, combine_mode="generic")


def first_of_prefixes(x):
    return associative_scan(lambda a, b: a, x, 0, combine_mode="generic")


CASES = [
    *(counted, by_value, as_graphs_call_it, never, ints, nested_state, named_state, named_sums, capturing, strided),
    *(loop_in_loop, cond_in_loop, two_calls_deep, sums, sums_of_rows, sums_of_columns, two_of_each, scan_in_scan),
    *(rows, rows_and_more, map_in_map, prefixes, prefixes_reversed, first_of_prefixes),
]


@pytest.mark.parametrize("function", CASES)
def test_one_graph(function):
    same(function, lambda: (data(3),), frames=1, breaks=(), backends=ALL)


def test_values():
    x = torch.tensor([1.0, 2.0, 3.0])
    assert [y.tolist() for y in counted(x)] == [3, [8.0, 16.0, 24.0]]
    assert ints(x)[0] == 5 and type(ints(x)[0]) is int
    assert ints(x)[1].tolist() == [25.0, 30.0, 35.0]
    assert [y.tolist() for y in never(x)] == [0, [1.0, 2.0, 3.0]]
    assert [y.tolist() for y in sums(x)] == [12.0, [6.0, 14.0, 27.0]]
    assert rows(x).tolist() == (torch.stack([x, x + 1]) * 2 + table).tolist()
    for n in range(1, 9):
        xs = torch.arange(float(n))
        want = [0.0]
        for v in range(1, n):
            want.append(want[-1] + v)
        assert associative_scan(torch.add, xs, 0, combine_mode="generic").tolist() == want


def test_results_share_no_memory_with_what_is_carried():
    x = data(3)
    _, y = never(x)
    y.add_(1)
    assert x.tolist() == data(3).tolist()


@pytest.mark.parametrize("function", [counted, ints, sums, rows, prefixes])
def test_sizes_that_change(function):
    f = function if function is not rows else lambda x: map(lambda a: a * 2 + x, torch.stack([x, x + 1]))
    for backend in ALL:
        torch._dynamo.reset()
        counter = CompileCounter()
        compiled = torch.compile(f, backend=backend)
        counting = torch.compile(f, backend=counter)
        for n in (3, 4, 6, 5):
            want = torch.utils._pytree.tree_leaves(f(data(n)))
            for g in (compiled, counting):
                got = torch.utils._pytree.tree_leaves(g(data(n)))
                assert [torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(want, got)] == [True] * len(
                    want
                )
        assert counter.frame_count == (4 if function is prefixes else 2)


@pytest.mark.parametrize(
    "function,by_hand",
    [
        (lambda x: counted(x)[1], lambda x: x * 8),
        (lambda x: scan(lambda c, r: (c * r, c + r), x, torch.stack([x, x + 1]))[0], lambda x: x * x * (x + 1)),
        (lambda x: scan(lambda c, r: (c * r, c + r), x, torch.stack([x, x + 1]))[1][1], lambda x: x * x + x + 1),
        (lambda x: map(lambda r: r * r * x, torch.stack([x, x])), lambda x: torch.stack([x**3, x**3])),
        (lambda x: products(torch.cat([x, x + 3])), lambda x: torch.cat([x, x + 3]).cumprod(0)),
        (lambda x: torch.cond(x.sum() > 0, lambda x: (x * x, 2), lambda x: (-x, 3), (x,))[0], lambda x: x * x),
    ],
)
@pytest.mark.parametrize("backend", [None, *ALL])
def test_gradients(function, by_hand, backend):
    a, b = data(3).requires_grad_(), data(3).requires_grad_()
    y = (function if backend is None else torch.compile(function, backend=backend))(a)
    assert y.requires_grad
    (y * y).sum().backward()
    z = by_hand(b)
    (z * z).sum().backward()
    assert torch.allclose(a.grad, b.grad) and torch.allclose(y, z)


def test_gradients_of_captured_modules():
    layer = torch.nn.Linear(3, 3)

    def f(x):
        return while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, layer(x)), (torch.tensor(0), x))[1]

    for g in (f, torch.compile(f), torch.compile(f, backend="eager", fullgraph=True)):
        layer.zero_grad()
        y = g(data(3))
        assert y.requires_grad
        y.sum().backward()
        found = layer.weight.grad.clone()
        layer.zero_grad()
        layer(layer(data(3))).sum().backward()
        assert torch.allclose(found, layer.weight.grad)


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def step(self, c, x):
        return self.layer(c) + x, c * 2

    def forward(self, x):
        return scan(self.step, x, torch.stack([x, x, x]))


def test_methods_of_modules():
    stack = Stack()
    counter = CompileCounter()
    want = stack(data(3))
    for backend in (counter, "llvm"):
        got = torch.compile(stack, backend=backend)(data(3))
        assert all(torch.allclose(a, b) for a, b in zip(want, got))
    assert counter.frame_count == 1


def test_random_numbers_in_a_loop():
    def f(x):
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + torch.rand(3)), (torch.tensor(0), x))[1]

    found = []
    for g in (f, torch.compile(f, backend="eager"), torch.compile(f)):
        torch.manual_seed(3)
        found.append(g(data(3)).tolist())
    torch.manual_seed(3)
    assert found == [(data(3) + torch.rand(3) + torch.rand(3) + torch.rand(3)).tolist()] * 3


def graph_of(f, *args):
    backend = EagerAndRecordGraphs()
    torch.compile(f, backend=backend, fullgraph=True)(*args)
    return backend.graphs[0]


def test_the_graph_of_a_while_loop():
    def f(i, x, y):
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * y), (i, x))

    gm = graph_of(f, torch.tensor(0), data(3), data(3))
    assert (
        "    cond_fn_0 = self.cond_fn_0\n    body_fn_0 = self.body_fn_0\n    while_loop = torch.ops.higher_order."
        "while_loop(cond_fn_0, body_fn_0, (l_i_, l_x_), (l_y_,));  cond_fn_0 = body_fn_0 = l_i_ = l_x_ = l_y_ = None\n"
        in gm.code
    )
    call = next(n for n in gm.graph.nodes if n.name == "while_loop")
    assert [str(a) for a in call.args[:2]] == ["cond_fn_0", "body_fn_0"]
    assert call.target is torch.ops.higher_order.while_loop


def test_the_graphs_of_loops_over_rows():
    code = graph_of(lambda i, x, y: scan(lambda c, x: (c + x, c * y), i, x), data(1)[0], data(3), data(3)).code
    assert "scan = torch.ops.higher_order.scan(scan_combine_fn_0, [l_i_], [l_x_], [l_y_]);" in code
    code = graph_of(lambda x, y: map(lambda c: c * y, x), data(3), data(3)).code
    assert "map_impl = torch.ops.higher_order.map_impl(map_body_0, [l_x_], [l_y_]);" in code


BAD_STEPS = {
    "fewer": lambda i, x: (i + 1,),
    "more": lambda i, x: (i + 1, x * 2, x * 3),
    "dtype": lambda i, x: (i + 1, x.double()),
    "size": lambda i, x: (i + 1, x[:2] * 1),
    "dim": lambda i, x: (i + 1, x.sum()),
    "none": lambda i, x: None,
    "text": lambda i, x: (i + 1, "x"),
}


@pytest.mark.parametrize("step", BAD_STEPS)
@pytest.mark.parametrize("fullgraph", [True, False])
def test_a_step_has_to_hand_on_its_state(step, fullgraph):
    def f(x):
        return while_loop(lambda i, x: i < 3, BAD_STEPS[step], (torch.tensor(0), x))

    for g in (f, torch.compile(f, fullgraph=fullgraph)):
        with pytest.raises(UncapturedHigherOrderOpError):
            g(data(3))


@pytest.mark.parametrize(
    "test",
    [lambda i, x: 1, lambda i, x: i, lambda i, x: x < 3, lambda i, x: (i < 3).reshape(1), lambda i, x: (i < 3, i < 2)],
)
def test_the_condition_is_one_bool(test):
    def f(x):
        return while_loop(test, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))

    for g in (f, torch.compile(f)):
        with pytest.raises(UncapturedHigherOrderOpError):
            g(data(3))


@pytest.mark.parametrize("constant", [False, None, 0])
def test_a_condition_that_never_holds(constant):
    def f(x):
        return while_loop(lambda i, x: constant, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))[1]

    same(f, lambda: (data(3),), frames=1, breaks=())


@pytest.mark.parametrize(
    "call,error",
    [
        (lambda x: while_loop(3, lambda x: x, (x,)), RuntimeError),
        (lambda x: while_loop(lambda x: x, lambda x: x, x), AssertionError),
        (lambda x: while_loop(lambda x, y: x, lambda x, y: x, (x, 1.5)), AssertionError),
        (lambda x: scan(3, x, x), RuntimeError),
        (lambda x: scan(lambda c, y: (c + y, c), 0, x), RuntimeError),
        (lambda x: scan(lambda c, y: (c, y), [], x), RuntimeError),
        (lambda x: scan(lambda c, y: (c + y, c), x, (x, 3)), RuntimeError),
        (lambda x: scan(lambda c, y: (c + y, c), x, x, dim=5), IndexError),
        (lambda x: scan(lambda c, y: (c + y, c), x, x, reverse=1), RuntimeError),
        (lambda x: scan(lambda c, y: (c + y, c), x, x[:0]), RuntimeError),
        (lambda x: map(lambda a: a, 3), RuntimeError),
        (lambda x: map(lambda a: a, x[:0]), RuntimeError),
        (lambda x: map(lambda a: a, [x, x[:2]]), RuntimeError),
        (lambda x: map(lambda a: a, x.sum()), IndexError),
        (lambda x: associative_scan(torch.add, x, 0), ValueError),
        (lambda x: associative_scan(torch.add, x, 0, combine_mode="other"), ValueError),
        (lambda x: associative_scan(3, x, 0, combine_mode="generic"), ValueError),
        (lambda x: associative_scan(torch.add, x[:0], 0, combine_mode="generic"), ValueError),
        (lambda x: associative_scan(torch.add, x, 2, combine_mode="generic"), IndexError),
    ],
)
def test_arguments_that_do_not_fit(call, error):
    with pytest.raises(error):
        call(data(3))
    with pytest.raises((error, UncapturedHigherOrderOpError)):
        torch.compile(call)(data(3))


@pytest.mark.parametrize("step", [lambda c, x: (c + x, 1), lambda c, x: (c + x, None)])
def test_only_tensors_are_stacked(step):
    for f in (lambda x: scan(step, x[0], x), torch.compile(lambda x: scan(step, x[0], x))):
        with pytest.raises(TorchRuntimeError):
            f(data(3))


def test_a_scan_over_nothing_gives_its_state_back():
    same(lambda x: scan(lambda c, x: (c + 1, c * 1), x * 2, ()), lambda: (data(3),), frames=1, breaks=())

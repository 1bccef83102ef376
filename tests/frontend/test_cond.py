"""torch.cond: branches as regions of the graph, in every backend and in plain Python."""

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo._dynamo.exc import TorchRuntimeError, UncapturedHigherOrderOpError
from minidynamo._dynamo.testing import CompileCounter, EagerAndRecordGraphs

pytestmark = pytest.mark.smoke


ALL = ("eager", "llvm", "blocks")


def data(*shape):
    return torch.from_numpy(np.linspace(-1, 2, int(np.prod(shape)), dtype="float32").reshape(shape))


weights = data(3)


def two(x):
    return torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, (x,))


def captured(x, y):
    scale = y * 2
    a, b = torch.cond(x.sum() > 0, lambda t: (t * scale, weights.sin()), lambda t: (t + y, weights * 2), (x,))
    return a + 1, b


def nested(x):
    def inner(t):
        return torch.cond(t.max() > 1, lambda u: u * x, lambda u: u / 2, (t,))

    return torch.cond(x.sum() > 0, inner, lambda t: t.cumsum(0), (x * 3,))


def reduced(x):
    return torch.cond(x.sum() > 0, lambda t: {"v": [t.softmax(0).sum()]}, lambda t: {"v": [t.mean()]}, [x])["v"][0] * 2


def strided(x):
    return torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t.sin(), (x.expand(2, 3).T,))


def in_a_loop(x):
    for _ in range(3):
        x = torch.cond(x.sum() > 1, lambda t: t / 2, lambda t: t * 3, (x,))
    return x


CASES = [two, nested, reduced, strided, in_a_loop]


@pytest.mark.parametrize("function", CASES)
@pytest.mark.parametrize("sign", [1, -1])
def test_one_graph(function, sign):
    same(function, lambda: (data(3) * sign,), frames=1, breaks=(), backends=ALL)


@pytest.mark.parametrize("sign", [1, -1])
def test_captured_tensors_become_operands(sign):
    same(captured, lambda: (data(3) * sign, data(3)), frames=1, breaks=(), backends=ALL)


def test_one_compilation_serves_both_branches_and_sizes():
    counter = CompileCounter()
    f, g = torch.compile(two, backend=counter), torch.compile(two)
    for n in (3, 4, 5, 6):
        for sign in (1, -1):
            want = data(n) * sign + (1 if sign > 0 else -1)
            assert f(data(n) * sign).tolist() == g(data(n) * sign).tolist() == want.tolist()
    assert counter.frame_count == 2


def test_the_graph_as_text():
    backend = EagerAndRecordGraphs()
    torch.compile(two, backend=backend)(data(3))
    gm = backend.graphs[0]
    assert "cond_true_0 = self.cond_true_0\n    cond_false_0 = self.cond_false_0\n" in gm.code
    assert (
        "cond = torch.ops.higher_order.cond(gt, cond_true_0, cond_false_0, (l_x_,));  "
        "gt = cond_true_0 = cond_false_0 = l_x_ = None\n    getitem = cond[0];  cond = None" in gm.code
    )
    assert "class cond_true_0(torch.nn.Module):" in gm.print_readable(print_output=False)
    kinds = [n.op for n in gm.graph.nodes]
    assert kinds.count("get_attr") == 2
    call = next(n for n in gm.graph.nodes if n.name == "cond")
    assert [str(a) for a in call.args[:3]] == ["gt", "cond_true_0", "cond_false_0"]
    assert "%cond_true_0 : [num_users=1] = get_attr[target=cond_true_0]" in str(gm.graph)


def test_plain():
    assert two(data(3)).tolist() == (data(3) + 1).tolist()
    assert two(-data(3)).tolist() == (-data(3) - 1).tolist()
    with torch.compiler.set_stance("force_eager"):
        assert two(data(3)).tolist() == (data(3) + 1).tolist()
    for k in range(20):  # each call with functions of its own
        exec(
            f"r = torch.cond(torch.tensor(True), lambda t: t + {k}, lambda t: t * 2, (torch.ones(2),))",
            {"torch": torch},
        )


def test_a_constant_predicate():
    with pytest.warns(UserWarning, match="constant"):
        assert torch.cond(True, lambda t: t + 1, lambda t: t - 1, (data(2),)).tolist() == (data(2) + 1).tolist()


def grow(t):
    t.add_(1)
    return t * 2


def append(t, log=[]):  # noqa: B006  the default is what it changes
    log.append(1)
    return t * 2


BAD = {
    "an operand comes back": (lambda x: torch.cond(x.sum() > 0, lambda t: t, lambda t: t * 2, (x,)), "GB0040"),
    "a view comes back": (lambda x: torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t[:], (x,)), "GB0040"),
    "an operand is written to": (lambda x: torch.cond(x.sum() > 0, grow, lambda t: t * 3, (x,)), "GB0041"),
    "a list is appended to": (lambda x: torch.cond(x.sum() > 0, append, lambda t: t * 3, (x,)), "GB0067"),
    "a graph break": (
        lambda x: torch.cond(x.sum() > 0, lambda t: (torch._dynamo.graph_break(), t * 2)[1], lambda t: t * 3, (x,)),
        "GB0025",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("fullgraph", [True, False])
def test_what_branches_may_not_do(name, fullgraph):
    function, code = BAD[name]
    x = data(2)
    for f in (function, torch.compile(function, fullgraph=fullgraph)):
        with pytest.raises(UncapturedHigherOrderOpError, match=f"(?is).*{code}") as error:
            f(x)
        assert error.value.__cause__.gb_code == code
    assert x.tolist() == data(2).tolist()
    assert append.__defaults__ == ([],)


def test_a_variable_of_the_function_around():
    def f(x):
        count = 0

        def step(t):
            nonlocal count
            count += 1
            return t + 1

        return torch.cond(x.sum() > 0, step, lambda t: t - 1, (x,)), count

    with pytest.raises(UncapturedHigherOrderOpError) as error:
        torch.compile(f, backend="eager")(data(2))
    assert error.value.__cause__.gb_code == "GB0067"


@pytest.mark.parametrize(
    "false_fn,what",
    [
        (lambda t: t.double(), "dtype"),
        (lambda t: t.sum(), "dim"),
        (lambda t: (t * 2, t * 3), "structure"),
    ],
)
def test_branches_that_differ(false_fn, what):
    def f(x):
        return torch.cond(x.sum() > 0, lambda t: t + 1, false_fn, (x,))

    for g in (f, torch.compile(f, fullgraph=True), torch.compile(f)):
        with pytest.raises(TorchRuntimeError, match=what):
            g(data(3))


def test_arguments_that_do_not_fit():
    for arguments in [(data(1), 3, lambda: 1), (data(1), lambda: 1, "x"), (data(1), lambda: 1, lambda: 2, data(2))]:
        with pytest.raises(RuntimeError, match="should be"):
            torch.cond(*arguments)
        with pytest.raises(UncapturedHigherOrderOpError, match="should be"):
            torch.compile(lambda given: torch.cond(*given))(arguments)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_a_predicate_of_several_elements(backend):
    f = torch.compile(lambda x: torch.cond(x > 0, lambda t: t + 1, lambda t: t - 1, (x,)), backend=backend)
    with pytest.raises(RuntimeError, match="ambiguous"):
        f(data(3))


def test_in_a_module():
    class Gate(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.up = torch.nn.Linear(3, 3)
            self.down = torch.nn.Linear(3, 3, bias=False)

        def raised(self, x):
            return self.up(x).relu()

        def forward(self, x):
            return torch.cond(x.sum() > 0, self.raised, lambda t: self.down(t) - 1, (x,))

    gate = Gate()
    counter = CompileCounter()
    for backend in (counter, "llvm"):
        compiled = torch.compile(gate, backend=backend)
        for sign in (1, -1):
            want = gate.raised(data(2, 3)) if sign > 0 else gate.down(-data(2, 3)) - 1
            assert compiled(data(2, 3) * sign).tolist() == want.tolist()
    assert counter.frame_count == 1


def test_random_numbers_in_a_branch():
    def f(x):
        return torch.cond(x.sum() > 0, lambda t: torch.rand(3) + t, lambda t: t * 2, (x,)) + torch.rand(3)

    for backend in ("eager", "llvm"):
        torch.manual_seed(3)
        want = f(data(3))
        torch.manual_seed(3)
        assert torch.compile(f, backend=backend)(data(3)).tolist() == want.tolist()


class Box:
    pass


@pytest.mark.parametrize("kind", ["dict", "object", "deque", "iterator", "grad mode"])
def test_branches_that_change_what_is_outside_are_refused(kind):
    import collections

    def f(x):
        d, box, q, it = {}, Box(), collections.deque(), iter([1, 2, 3])

        def yes(x, d):
            if kind == "dict":
                d["k"] = 5
            elif kind == "object":
                box.n = 5
            elif kind == "deque":
                q.append(5)
            elif kind == "iterator":
                next(it)
            else:
                torch.set_grad_enabled(False)
            return x + 1

        return torch.cond(x.sum() > 0, yes, lambda x, d: x * 2, (x, d)), d, q

    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.UncapturedHigherOrderOpError):
        torch.compile(f)(-torch.ones(3))


@pytest.mark.parametrize("one,other", [(1, True), (0.0, -0.0), (None, None), ("a", "a"), (True, True)])
def test_branches_give_tensors_and_ints_only(one, other):
    compiled = torch.compile(lambda x: torch.cond(x.sum() > 0, lambda x: (x + 1, one), lambda x: (x - 1, other), (x,)))
    with pytest.raises(UncapturedHigherOrderOpError, match="tensors and ints"):
        compiled(-torch.ones(2))


def of_two_sizes(x):
    y, z = torch.cond(x.sum() > 0, lambda t: (t[:2] * 2, t.T + 1), lambda t: (t * 3, (t + 1)[:, :1].T), (x,))
    return y, z, (y + 1).sum(0), y.shape[0], torch.cond(x.sum() > 0, lambda: y + 1, lambda: y[:1] * 2)


@pytest.mark.parametrize("sign", [1, -1])
def test_branches_of_two_sizes(sign):
    same(of_two_sizes, lambda: (data(3, 4) * sign,), frames=1, breaks=(), backends=ALL)
    found = [y.tolist() for y in of_two_sizes(data(3, 4) * sign)[:2]]
    x = data(3, 4) * sign
    assert found == [y.tolist() for y in ((x[:2] * 2, x.T + 1) if sign > 0 else (x * 3, (x + 1)[:, :1].T))]


@pytest.mark.parametrize("backend", ALL)
def test_one_entry_for_branches_of_two_sizes(backend):
    torch._dynamo.reset()
    counter = CompileCounter()
    f = torch.compile(
        lambda x: torch.cond(x.sum() > 0, lambda t: t[:2] * 2, lambda t: t * 3, (x,)) + 1, backend=backend
    )
    g = torch.compile(
        lambda x: torch.cond(x.sum() > 0, lambda t: t[:2] * 2, lambda t: t * 3, (x,)) + 1, backend=counter
    )
    for n in (3, 4, 5):
        for sign in (1, -1):
            x = data(n) * sign
            want = x[:2] * 2 + 1 if sign > 0 else x * 3 + 1
            assert f(x).tolist() == g(x).tolist() == want.tolist()
    assert counter.frame_count == 2


@pytest.mark.parametrize("backend", [None, *ALL])
def test_gradients_of_branches_of_two_sizes(backend):
    def f(x):
        return torch.cond(x.sum() > 0, lambda t: t[:2] * t[:2], lambda t: t * 3, (x,))

    for sign in (1, -1):
        x = (data(3) * sign).requires_grad_()
        (f if backend is None else torch.compile(f, backend=backend))(x).sum().backward()
        want = [2 * v * (k < 2) for k, v in enumerate(x.tolist())] if sign > 0 else [3, 3, 3]
        assert x.grad.tolist() == want


@pytest.mark.parametrize(
    "yes,no",
    [
        (lambda x: {"a": x + 1, "b": x + 2}, lambda x: {"b": x + 3, "a": x + 4}),
        (lambda x: {"a": x + 1}, lambda x: {"b": x + 1}),
        (lambda x: [x + 1], lambda x: (x + 1,)),
        (lambda x: x + 1, lambda x: (x + 1,)),
    ],
)
def test_structures_that_differ(yes, no):
    def f(x):
        return torch.cond(x.sum() > 0, yes, no, (x,))

    for g in (f, torch.compile(f)):
        with pytest.raises(UncapturedHigherOrderOpError, match="same structure"):
            g(data(3))


@pytest.mark.parametrize("one,other", [(3, 3), (3, 4), (0, -1)])
@pytest.mark.parametrize("sign", [1, -1])
def test_ints_of_branches(one, other, sign):
    def f(x):
        y, n = torch.cond(x.sum() > 0, lambda x: (x + 1, one), lambda x: (x - 1, other), (x,))
        return y * n, n

    same(f, lambda: (data(3) * sign,), frames=1, breaks=(), backends=ALL)
    y, n = torch.cond((data(3) * sign).sum() > 0, lambda x: (x + 1, one), lambda x: (x - 1, other), (data(3),))
    assert type(n) is int and n == (one if sign > 0 else other)


def test_sizes_as_results_of_branches():
    counter = CompileCounter()
    f = torch.compile(
        lambda x: torch.cond(x.sum() > 0, lambda x: x.shape[0], lambda x: x.shape[0] * 2, (x,)), backend=counter
    )
    assert [f(data(n) * sign) for n in (3, 4, 5) for sign in (1, -1)] == [3, 6, 4, 8, 5, 10]
    assert counter.frame_count == 2


def test_plain_cond_is_not_counted_against_a_limit():
    torch._dynamo.reset()
    for dtype in (torch.float32, torch.float64, torch.int64):
        for rank in range(5):
            x = torch.ones([2] * rank, dtype=dtype)
            assert torch.equal(torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (x,)), x + 1)


def test_what_only_the_other_branch_reads_has_a_gradient_of_zeros():
    a, b, unread = (torch.full((3,), v, requires_grad=True) for v in (2.0, 3.0, 4.0))

    def captured(x):
        return torch.cond(x.sum() > 0, lambda x: x * a, lambda x: x * b, (x,))

    def operands(x):
        return torch.cond(x.sum() > 0, lambda x, a, b, c: x * a, lambda x, a, b, c: x * b, (x, a, b, unread))

    def nested(x):
        def yes(x):
            return torch.cond(x.sum() > 100, lambda x: x * a, lambda x: x * 1, (x,))

        return torch.cond(x.sum() > 0, yes, lambda x: x * b, (x,))

    def counted(x):  # integers pass no gradients on
        return torch.cond(x.sum() > 0, lambda x: x * a, lambda x: x * b.to(torch.int64), (x,))

    def two(x):
        y, z = torch.cond(x.sum() > 0, lambda x: (x * 2, x * a), lambda x: (x * b, x * 3), (x,))
        return y * z

    expected = {captured: (1.0, 0.0), operands: (1.0, 0.0), nested: (0.0, 0.0), counted: (1.0, None), two: (2.0, 0.0)}
    for function, grads in expected.items():
        for how in (None, "eager", "inductor"):
            torch._dynamo.reset()
            x = torch.ones(3, requires_grad=True)
            a.grad = b.grad = None
            f = function if how is None else torch.compile(function, backend=how, fullgraph=True)
            f(x).sum().backward()
            found = tuple(None if t.grad is None else t.grad[0].item() for t in (a, b))
            assert found == grads and unread.grad is None and x.grad is not None

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.yes, self.no = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

        def forward(self, x):
            return torch.cond(x.sum() > 0, self.yes, self.no, (x,))

    model = Model()
    torch.compile(model, backend="eager", fullgraph=True)(torch.ones(3)).sum().backward()
    assert model.yes.weight.grad.sum() == 9 and model.no.weight.grad.tolist() == torch.zeros(3, 3).tolist()

"""Numbers and sizes that are read from tensors, with fullgraph=True: one graph with the results of plain Python.

Where what a trace takes for granted of such a size does not hold, the frame runs as plain Python: right results, and
plain Python's exceptions.
"""

import math

import pytest

import minidynamo as torch
from frontend.differential import Seen
from minidynamo import tensor as T
from minidynamo._dynamo.testing import CompileCounter


def floats():
    return T([2.5, 3.0, -1.0])


def ints():
    return T([2, 3, 1])


def checks(n):
    torch._check_value(n[0].item() > 0, lambda: "not positive")
    torch._check_index(n[1].item() < 9)
    torch._check_tensor_all(n > 0)
    torch._assert_async((n > 0).all(), "not positive")
    return n + 1


# name of the program: function, arguments
PROGRAMS = {
    "scaled": (lambda x: x * x.max().item(), floats),
    "arithmetic": (lambda x: (x[0].item() * 3 + 1 - x[1].item() / x[0].item(), x + 1), floats),
    "divisions": (lambda x: (x[0].item() // x[1].item(), x[0].item() % x[2].item()), floats),
    "powers": (lambda x: (x[0].item() ** 2, x[1].item() ** 0.5, x[1].item() ** -1), floats),
    "signs": (lambda x: (-x[0].item(), +x[0].item(), abs(x[2].item())), floats),
    "whole": (
        lambda x: (int(x[0].item()), round(x[0].item()), math.floor(x[2].item()), math.ceil(x[0].item())),
        floats,
    ),
    "roots": (lambda x: x + math.sqrt(x[1].item()), floats),
    "extremes": (lambda x: (max(x[0].item(), x[1].item()), min(x[0].item(), x[2].item(), 1.5)), floats),
    "compared": (lambda x: (x[0].item() > x[1].item(), not x[0].item() == 2.5), floats),
    "size of a float": (lambda x: torch.zeros(int(x[0].item())), floats),
    "int of a float": (lambda x: (int(x[0]), x + int(x[1])), floats),
    "float of an int": (lambda n: (n[0].item() / n[1].item(), float(n[0].item()), math.sqrt(n[1].item())), ints),
    "truths": (lambda x: (bool(x.sum() > 0), x * (x > 0).all().item()), floats),
    "asserted": (lambda n: require_positive(n), ints),
    "asserted of tensors": (lambda n: compiled_here["require_all"](n), ints),
    "checked": (checks, ints),
    "arange": (lambda n: torch.arange(n[0].item(), n[1].item() + 3, 2), ints),
    "made": (lambda n: torch.ones(n[0].item() * 2 - 1, n[1].item()) * 2, ints),
    "lesser": (lambda n: torch.zeros(min(n[0].item(), 10), n[1].item() // 2), ints),
    "viewed": (lambda n: torch.arange(6.0).view(n[0].item(), n[1].item()), ints),
    "viewed with -1": (lambda n: torch.arange(6.0).reshape(n[0].item(), -1) + 1, ints),
    "repeated": (lambda n: torch.arange(3.0).repeat(n[0].item()), ints),
    "narrowed": (lambda n: torch.arange(5.0).narrow(0, 1, n[0].item()), ints),
    "selected": (lambda n: torch.arange(10.0).view(5, 2).select(0, n[0].item()), ints),
    "split": (lambda n: [p.sum() for p in torch.split(torch.arange(6.0), n.tolist())], ints),
    "largest of some": (lambda x: (x[x > 0].max(), x[x > 0].amin(), x[x > 0].argmax()), floats),
    "first of some": (lambda x: (x[x > 0][0], x[x > 0][-1]), floats),
    "some and some": (lambda x: x[x > 0] * x[x > -1], lambda: T([2.5, 2.0, -1.0])),
    "some and two": (lambda x: x[x > 0] + torch.ones(2), floats),
    "some stacked": (lambda x: torch.stack([x[x > 0], x[x > 0]]), floats),
    "losses of some": (
        lambda x: (
            torch.nn.functional.mse_loss(x[x > 0], x[x > 0] * 2),
            torch.nn.functional.cross_entropy(x.expand(3, 3)[x > 0], T([0, 1, 2])[x > 0]),
        ),
        floats,
    ),
    "some transposed": (lambda x: x.expand(2, 3)[:, x > 0].T.contiguous(), floats),
    "some normalised": (lambda x: torch.softmax(x[x > 0], 0), floats),
}


WITH_ASSERTS = """
def require_positive(n):
    count = n[0].item()
    assert count > 0
    assert count < 10 and n[1].item() >= 0
    return torch.zeros(count)


def require_all(n):
    assert (n > 0).all(), "not positive"
    return n + 1
"""


def require_positive(n):
    return compiled_here["require_positive"](n)


compiled_here = {"torch": torch}
exec(WITH_ASSERTS, compiled_here)  # pytest rewrites the asserts of a test file


def run(function, args):
    seen = Seen(function, (args,), {}).summary()
    error = seen["error"]
    return seen["result"], seen["state"], error and error[:2]


@pytest.mark.parametrize("name", PROGRAMS)
def test_whole(name):
    function, args = PROGRAMS[name]
    torch._dynamo.reset()
    counter = CompileCounter()
    expected = run(function, args())
    assert expected[2] is None
    assert run(torch.compile(function, backend=counter, fullgraph=True), args()) == expected
    assert counter.frame_count == 1
    assert run(torch.compile(function, fullgraph=True), args()) == expected


# Other values, for which something differs from what the trace took for granted.
OTHERWISE = {
    "nothing is left": (lambda x: x[x > 0].max(), floats, lambda: T([-1.0, -2.0])),
    "one is left": (lambda x: x[x > 0] + torch.ones(2), floats, lambda: T([-1.0, 2.0, -3.0])),
    "other sizes": (lambda x: x[x > 0] + x[x > -1], lambda: T([2.0, 3.0]), lambda: T([2.0, -0.5, 1.0])),
    "divided by zero": (lambda x: 1 / x[0].item(), floats, lambda: T([0.0, 1.0])),
    "root of a negative": (lambda x: math.sqrt(x[0].item()), floats, lambda: T([-4.0])),
    "int of infinity": (lambda x: int(x[0].item()), floats, lambda: T([math.inf])),
    "large unsigned": (
        lambda n: n.to(torch.uint64)[0].item() * 2,
        ints,
        lambda: T([2**63 + 5, 1], dtype=torch.uint64),
    ),
    "int of infinity at once": (lambda x: int(x[0]), floats, lambda: T([math.inf])),
    "int of no number": (lambda x: int(x[0].item()), floats, lambda: T([math.nan])),
    "complex power": (lambda x: x[0].item() ** 0.5, floats, lambda: T([-4.0])),
    "from the end": (lambda n: torch.arange(5.0)[n[0].item()], ints, lambda: T([-2, 1, 1])),
    "beyond the end": (lambda n: torch.arange(5.0)[n[0].item()], ints, lambda: T([7, 1, 1])),
    "negative size": (lambda n: torch.zeros(n[0].item()), ints, lambda: T([-7, 1, 1])),
    "wrong product": (lambda n: torch.arange(6.0).view(n[0].item(), n[1].item()), ints, lambda: T([2, 2, 1])),
    "failed assert of a tensor": (lambda n: compiled_here["require_all"](n), ints, lambda: T([-1, 2, 1])),
    "failed check": (checks, ints, lambda: T([-1, 2, 1])),
    "failed check of an index": (checks, ints, lambda: T([1, 20, 1])),
    "failed check of a tensor": (checks, ints, lambda: T([1, 2, -1])),
    "failed assert": (require_positive, ints, lambda: T([-1, 2, 1])),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_otherwise(name):
    function, usual, other = OTHERWISE[name]
    torch._dynamo.reset()
    for backend in ("eager", "inductor"):
        compiled = torch.compile(function, backend=backend, fullgraph=True)
        assert run(compiled, usual()) == run(function, usual())
        assert run(compiled, other()) == run(function, other())
        assert run(compiled, usual()) == run(function, usual())


def test_branches_on_numbers_break():
    for function in (
        lambda x: x if x.sum().item() > 0 else -x,
        lambda x: x if bool(x.sum() > 0) else -x,
        lambda x: x if x[x > 0].shape[0] == 0 else -x,
        lambda x: [x, -x][int(x[0].item())],
    ):
        torch._dynamo.reset()
        with pytest.raises(torch._dynamo.exc.Unsupported) as refused:
            torch.compile(function, fullgraph=True)(floats())
        assert refused.value.gb_code == "GB0170"


# Programs with a number that differs from call to call.
CHANGING = {
    "alpha": lambda x, a: torch.add(x, x * 2, alpha=a) - x.sub(3, alpha=a),
    "alpha in place": lambda x, a: x.clone().add_(x, alpha=a).sub_(1, alpha=a),
    "full": lambda x, a: (torch.full((2, 2), a), torch.full((2,), fill_value=a) + x[0]),
    "full like": lambda x, a: (torch.full_like(x, a), x.new_full((2,), a)),
    "of float32": lambda x, a: torch.add(x.float(), x.float(), alpha=a),
}


@pytest.mark.parametrize("numbers", [(0.5, 2.25, -3.0, 1e30), (2, 3, 7, -4)], ids=["floats", "ints"])
@pytest.mark.parametrize("name", CHANGING)
def test_numbers_that_change_are_inputs(name, numbers):
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(CHANGING[name], backend=counter)
    for number in numbers:
        args = torch.tensor([1.0, -2.5, 0.1], dtype=torch.float64), number
        seen = [Seen(f, args, {}).summary() for f in (CHANGING[name], compiled)]
        assert seen[0] == seen[1]
    assert counter.frame_count == 2


def test_counts_are_drawn_in_the_graph():
    def drawn(rate, share):
        counts = torch.poisson(rate), torch.binomial(rate, share), torch.distributions.Poisson(rate).sample()
        return *counts, torch.distributions.Gamma(rate, rate).sample(), torch.distributions.Dirichlet(rate).sample()

    counter = CompileCounter()
    torch._dynamo.reset()
    whole = torch.compile(drawn, backend=counter, fullgraph=True)
    args = torch.full((50,), 4.0), torch.full((50,), 0.5)
    torch.manual_seed(3)
    expected = [v.tolist() for v in drawn(*args)]
    torch.manual_seed(3)
    assert [v.tolist() for v in whole(*args)] == expected
    assert [v.tolist() for v in whole(*args)] != expected
    assert counter.frame_count == 1
    with pytest.raises(RuntimeError, match="negative"):
        torch.compile(lambda rate: torch.poisson(rate), fullgraph=True)(-args[0])

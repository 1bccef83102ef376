"""Functions decorated with gradient modes, seeds set inside of functions, and what explain() counts."""

import pytest

import minidynamo as torch

MANAGERS = {
    "no_grad()": lambda: torch.no_grad(),
    "no_grad": lambda: torch.no_grad,
    "enable_grad()": lambda: torch.enable_grad(),
    "inference_mode()": lambda: torch.inference_mode(),
    "set_grad_enabled(False)": lambda: torch.set_grad_enabled(False),
    "set_grad_enabled(True)": lambda: torch.set_grad_enabled(True),
}


def decorated(manager):
    before = torch.is_grad_enabled()

    @MANAGERS[manager]()
    def inner(x, w):
        y = x * w
        return y + 1, torch.is_grad_enabled()

    assert torch.is_grad_enabled() == before
    return inner


@pytest.fixture(autouse=True)
def fresh():
    """The functions of all parameters have one code object, and so one count of entries."""
    torch._dynamo.reset()


def same(a, b):
    return a[1:] == b[1:] and a[0].tolist() == b[0].tolist() and a[0].requires_grad == b[0].requires_grad


@pytest.mark.parametrize("outer", [True, False])
@pytest.mark.parametrize("manager", MANAGERS)
def test_decorated(manager, outer):
    inner = decorated(manager)

    def f(x, w):
        y, on = inner(x, w)
        z = y + w
        return z, on, torch.is_grad_enabled()

    args = torch.ones(2), torch.ones(2, requires_grad=True)
    with torch.set_grad_enabled(outer):
        for function in (inner, f):
            compiled = torch.compile(function, backend="eager", fullgraph=True)
            for _ in range(2):
                assert same(compiled(*args), function(*args))
                assert torch.is_grad_enabled() == outer


@pytest.mark.parametrize("manager", MANAGERS)
def test_decorated_with_a_break(manager):
    @MANAGERS[manager]()
    def inner(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2, torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    def f(x):
        y, *modes = inner(x)
        return y - 1, modes, torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    x = torch.ones(2)
    for function in (inner, f):
        compiled = torch.compile(function, backend="eager")
        for _ in range(2):
            assert same(compiled(x), function(x))
            assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


@pytest.mark.parametrize("mode", [True, False])
def test_inference_mode_with_an_argument(mode):
    def f(x):
        with torch.inference_mode(mode):
            y = x + 1
            torch._dynamo.graph_break()
            on = torch.is_inference_mode_enabled()
        return y * 2, on, torch.is_inference_mode_enabled()

    compiled = torch.compile(f, backend="eager")
    for _ in range(2):
        assert same(compiled(torch.ones(2)), f(torch.ones(2)))


def test_recursion_and_errors():
    @torch.no_grad()
    def inner(x, n):
        if n == 0:
            raise ValueError("end")
        return inner(x + 1, n - 1)

    def f(x):
        try:
            inner(x, 3)
        except ValueError:
            return x * 2, torch.is_grad_enabled()

    assert same(torch.compile(f, backend="eager")(torch.ones(2)), f(torch.ones(2)))


def seeded_first(x, n):
    torch.manual_seed(n)
    return x + torch.rand(3), torch.randn(2)


def seeded_after_arithmetic(x, n):
    y = x * 2 + 1
    g = torch.manual_seed(n)
    return y + torch.rand(3), g is torch.default_generator


def seeded_twice(x, n):
    torch.manual_seed(n)
    a = torch.rand(3)
    torch.manual_seed(n + 1)
    return x + a, torch.rand(3)


def seeded_after_drawing(x, n):
    a = torch.rand(3)
    torch.manual_seed(seed=n)
    return x + a, torch.rand(3)


def seeded_after_dropout(x, n):
    a = torch.nn.functional.dropout(x, 0.5)
    torch.manual_seed(n)
    return a, torch.rand(3)


def seeded_last(x, n):
    y = x + 1
    torch.manual_seed(n)
    return y, n


def seeded_and_broken(x, n):
    torch.manual_seed(n)
    a = torch.rand(3)
    torch._dynamo.graph_break()
    return x + a, torch.rand(3)


SEEDED = [seeded_first, seeded_after_arithmetic, seeded_twice, seeded_after_drawing, seeded_after_dropout, seeded_last]


def stream(f, *args):
    torch.manual_seed(99)
    out = [v.tolist() if isinstance(v, torch.Tensor) else v for v in f(*args)]
    return out, torch.rand(2).tolist(), torch.initial_seed()


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("f", [*SEEDED, seeded_and_broken], ids=lambda f: f.__name__)
def test_the_same_stream(f, backend):
    compiled = torch.compile(f, backend=backend)
    for n in (0, 3, 3, -1, 2**40):
        assert stream(compiled, torch.ones(3), n) == stream(f, torch.ones(3), n)


@pytest.mark.parametrize("f", [seeded_first, seeded_after_arithmetic, seeded_last], ids=lambda f: f.__name__)
def test_seeds_in_one_graph(f):
    compiled = torch.compile(f, backend="eager", fullgraph=True)
    assert stream(compiled, torch.ones(3), 5) == stream(f, torch.ones(3), 5)


def test_a_graph_that_fails_leaves_the_stream():
    def f(x, at):
        y = x[at]
        torch.manual_seed(1)
        return y + torch.rand(1)

    compiled = torch.compile(f, backend="eager")
    compiled(torch.ones(3), torch.tensor([1]))
    for function in (compiled, f):
        torch.manual_seed(7)
        with pytest.raises(IndexError):
            function(torch.ones(3), torch.tensor([5]))
        assert torch.initial_seed() == 7


def no_break(x):
    return x + 1


def one_break(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


def break_at_the_end(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y


def break_in_a_loop(x):
    for _ in range(2):
        x = x + 1
        torch._dynamo.graph_break()
    return x


FUNCTIONS = [no_break, one_break, break_at_the_end, break_in_a_loop]
MODULES = [lambda: torch.nn.LSTM(3, 4), lambda: torch.nn.GRU(3, 4), lambda: torch.nn.RNN(3, 4)]
MODULES += [lambda: torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())]


@pytest.mark.parametrize("make", [*(lambda f=f: f for f in FUNCTIONS), *MODULES])
def test_counts_of_explain(make):
    told = torch._dynamo.explain(make())(torch.ones(2, 1, 3))
    assert told.graph_break_count == len(told.break_reasons)
    assert told.graph_count == len(told.graphs)
    assert f"Graph Break Count: {told.graph_break_count}\n" in str(told)


def test_many_decorated_functions():
    """Each has entries of its own, and a limit of its own for them."""

    def made(k):
        @torch.no_grad()
        def f(x):
            return x * k, torch.is_grad_enabled()

        return f

    for k in range(3 * torch._dynamo.config.recompile_limit):
        f = made(k)
        assert same(torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2)), f(torch.ones(2)))

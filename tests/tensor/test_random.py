"""Random functions: distributions, generators, and the same stream eager, traced and compiled."""

import numpy as np
import pytest

import minidynamo as torch

DRAWS = {
    "rand": lambda x: torch.rand(4, 5),
    "randn": lambda x: torch.randn(7, dtype=torch.float64),
    "rand_like": lambda x: torch.rand_like(x),
    "randint": lambda x: torch.randint(-3, 9, (11,)),
    "randint_like": lambda x: torch.randint_like(x, 5) + torch.randint_like(x, 2, 7),
    "randperm": lambda x: torch.randperm(23),
    "bernoulli": lambda x: torch.bernoulli(x),
    "bernoulli p": lambda x: torch.bernoulli(x, 0.3) + x.bernoulli(0.7),
    "multinomial": lambda x: torch.multinomial(x, 3),
    "multinomial again": lambda x: x[0].multinomial(9, True),
    "normal": lambda x: torch.normal(x, 2.0) + torch.normal(0.5, x) + torch.normal(x, x),
    "normal of a size": lambda x: torch.normal(1.0, 2.0, (3, 4)),
    "uniform_": lambda x: x.clone().uniform_(-1, 3),
    "normal_": lambda x: torch.empty(5).normal_(1, 2),
    "bernoulli_": lambda x: torch.empty(50).bernoulli_(0.25),
    "bernoulli_ of a tensor": lambda x: torch.empty(6, 5).bernoulli_(x),
    "exponential_": lambda x: torch.empty(9, dtype=torch.float64).exponential_(2.0),
    "cauchy_": lambda x: torch.empty(9).cauchy_(),
    "log_normal_": lambda x: torch.empty(9).log_normal_(),
    "geometric_": lambda x: torch.empty(9).geometric_(0.3),
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.5),
}


def shares():
    return (torch.arange(30.0).reshape(6, 5) + 1) / 31


def after(function, seed=5):
    """Two results and a number drawn after them."""
    torch.manual_seed(seed)
    x = shares()
    return [function(x), function(x), torch.rand(())]


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("backend", ["inductor", "eager"])
def test_compiled_draws_the_same_numbers_each_call_anew(name, backend):
    function = DRAWS[name]
    torch._dynamo.reset()
    expected = after(function)
    result = after(torch.compile(function, backend=backend, fullgraph=True))
    for a, b in zip(result, expected):
        assert a.dtype is b.dtype
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert expected[0].numel() < 5 or (expected[0] != expected[1]).any()


def test_draws_keep_the_programs_order_even_unused():
    def work(x):
        first = torch.rand(3)
        x.normal_()
        torch.randn(8)
        y = torch.randperm(6)
        return first, y, torch.bernoulli(x.sigmoid())

    torch.manual_seed(1)
    a = torch.zeros(4)
    expected = [*work(a), a, torch.rand(2)]
    torch.manual_seed(1)
    b = torch.zeros(4)
    result = [*torch.compile(work, fullgraph=True)(b), b, torch.rand(2)]
    for r, e in zip(result, expected):
        np.testing.assert_array_equal(r.numpy(), e.numpy())


def test_symbolic_sizes_draw_the_same_numbers():
    def work(x):
        return torch.randn(x.shape[0], 2) + torch.rand_like(x), torch.randperm(x.shape[0]), x.clone().exponential_()

    torch._dynamo.reset()
    compiled = torch.compile(work, fullgraph=True, dynamic=True)
    for n in (3, 4, 9):
        torch.manual_seed(n)
        expected = work(torch.zeros(n, 2))
        torch.manual_seed(n)
        for r, e in zip(compiled(torch.zeros(n, 2)), expected):
            np.testing.assert_array_equal(r.numpy(), e.numpy())


# --- distributions


def test_large_fills_are_the_formula_of_what_was_drawn():
    # Large tensors are swept: the numbers are drawn at once, what is made of them goes row by row.
    for dtype in (torch.float32, torch.float64, torch.float16):
        torch.manual_seed(3)
        drawn, uniform = torch.randn(150, 200, dtype=dtype), torch.rand(150, 200, dtype=dtype)
        torch.manual_seed(3)
        x, y = torch.zeros(150, 200, dtype=dtype), torch.zeros(150, 200, dtype=dtype)
        assert torch.equal(x.normal_(2.0, 0.3), drawn * 0.3 + 2.0)
        assert torch.equal(y.uniform_(-1.0, 2.0), uniform * 3.0 - 1.0)


def test_means_and_ranges():
    torch.manual_seed(0)
    n = 40000
    close = lambda x, mean, width: abs(x.double().mean().item() - mean) < width  # noqa: E731
    assert close(torch.bernoulli(torch.full((n,), 0.3)), 0.3, 0.01)
    assert close(torch.empty(n).bernoulli_(0.8), 0.8, 0.01)
    assert close(torch.empty(n, dtype=torch.int64).bernoulli_(), 0.5, 0.01)
    assert set(torch.bernoulli(torch.tensor([0.0, 1.0]).repeat(99)).reshape(-1, 2)[:, 0].tolist()) == {0.0}
    assert close(torch.empty(n).exponential_(4), 0.25, 0.01)
    assert close(torch.empty(n).geometric_(0.25), 4, 0.1) and torch.empty(n).geometric_(0.9).min().item() == 1
    assert close(torch.empty(n, dtype=torch.int32).geometric_(0.5), 2, 0.05)
    assert close(torch.empty(n).log_normal_(0, 0.5).log(), 0, 0.02)
    assert abs(torch.empty(n).cauchy_(3, 0.5).median().item() - 3) < 0.05
    assert close(torch.normal(torch.full((n,), 2.0), 3.0), 2, 0.06)
    assert close(torch.normal(2.0, torch.full((n,), 3.0)), 2, 0.06)
    assert torch.normal(0.0, 1.0, (2, 3), dtype=torch.float64).dtype is torch.float64
    wide = torch.normal(torch.zeros(3, 1), torch.ones(1, 4))
    assert wide.shape == (3, 4) and torch.normal(torch.ones(3)).shape == (3,)
    like = torch.randint_like(torch.zeros(n), 3, 6)
    assert set(like.tolist()) == {3.0, 4.0, 5.0} and like.dtype is torch.float32
    assert torch.randint_like(like, 2, dtype=torch.int32).dtype is torch.int32


def test_orders():
    torch.manual_seed(0)
    for n in (0, 1, 2, 100):
        assert sorted(torch.randperm(n).tolist()) == list(range(n))
    first = [torch.randperm(4)[0].item() for _ in range(2000)]
    assert min(first.count(i) for i in range(4)) > 400
    assert torch.randperm(5, dtype=torch.float32).dtype is torch.float32


def test_multinomial_follows_the_weights():
    torch.manual_seed(0)
    weights = torch.tensor([1.0, 0.0, 3.0, 4.0])
    drawn = torch.multinomial(weights, 8000, replacement=True)
    counts = [(drawn == i).sum().item() for i in range(4)]
    assert counts[1] == 0 and abs(counts[0] - 1000) < 150 and abs(counts[3] - 4000) < 250
    rows = torch.multinomial(torch.ones(500, 3), 3)
    assert rows.dtype is torch.int64 and (rows.sort(1)[0] == torch.arange(3)).all()
    first = torch.multinomial(weights.expand(4000, 4), 2)[:, 0]
    assert abs((first == 3).sum().item() - 2000) < 200 and not (first == 1).any()


# --- generators


def test_generators_are_streams_of_their_own():
    g = torch.Generator()
    assert g.manual_seed(3) is g and g.initial_seed() == 3 and g.device == torch.device("cpu")
    torch.manual_seed(3)
    for call in (
        lambda **k: torch.rand(3, **k), lambda **k: torch.randn(2, 2, **k), lambda **k: torch.randint(9, (4,), **k),
        lambda **k: torch.randperm(5, **k), lambda **k: torch.bernoulli(shares(), **k),
        lambda **k: torch.multinomial(shares(), 2, **k), lambda **k: torch.normal(0.0, 1.0, (3,), **k),
        lambda **k: torch.empty(4).uniform_(**k), lambda **k: torch.empty(4).normal_(0, 2, **k),
        lambda **k: torch.empty(4).random_(7, **k), lambda **k: torch.empty(4).bernoulli_(0.5, **k),
        lambda **k: torch.empty(4).exponential_(**k),
    ):  # fmt: skip
        before = torch.get_rng_state()
        drawn = call(generator=g)
        assert (torch.get_rng_state() == before).all()
        assert call(generator=None).tolist() == drawn.tolist()
    state = g.get_state()
    drawn = torch.rand(5, generator=g)
    g.set_state(state)
    assert torch.rand(5, generator=g).tolist() == drawn.tolist() and state.dtype is torch.uint8
    assert g.seed() == g.initial_seed()


def test_the_default_generator():
    assert torch.manual_seed(11) is torch.default_generator and torch.initial_seed() == 11
    state = torch.get_rng_state()
    drawn = torch.rand(3)
    torch.set_rng_state(state)
    assert torch.rand(3).tolist() == drawn.tolist()
    with torch.random.fork_rng():
        torch.manual_seed(1)
        torch.rand(2)
    torch.set_rng_state(state)
    assert torch.rand(3, generator=torch.default_generator).tolist() == drawn.tolist()
    assert torch.seed() == torch.initial_seed()


def test_a_generator_in_compiled_code_breaks_the_graph_and_draws_as_eager():
    g = torch.Generator()

    def work(x):
        return torch.rand(3, generator=g) + x

    torch._dynamo.reset()
    compiled = torch.compile(work)
    g.manual_seed(2)
    expected = [work(torch.zeros(3)) for _ in range(2)]
    g.manual_seed(2)
    for e in expected:
        assert compiled(torch.zeros(3)).tolist() == e.tolist()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="Failed to convert args/kwargs to proxy"):
        torch.compile(work, fullgraph=True)(torch.zeros(3))


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: torch.rand(3, generator=7), TypeError),
        (lambda: torch.sin(torch.ones(2), generator=torch.Generator()), TypeError),
        (lambda: torch.Generator("cuda"), RuntimeError),
        (lambda: torch.Generator().set_state(torch.zeros(3)), TypeError),
        (lambda: torch.Generator().set_state(torch.zeros(3, dtype=torch.uint8)), RuntimeError),
        (lambda: torch.Generator().manual_seed(2**64), ValueError),
        (lambda: torch.bernoulli(torch.tensor([1.5])), RuntimeError),
        (lambda: torch.bernoulli(torch.ones(2, dtype=torch.int64)), NotImplementedError),
        (lambda: torch.ones(2).bernoulli_(1.5), RuntimeError),
        (lambda: torch.ones(2).bernoulli_(torch.ones(3)), RuntimeError),
        (lambda: torch.bernoulli(torch.ones(2), torch.ones(2)), TypeError),
        (lambda: torch.multinomial(torch.tensor([0.0, 0.0]), 1), RuntimeError),
        (lambda: torch.multinomial(torch.tensor([1.0, -1.0]), 1), RuntimeError),
        (lambda: torch.multinomial(torch.tensor([1.0, 0.0]), 2), RuntimeError),
        (lambda: torch.multinomial(torch.ones(2), 3), RuntimeError),
        (lambda: torch.multinomial(torch.ones(2), 0), RuntimeError),
        (lambda: torch.multinomial(torch.ones(2, 2, 2), 1), RuntimeError),
        (lambda: torch.multinomial(torch.ones(2, dtype=torch.int64), 1), RuntimeError),
        (lambda: torch.randperm(-1), RuntimeError),
        (lambda: torch.randperm(300, dtype=torch.int8), RuntimeError),
        (lambda: torch.normal(0.0, -1.0, (2,)), RuntimeError),
        (lambda: torch.normal(torch.ones(2, dtype=torch.int64), 1.0), NotImplementedError),
        (lambda: torch.ones(2).exponential_(0), RuntimeError),
        (lambda: torch.ones(2, dtype=torch.int64).exponential_(), RuntimeError),
        (lambda: torch.ones(2).geometric_(1.0), RuntimeError),
        (lambda: torch.randint_like(torch.ones(2), 5, 5), RuntimeError),
    ],
)
def test_wrong_draws(call, error):
    with pytest.raises(error):
        call()


def test_what_fails_in_compiled_code_has_drawn_nothing_more():
    def work(x):
        return torch.rand(2), torch.bernoulli(x)

    torch._dynamo.reset()
    torch.manual_seed(4)
    torch.rand(2)
    expected = torch.rand(2).tolist()
    torch.manual_seed(4)
    with pytest.raises(RuntimeError, match="bernoulli"):
        torch.compile(work)(torch.tensor([2.0]))
    assert torch.rand(2).tolist() == expected

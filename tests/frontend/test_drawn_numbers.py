"""Numbers drawn by Python's random inside compiled functions: drawn by each call, inputs of its graph, from the stream
plain Python would draw them from."""

import random

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

X = torch.tensor([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def runs(f, calls=4):
    random.seed(7)
    return [f(X.clone()) for _ in range(calls)], random.getstate()


def flat(v):
    return [x for item in v for x in flat(item)] if isinstance(v, (list, tuple)) else [v]


def same_bits(f, backend, **options):
    expected, found = runs(f), runs(torch.compile(f, backend=backend, fullgraph=True, **options))
    assert expected[1] == found[1]
    for want, got in zip(flat(expected[0]), flat(found[0]), strict=True):
        if isinstance(want, torch.Tensor):
            assert want.dtype == got.dtype and torch.equal(want, got)
        else:
            assert type(want) is type(got) and want == got


def one(x):
    return x * random.uniform(-2.0, 3.0) + random.randint(1, 9)


def handed_on(x):
    return random.uniform(0.0, 1.0), x + 1, random.randrange(5), random.uniform(1, 2) > 1.5


def other_dtypes(x):
    n, u = random.randint(1, 300), random.uniform(0.0, 1.0)
    return x.long() * n, x.long() * u, x.half() * u, x.double() * u, x.to(torch.uint8) + n, torch.where(x > u, x, u)


def written(x):
    x[0] = random.uniform(0.0, 1.0)
    x += random.randint(1, 5)
    return x


@pytest.mark.parametrize("f", [one, handed_on, other_dtypes, written], ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_the_values_are_plain_pythons_to_the_bit(f, backend):
    same_bits(f, backend)


def test_nothing_is_compiled_anew_for_another_number():
    counter = CompileCounter()
    same_bits(one, counter)
    assert (counter.frame_count, counter.op_count) == (1, 2)


def test_tracing_draws_nothing():
    random.seed(3)
    before = random.getstate()
    torch._dynamo.explain(lambda x: x * 2)(X)
    compiled = torch.compile(lambda x: x * random.uniform(0, 1), backend="eager")
    compiled(X)
    random.setstate(before)
    expected = random.uniform(0, 1)
    after = random.getstate()
    random.setstate(before)
    torch._dynamo.reset()
    assert torch.equal(compiled(X), X * expected) and random.getstate() == after


def test_what_a_graph_that_fails_has_drawn_is_drawn_again():
    def f(x, index):
        y = x * random.uniform(0, 1)
        return y[index]

    compiled = torch.compile(f, backend="eager")
    good, bad = torch.tensor([0, 1]), torch.tensor([0, 9])
    compiled(X, good)
    random.seed(5)
    with pytest.raises(IndexError):
        f(X, bad)
    plain = random.getstate()
    random.seed(5)
    with pytest.raises(IndexError):
        compiled(X, bad)
    assert random.getstate() == plain


def test_a_view_at_a_drawn_place_is_a_view():
    def f(x):
        x[random.randint(0, 2)].add_(10)
        return x

    same_bits(f, "eager")


def test_gradients_go_through():
    def f(x):
        return (x * random.uniform(1, 2)).sum()

    def gradient(g):
        random.seed(2)
        x = X.clone().requires_grad_()
        g(x).backward()
        return x.grad

    assert torch.equal(gradient(f), gradient(torch.compile(f, fullgraph=True)))


def test_methods_of_the_program_are_called():
    class Loaded(random.Random):
        def randint(self, a, b):
            return b

    loaded = Loaded(1)
    plain = random.Random(1)
    plain.randint = lambda a, b: a - 100
    f = torch.compile(lambda x, r: x * r.randint(1, 6), backend="eager")
    assert torch.equal(f(X, loaded), X * 6)
    assert torch.equal(f(X, plain), X * -99)


def test_breaks_between_draws_keep_their_order():
    def f(x):
        x = x * random.randint(1, 9)
        torch._dynamo.graph_break()
        x = x - random.uniform(0, 1)
        y = random.random()
        return x, y, random.randint(1, 9)

    expected, found = runs(f), runs(torch.compile(f, backend="eager"))
    assert expected[1] == found[1]
    assert [a[1:] for a in expected[0]] == [b[1:] for b in found[0]]
    assert all(torch.equal(a[0], b[0]) for a, b in zip(expected[0], found[0]))

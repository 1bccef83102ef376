"""Transforms of functions that are no plain Python functions, what is inside of tensors, rules that are wrong."""

import functools

import pytest

import minidynamo as torch
from minidynamo import func, nn

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
FUNCTIONS = [
    lambda x: func.vmap(functools.partial(torch.sum, dim=0))(x),
    lambda x: func.grad(functools.partial(torch.sum))(x[0]),
    lambda x: func.vmap(nn.ReLU())(x - 2),
    lambda x: func.vmap(torch.Tensor.exp)(x),
    lambda x: func.jacrev(functools.partial(torch.pow, exponent=2))(x[0]),
]


@pytest.mark.parametrize("row", range(len(FUNCTIONS)))
def test_whole(row):
    f = FUNCTIONS[row]
    compiled = torch.compile(f, backend="eager", fullgraph=True)
    assert compiled(X).tolist() == f(X).tolist()


def test_what_is_inside():
    inside = []

    def f(a):
        inside.append(func.debug_unwrap(a))
        inside.append(func.debug_unwrap(a, recurse=False))
        return a

    func.vmap(func.vmap(f))(X[None])
    assert [tuple(t.shape) for t in inside] == [(1, 2, 2), (2, 2)]
    assert func.debug_unwrap(X).tolist() == X.tolist()
    with pytest.raises(TypeError):
        func.debug_unwrap(3)


def test_two_tensors_for_a_tied_parameter():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    ones = torch.ones(2, 2)
    given = {"a.weight": ones, "b.weight": ones}
    assert func.functional_call(Tied(), given, X[:1]).tolist() == [[6.0, 6.0]]
    given["b.weight"] = torch.zeros(2, 2)
    with pytest.raises(ValueError):
        func.functional_call(Tied(), given, X[:1])
    assert func.functional_call(Tied(), given, X[:1], tie_weights=False).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("wrong", [lambda info, dims, x: x, lambda info, dims, x: (x, 0, 1)])
def test_a_rule_returns_two_things(wrong):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        vmap = staticmethod(wrong)

    with pytest.raises(RuntimeError):
        func.vmap(Same.apply)(X)


def test_a_pull_back_made_before_the_call():
    _, pull_back = func.vjp(torch.sin, X)
    compiled = torch.compile(lambda g: pull_back(g)[0], backend="eager")
    assert compiled(torch.ones(2, 2)).tolist() == pull_back(torch.ones(2, 2))[0].tolist()

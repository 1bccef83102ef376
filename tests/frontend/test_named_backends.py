"""Backends by name: lookup_backend gives what its name says, and each kind can be told from the others."""

import pytest

import minidynamo as torch
from minidynamo._dynamo import list_backends, lookup_backend
from minidynamo._dynamo.testing import CompileCounterWithBackend

NAMES = sorted({*list_backends(exclude_tags=()), "inductor", "blocks"})


def views_and_writes(x, y):
    x.add_(y)
    z = x.view(-1)[1:]
    z.mul_(2)
    return z, x.sum(), x


def symbolic(x, y):
    return (x * x.shape[0] + y).sum(0), x


def fails(x, y):
    x.add_(1)
    return x[y.to(torch.int64)[0, 0] + 100]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("function", [views_and_writes, symbolic])
@pytest.mark.parametrize("name", NAMES)
def test_same_as_plain(name, function, dynamic):
    compiled = torch.compile(function, backend=CompileCounterWithBackend(name), dynamic=dynamic)
    for n in (3, 4, 5, 3):
        ours, plain = (torch.arange(2.0 * n).reshape(n, 2) for _ in range(2))
        got, wanted = compiled(ours, torch.ones(n, 2)), function(plain, torch.ones(n, 2))
        assert [t.tolist() for t in got] == [t.tolist() for t in wanted]
        assert ours.tolist() == plain.tolist()
        assert got[-1] is ours


def graph_of(function, *args):
    kept = []

    def backend(gm, example_inputs):
        kept.append((gm, example_inputs))
        return gm.forward

    torch.compile(function, backend=backend)(*args)
    return kept[0]


@pytest.mark.parametrize("name", ["llvm", "inductor", "aot_eager"])
def test_what_runs_is_the_functional_graph(name):
    gm, inputs = graph_of(views_and_writes, torch.ones(3, 2), torch.ones(3, 2))
    run = lookup_backend(name)(gm, inputs)
    assert type(run.__self__) is torch._C._CompiledGraph
    code = [line for line in run.__self__.functional.splitlines() if not line.lstrip().startswith("#")]
    assert ".add_(" in gm.code
    assert any("torch.add(" in line for line in code) and not any(".add_(" in line for line in code)


def test_eager_runs_the_traced_graph():
    gm, inputs = graph_of(views_and_writes, torch.ones(3, 2), torch.ones(3, 2))
    assert lookup_backend("eager")(gm, inputs) == gm.forward


@pytest.mark.parametrize("name", ["llvm", "aot_eager"])
@pytest.mark.parametrize(
    "other", [torch.ones(4, 2), torch.ones(2, 3).T, torch.ones(3, 2, dtype=torch.float64), torch.ones(3, 4)[:, ::2]]
)
def test_inputs_of_another_layout_are_computed_right(name, other):
    gm, inputs = graph_of(lambda x: (x * 2).sum(1), torch.ones(3, 2))
    (got,) = lookup_backend(name)(gm, inputs)(other)
    assert got.tolist() == (other * 2).sum(1).tolist() and got.dtype == other.dtype


@pytest.mark.parametrize("name", NAMES)
def test_a_failing_graph_leaves_inputs_to_plain_python(name):
    x = torch.ones(3, 2)
    with pytest.raises(IndexError):
        torch.compile(fails, backend=CompileCounterWithBackend(name))(x, torch.ones(2, 2))
    assert x.tolist() == [[2.0, 2.0]] * 3

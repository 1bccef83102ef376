"""Objects of classes registered in torch.utils._pytree as arguments and results of nonstrict_trace functions."""

import pytest

import minidynamo as torch
import minidynamo.utils._pytree as pytree
from minidynamo._dynamo.testing import CompileCounter


class Pair:
    def __init__(self, a, b, name="pair"):
        self.a, self.b, self.name = a, b, name


class Unregistered(Pair):
    pass


pytree.register_pytree_node(Pair, lambda p: ((p.a, p.b), p.name), lambda parts, name: Pair(*parts, name))


@torch._dynamo.nonstrict_trace
def product(p, *, scale=1):
    torch._dynamo.graph_break()  # what happens inside does not matter
    return p.a * p.b * scale


@torch._dynamo.nonstrict_trace
def made(x):
    return Pair(x + 1, x * 2, "made")


@torch._dynamo.nonstrict_trace
def among_others(x):
    return {"pair": Pair(Pair(x, x + 1), x * 2), "list": [x * 3, 7]}


@torch._dynamo.nonstrict_trace
def first_parts(pairs):
    return sum(p.a for p in pairs) + sum(p.b for p in pairs if p.name == "named")


GLOBAL = Pair(torch.ones(3), torch.full((3,), 2.0))


def results(x):
    p = made(x)
    return p.a + p.b, p.name, type(p) is Pair


def nested_results(x):
    d = among_others(x)
    return d["pair"].a.a + d["pair"].a.b * d["pair"].b, d["list"][0], d["list"][1]


PROGRAMS = [
    lambda x: product(Pair(x, x + 1)),
    lambda x: product(p=Pair(x, x + 1), scale=3),
    lambda x: product(GLOBAL) + x,
    lambda x: first_parts([Pair(x, x), Pair(x * 2, x, "named")]),
    lambda x: first_parts((Pair(x, x),)) + product(Pair(x, x)),
    results,
    nested_results,
]


def plain(value):
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("program", PROGRAMS)
def test_trees(program):
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(program, backend=counter, fullgraph=True)
    for n in (1.0, 2.0):
        x = torch.full((3,), n, requires_grad=True)
        y = torch.full((3,), n, requires_grad=True)
        expected, found = program(x), compiled(y)
        assert plain(found) == plain(expected)
        for of, leaf in ((expected, x), (found, y)):
            (of[0] if isinstance(of, tuple) else of).sum().backward()
            assert leaf.grad is not None
        assert x.grad.tolist() == y.grad.tolist()
    assert counter.frame_count == 1


def test_a_class_that_is_not_registered():
    torch._dynamo.reset()

    def f(x):
        return product(Unregistered(x, x))

    with pytest.raises(torch._dynamo.exc.Unsupported, match="GB0055|gb0055"):
        torch.compile(f, fullgraph=True)(torch.ones(3))
    assert torch.compile(f)(torch.ones(3)).tolist() == [1.0, 1.0, 1.0]


def test_another_structure_than_traced():
    torch._dynamo.reset()
    names = ["a"]

    @torch._dynamo.nonstrict_trace
    def changing(x):
        return Pair(x, x, names[0])

    def f(x):
        p = changing(x)
        return p.a + 1, p.name

    compiled = torch.compile(f, backend="eager", fullgraph=True)
    assert plain(compiled(torch.ones(2))) == [[2.0, 2.0], "a"]
    names[0] = "b"
    with pytest.raises(RuntimeError, match="returned something else"):
        compiled(torch.ones(2))


@torch._dynamo.patch_dynamo_config(capture_scalar_outputs=True)
def captures(x):
    return x * x.sum().item()


def within(x):
    with torch._dynamo.patch_dynamo_config({"capture_scalar_outputs": True}):
        y = x * x.sum().item()
    return y + 1


def left_before(x):
    with torch._dynamo.patch_dynamo_config("capture_scalar_outputs", True):
        y = x + 1
    return y * y.sum().item()


@pytest.mark.parametrize("program, frames", [(captures, 1), (within, 1), (left_before, 3)])
def test_settings_changed_within_a_trace(program, frames):
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(lambda x: program(x), backend=counter)
    for n in (1.0, 2.0):
        x = torch.full((3,), n)
        assert compiled(x).tolist() == program(x).tolist()
    assert counter.frame_count == frames
    assert torch._dynamo.config.capture_scalar_outputs is False
    torch._dynamo.reset()
    full = torch.compile(lambda x: program(x), backend="eager", fullgraph=True)
    assert full(torch.ones(3)).tolist() == program(torch.ones(3)).tolist()


def test_settings_that_cannot_be_changed_within():
    with pytest.raises(ValueError, match="recompile_limit"):
        torch._dynamo.patch_dynamo_config(recompile_limit=3)
    with torch._dynamo.patch_dynamo_config(verbose=True):
        assert torch._dynamo.config.verbose is True
    assert torch._dynamo.config.verbose is False


def test_how_tensors_are_shown():
    torch._dynamo.reset()

    def f(x):
        torch.set_printoptions(precision=2)
        return x + 1

    try:
        torch.compile(f, fullgraph=True)(torch.ones(1))
        assert repr(torch.tensor([1.23456])) == "tensor([1.23])"
    finally:
        torch.set_printoptions(profile="default")


def refused_within(x):
    with torch.autograd.graph.disable_saved_tensors_hooks("none here"):
        return (x * x).sin()


def refused_by_name(x):
    torch._C._autograd._saved_tensors_hooks_disable("none here")
    y = x * x
    torch._C._autograd._saved_tensors_hooks_enable()
    return y


@pytest.mark.parametrize("program", [refused_within, refused_by_name])
def test_refused_hooks_of_saved_tensors(program):
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(program, backend=counter, fullgraph=True)
    for _ in range(2):
        assert compiled(torch.ones(3)).tolist() == program(torch.ones(3)).tolist()
        assert torch._C._autograd._saved_tensors_hooks_is_enabled()
    assert counter.frame_count == 1
    with torch.autograd.graph.disable_saved_tensors_hooks("none here"):
        assert torch._C._autograd._saved_tensors_hooks_get_disabled_error_message() == "none here"
        assert not torch._C._autograd._saved_tensors_hooks_is_enabled()

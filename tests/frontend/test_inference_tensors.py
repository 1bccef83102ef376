"""Tensors made in inference mode inside compiled code are inference tensors, whatever engine runs the graph."""

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter


def kinds(v):
    if isinstance(v, (tuple, list)):
        return [kinds(each) for each in v]
    return ("inference" if v.is_inference() else "normal", v.requires_grad, v.tolist())


@torch.inference_mode()
def predict(x):
    return x * 2


def block(x):
    with torch.inference_mode():
        y = x * 2
    return y, y + 1, y.view(3, 1), y.clone()


def views(x):
    with torch.inference_mode():
        y = x.view(3, 1)
        z = (x * 2).view(3, 1)
    return y, z


def left_for_a_while(x):
    with torch.inference_mode():
        y = x * 2
        y.add_(1)
        with torch.inference_mode(False):
            z = y + 1
        u = z * 3
    return y, z, u


def of_nothing(x):
    with torch.inference_mode(mode=True):
        y = torch.zeros(2)
    with torch.inference_mode(False):
        z = torch.ones(2)
    return y, z, y + z


def of_parameters(x):
    w = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        y = w * 2
    return y, y.detach(), y.sum() * 2


def writes_to_the_operand(x):
    with torch.inference_mode():
        x.add_(1)
    return x, x * 2


PROGRAMS = [predict, block, views, left_for_a_while, of_nothing, of_parameters, writes_to_the_operand]


@pytest.mark.parametrize("backend", [None, "eager", "inductor"])
def test_results_are_of_the_same_kind(backend):
    for f in PROGRAMS:
        torch._dynamo.reset()
        counter = CompileCounter()
        compiled = torch.compile(f, backend=backend or counter, fullgraph=f is not of_parameters)
        for _ in range(2):
            assert kinds(compiled(torch.ones(3))) == kinds(f(torch.ones(3))), f.__name__
        if backend is None and f is not of_parameters:
            assert counter.frame_count == 1, f.__name__
        with torch.inference_mode():
            assert kinds(compiled(torch.ones(3))) == kinds(f(torch.ones(3))), f.__name__
        assert not torch.is_inference_mode_enabled()


def test_writes_and_gradients_are_refused():
    w = torch.ones(3, requires_grad=True)

    def written(x):
        with torch.inference_mode():
            y = x * 2
        y.add_(1)
        return y

    def item_written(x):
        with torch.inference_mode():
            y = x * 2
        y[0] = 5
        return y

    def view_written(x):
        with torch.inference_mode():
            y = x * 2
        return y.view(3, 1).mul_(2)

    def kept(x):
        with torch.inference_mode():
            y = x * 2
        return y * w

    for f in (written, item_written, view_written, kept):
        torch._dynamo.reset()
        for call in (f, torch.compile(f, backend="eager"), torch.compile(f, fullgraph=True)):
            with pytest.raises(RuntimeError, match="inference tensor"):
                call(torch.ones(3))
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def test_a_write_that_is_refused_may_be_caught():
    def f(x):
        with torch.inference_mode():
            y = x * 2
        try:
            y.mul_(2)
        except RuntimeError:
            return x + 1
        return y

    assert torch.compile(f, backend="eager")(torch.ones(3)).tolist() == f(torch.ones(3)).tolist() == [2.0] * 3

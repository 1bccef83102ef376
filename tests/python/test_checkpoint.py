"""utils.checkpoint and nested_compile_region: the function runs, once."""

import contextlib

import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo.utils.checkpoint import checkpoint, checkpoint_sequential


def block(x, scale=2.0):
    return (x * scale).sin()


def test_checkpoint_is_a_call():
    entered = []

    @contextlib.contextmanager
    def noted(name):
        entered.append(name)
        yield

    x = torch.ones(3)
    assert torch.equal(checkpoint(block, x, use_reentrant=False, scale=3.0), block(x, 3.0))
    checkpoint(block, x, use_reentrant=False, context_fn=lambda: (noted("forward"), noted("again")))
    assert entered == ["forward"]
    layers = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())
    assert torch.equal(checkpoint_sequential(layers, 2, x - 2, use_reentrant=False), layers(x - 2))


def test_checkpoint_is_traced():
    same(lambda x: checkpoint(block, x, use_reentrant=False) + 1, lambda: (torch.ones(3),), frames=1, ops=3, breaks=[])


def test_nested_compile_region():
    region = torch.compiler.nested_compile_region(block)
    also = torch.compiler.nested_compile_region()(lambda x: x + 1)
    same(lambda x: also(region(x)) * region(x, 3.0), lambda: (torch.ones(3),), frames=1, breaks=[])
    with pytest.raises(TypeError):
        torch.compiler.nested_compile_region(3)

"""Cycles of tensors, hooks, nodes and contexts: the garbage collector finds them."""

import gc
import weakref

import pytest

import minidynamo as torch
from minidynamo.autograd import Function
from minidynamo.autograd.graph import saved_tensors_hooks


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def leaf_in_its_hook():
    x = leaf(1.0)
    x.register_hook(lambda g: x)
    return x


def leaf_in_its_late_hook():
    x = leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda t: x)
    return x


def result_in_its_hook():
    y = leaf(1.0) * 2
    y.register_hook(lambda g: y)
    return y


def result_in_a_hook_of_its_node():
    y = leaf(1.0) * 2
    y.grad_fn.register_hook(lambda gi, go: y)
    y.grad_fn.register_prehook(lambda go: y)
    return y


def result_in_metadata():
    y = leaf(1.0) * 2
    y.grad_fn.metadata["y"] = y
    return y


def node_in_its_metadata():
    y = leaf(1.0) * 2
    node = y.grad_fn
    node.metadata["node"] = node
    node.metadata["witness"] = witness = Witness()
    return witness


def later_result_in_a_hook_of_an_earlier():
    y = leaf(1.0) * 2
    z = y.exp()
    y.register_hook(lambda g: z)
    return z


class Witness:
    pass


class Holder:
    def __init__(self, held):
        self.held = held

    def __call__(self, gradient):
        return None


class Keeping(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x * 2
        ctx.save_for_backward(ctx.y)
        return ctx.y

    @staticmethod
    def backward(ctx, g):
        return g


def result_in_its_context():
    return Keeping.apply(leaf(1.0))


class Passing(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g


def later_result_in_a_context():
    y = Passing.apply(leaf(1.0))
    z = y.exp()
    y.grad_fn.z = z
    return z


def node_in_its_context():
    y = Passing.apply(leaf(1.0))
    y.grad_fn.node = y.grad_fn
    y.grad_fn.witness = witness = Witness()
    return witness


def saved_by_hooks():
    x = leaf(1.0)
    with saved_tensors_hooks(lambda t: x, lambda t: t):
        x.later = x.exp()
    return x


def gradient_that_knows_its_leaf():
    x = leaf(1.0)
    (x * 2).sum().backward()
    x.grad.leaf = x
    return x


CASES = [
    leaf_in_its_hook,
    leaf_in_its_late_hook,
    result_in_its_hook,
    result_in_a_hook_of_its_node,
    result_in_metadata,
    node_in_its_metadata,
    later_result_in_a_hook_of_an_earlier,
    result_in_its_context,
    later_result_in_a_context,
    node_in_its_context,
    saved_by_hooks,
    gradient_that_knows_its_leaf,
]


@pytest.mark.parametrize("make", CASES, ids=lambda f: f.__name__)
def test_cycles_are_found(make):
    gone = weakref.ref(make())
    gc.collect()
    assert gone() is None


def test_what_is_in_use_stays():
    seen = []
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: seen.append(("y", g.tolist())))
    y.grad_fn.metadata["a"] = Witness()
    z = Keeping.apply(y)
    z.grad_fn.mine = Witness()
    witnesses = [weakref.ref(y.grad_fn.metadata["a"]), weakref.ref(z.grad_fn.mine)]
    total = z.sum()
    del y, z
    for _ in range(3):
        gc.collect()
    assert all(w() is not None for w in witnesses)
    total.backward()
    assert seen == [("y", [1.0, 1.0])] and x.grad.tolist() == [2.0, 2.0]
    del total
    gc.collect()
    assert all(w() is None for w in witnesses)


def test_a_long_chain_with_hooks_is_walked():
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y + 1
    x.register_hook(lambda g: g)
    y.register_hook(Holder(y))
    gone = weakref.ref(y)
    gc.collect()
    assert gone() is not None
    del y
    gc.collect()
    assert gone() is None


def test_a_long_chain_of_functions_is_let_go():
    y = leaf(1.0)
    for _ in range(5_000):
        y = Keeping.apply(y)
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None

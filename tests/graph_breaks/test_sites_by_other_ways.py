"""Raise sites that share a code with others, each reached by a program of its own: the code, and what plain Python
gives where graphs may break."""

import itertools
import random
import unittest

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import breaks_with, codes
from minidynamo import nn
from minidynamo._dynamo import config
from minidynamo._dynamo.exc import UncapturedHigherOrderOpError, Unsupported


def one():
    return (torch.ones(2),)


def of_itself(x):
    rows = [x]
    rows.append(rows)
    try:
        return torch.stack(rows)
    except (RuntimeError, RecursionError, TypeError):
        return x + 1


def refused(call):
    """What raises TypeError eagerly, told by its kind."""

    def f(x):
        try:
            return call(x)
        except (TypeError, RuntimeError):
            return x + 1

    return f


class AsksItsSubclasses:
    def __init_subclass__(cls):
        pass


class Meta(type):
    pass


class WithMeta(metaclass=Meta):
    pass


def with_slots(x):
    class Made:
        __slots__ = ("a",)

    return x + 1, Made.__slots__


def with_finalizer(x):
    class Made:
        def __del__(self):
            pass

    return x + 1, Made.__name__


def with_number_for_hash(x):
    class Made:
        __hash__ = 5

    return x + 1, Made.__name__


def with_match_args(x):
    class Made:
        __match_args__ = (x,)

    return x + 1, Made.__name__


def below(base):
    def f(x):
        class Made(base):
            pass

        return x + 1, Made.__name__

    return f


class LooksUpItself(list):
    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


class PinnedThatLooksUpItself(nn.Module):
    torchdynamo_force_dynamic = False

    def __getattribute__(self, name):
        return super().__getattribute__(name)

    def forward(self, x):
        return x + ("training" in self.__dict__)


class PinnedThatCounts(nn.Module):
    torchdynamo_force_dynamic = False

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + self.calls


class LooksAtItsGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        torch.Tensor.is_pinned(gradient)
        return gradient * 2


looks_up_itself, pinned = LooksUpItself([1]), PinnedThatLooksUpItself()


def watched_by_the_class(x):
    return x + 1, type(unittest.TestCase.assertWarns(unittest.TestCase(), UserWarning)).__name__


class Disabled(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.compiler.disable(nn.Identity())

    def forward(self, x):
        return self.inner(x) + 1


disabled_module, event = Disabled(), torch.Event(enable_timing=True)


def elapsed(x):
    try:
        return x + 1, event.elapsed_time(event)
    except RuntimeError:
        return x + 2


def hook_in_a_checkpoint(x):
    def body(v):
        v.register_hook(lambda g: g)
        return v + 1

    return torch.utils.checkpoint.checkpoint(body, x, use_reentrant=False)


def requires_grad():
    return (torch.ones(2, requires_grad=True),)


def in_its_own_list(x):
    rows = []
    chained = itertools.chain(rows, [x])
    rows.append(chained)
    return x + 1, type(chained).__name__, type(rows[0]).__name__, chained


WAYS = {
    "identity of an array": ("GB0048", lambda a: (a + 1, id(a) > 0), lambda: (np.ones(2),)),
    "generator": ("GB0055", lambda x: torch.bernoulli(x, generator=torch.default_generator), one),
    "list that is in itself": ("GB0055", of_itself, one),
    "bytes": ("GB0055", refused(lambda x: torch.sum(x, b"a")), one),
    "overload, text": ("GB0049", refused(lambda x: torch.ops.aten.add.Tensor(x, "a")), one),
    "overload, number": ("GB0049", refused(lambda x: torch.ops.aten.relu.default(3)), one),
    "slots": ("GB0075", with_slots, one),
    "finalizer": ("GB0075", with_finalizer, one),
    "special attribute": ("GB0075", with_number_for_hash, one),
    "base with a hook": ("GB0075", below(AsksItsSubclasses), one),
    "base with a metaclass": ("GB0075", below(WithMeta), one),
    "base of tensors": ("GB0075", below(torch.Tensor), one),
    "base of classes": ("GB0075", below(type), one),
    "base of modules": ("GB0075", below(nn.Module), one),
    "what patterns look at": ("GB0075", with_match_args, one),
    "text of a list that looks up itself": ("GB0184", lambda x: (x + 1, str(looks_up_itself)), one),
    "dictionary of a pinned module": ("GB0032", lambda x: pinned(x), one),
    "pinned module that changes": ("GB0052", lambda m, x: m(x), lambda: (PinnedThatCounts(), torch.ones(2))),
    "whole numbers as a list": ("GB0033", lambda x: (x + 1, torch.arange(3).tolist()), one),
    "answer of the library's own": ("GB0208", lambda x: (x + 1, x.dense_dim()), one),
    "drawn key": ("GB0178", lambda x: (x + 1, {random.randint(1, 1): 2}), one),
    "drawn bound": ("GB0178", lambda x: (x + 1, slice(random.randint(1, 1)).indices(3)), one),
    "asked of a gradient": ("GB0068", LooksAtItsGradient.apply, requires_grad),
    "disabled module": ("GB0148", disabled_module, one),
    "method of an event": ("GB0146", elapsed, one),
    "hook in a checkpoint": ("GB0067", hook_in_a_checkpoint, requires_grad),
    "equal": ("GB0033", lambda x: (x + 1, x.equal(x)), one),
    "equal of the class": ("GB0033", lambda x: (x + 1, torch.Tensor.equal(x, x)), one),
    "allclose of the class": ("GB0033", lambda x: (x + 1, torch.Tensor.allclose(x, x)), one),
    "is_nonzero": ("GB0033", lambda x: (x + 1, torch.is_nonzero(x[0])), one),
    "is_nonzero of an element": ("GB0124", lambda x: (x + 1, x[0].is_nonzero()), one),
    "is_same_size": ("GB0208", lambda x: (x + 1, torch.is_same_size(x, x)), one),
}


@pytest.mark.parametrize("way", WAYS)
def test_way(way):
    code, function, arguments = WAYS[way]
    breaks_with(code, function, arguments)


@pytest.mark.parametrize("way", [way for way, (code, *_) in WAYS.items() if code == "GB0075"])
def test_class_statement_that_is_traced(way):
    """As far as the statement itself: the class is of a kind that others have a say in."""
    _, function, arguments = WAYS[way]
    with config.patch(trace_more=True):
        breaks_with("GB0075", function, arguments)


def test_assertions_that_watch_warnings():
    with config.patch(enable_trace_unittest=True):
        breaks_with("GB0060", watched_by_the_class)


captured_leaf = torch.ones(2, requires_grad=True)


def test_a_hook_in_a_region_on_a_captured_tensor():
    def inside(x):
        captured_leaf.register_hook(lambda g: g)
        return x + captured_leaf

    def f(x):
        return torch.cond(x.sum() > 0, inside, lambda x: x + 1, (x,))

    torch._dynamo.reset()
    with pytest.raises(UncapturedHigherOrderOpError):
        torch.compile(f)(*one())
    assert "GB0067" in codes()


def over_a_dict_that_grew(x):
    held = {"a": 1}
    left = iter(held)
    held["b"] = 2
    return x + 1, left


def over_a_list_from_outside(x, rows):
    left = iter(rows)
    next(left)
    next(left)
    rows.clear()
    return x + 1, left


LEFT_OVER = {
    "iterator over a dict": (lambda x: (x + 1, iter({"a": 1})), one),
    "iterator over items": (lambda x: (x + 1, iter({"a": 1}.items())), one),
    "chain in its own list": (in_its_own_list, one),
    "list that shrank": (over_a_list_from_outside, lambda: (torch.ones(2), [1, 2, 3])),
}


@pytest.mark.parametrize("name", LEFT_OVER)
def test_iterators_that_are_results(name):
    """Iterators compare by identity: what is left in them is compared."""
    function, arguments = LEFT_OVER[name]
    torch._dynamo.reset()
    with pytest.raises(Unsupported, match="GB0092"):
        torch.compile(function, fullgraph=True)(*arguments())
    torch._dynamo.reset()
    own, plain = torch.compile(function)(*arguments())[-1], function(*arguments())[-1]
    assert type(own) is type(plain) and len(list(own)) == len(list(plain))


def test_an_iterator_over_a_dict_that_grew():
    torch._dynamo.reset()
    with config.patch(trace_more=True), pytest.raises(Unsupported, match="GB0092"):
        torch.compile(over_a_dict_that_grew, fullgraph=True)(*one())
    torch._dynamo.reset()
    with config.patch(trace_more=True), pytest.raises(RuntimeError, match="changed size"):
        next(torch.compile(over_a_dict_that_grew)(*one())[1])


def hook_kept_in_a_global(x):
    global kept_handle
    y = x * 2
    kept_handle = y.register_hook(lambda g: g * 3)
    return y


def test_a_handle_is_kept_in_a_global():
    torch._dynamo.reset()
    with pytest.raises(Unsupported, match="GB0100"):
        torch.compile(hook_kept_in_a_global, fullgraph=True)(*requires_grad())
    torch._dynamo.reset()
    (x,) = requires_grad()
    torch.compile(hook_kept_in_a_global)(x).sum().backward()
    assert x.grad.tolist() == [6, 6]

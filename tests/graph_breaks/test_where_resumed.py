"""Where a frame goes on after a break: breaks counted as resumed, and graphs, as torch 2.13 has them."""

import collections
import functools
import re
import sys

import numpy as np
import pytest

import minidynamo as torch


def counted(function, *args):
    """What it returns, the resumed breaks by code, the number of graphs."""
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    result = torch.compile(function, backend=backend)(*args)
    breaks = torch._dynamo.utils.counters["graph_break"]
    codes = {re.search(r"gb/(gb\d{4})", text)[1].upper(): n for text, n in breaks.items()}
    return result, codes, len(graphs)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def classes_of_function(x):
    x = x + 1
    return x + len(Doubled.mro())


def flags_set_in_a_loop_of_the_callee(x):
    def freeze(tensors):
        for t in tensors.values():
            t.requires_grad_(requires_grad=True)

    x = x * 2
    freeze({"a": BASE})
    return x * BASE.detach()


BASE = torch.ones(2)


def converted(x):
    x = x + 1
    return x * bool(x.sum() > 1)


def asked_by_name(x):
    return x * x.sum().__int__(), x.any().__bool__()


class Buffered(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.ones(2))

    def widen(self):
        self.table.data = self.table.double()

    def forward(self, x):
        self.widen()
        return x + self.table


@pytest.mark.parametrize(
    ("function", "codes", "graphs"),
    [
        (classes_of_function, {"GB0140": 1}, 2),
        (flags_set_in_a_loop_of_the_callee, {"GB0125": 1}, 2),
        (converted, {"GB0124": 1}, 2),
        (asked_by_name, {"GB0124": 1, "GB0033": 1}, 2),
        (Buffered(), {"GB0220": 2}, 2),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_resumed(function, codes, graphs):
    BASE.requires_grad_(False)
    assert counted(function, torch.ones(2))[1:] == (codes, graphs)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="later ones have no function for a comprehension")
def test_comprehension_with_a_break_is_a_call_that_breaks():
    result, codes, _ = counted(lambda x: [v.item() for v in x + 1], torch.ones(2))
    assert (result, codes) == ([2.0, 2.0], {"GB0124": 1})


F = torch.nn.functional
CODES = {
    "no tensor for linear": ("GB0112", lambda x: F.linear(x, "w")),
    "no tensor for attention": ("GB0112", lambda x: F.scaled_dot_product_attention(x, 1, 2)),
}


@pytest.mark.parametrize("way", CODES)
def test_arguments(way):
    code, function = CODES[way]
    with pytest.raises(TypeError):
        function(torch.ones(2, 2))
    with pytest.raises(torch._dynamo.exc.Unsupported) as refused:
        torch.compile(function, backend="eager", fullgraph=True)(torch.ones(2, 2))
    assert refused.value.gb_code == code


def test_attribute_of_an_array_is_deleted():
    def forget(a):
        del a.name
        return a

    with pytest.raises(torch._dynamo.exc.Unsupported) as refused:
        torch.compile(forget, backend="eager", fullgraph=True)(np.ones(2))
    assert refused.value.gb_code == "GB0158"


class Scaled(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value * 10)


class Named:
    def step(self, x):
        """One step."""
        return x


NAMED = Named()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + len(collections.defaultdict.fromkeys([1, 2, 1])),
        lambda x: x + Scaled.fromkeys(["a", "b"], 3)["b"],
        lambda x: functools.wraps(NAMED.step)(lambda y: y + 3)(x),
        lambda x: x + len(functools.wraps(NAMED.step, assigned=("__doc__", "none"))(lambda y: y).__doc__),
    ],
)
def test_whole(function):
    x = torch.ones(2)
    assert torch.compile(function, backend="eager", fullgraph=True)(x).tolist() == function(x).tolist()

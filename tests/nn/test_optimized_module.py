"""What compile(module) gives is a module: copies, pickles, hooks, lengths, attributes."""

import copy
import pickle

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

nn = torch.nn


class Scaled(nn.Module):
    limit = 5

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.k = 3

    def forward(self, x):
        return self.layer(x) * self.k


def test_copies_are_compiled_modules():
    m, x, counter = Scaled(), torch.ones(2, 3), CompileCounter()
    c = torch.compile(m, backend=counter)
    deep, shallow = copy.deepcopy(c), copy.copy(c)
    assert type(deep) is type(shallow) is type(c)
    assert deep._orig_mod is not m and deep.layer.weight is not m.layer.weight and shallow._orig_mod is m
    for count, module in enumerate((c, deep, shallow), start=1):
        assert torch.equal(module(x), m(x)) and torch.equal(module(x), m(x)) and counter.frame_count == count
    deep.k = 4
    assert m.k == 3 and not torch.equal(deep(x), m(x))
    strict = copy.deepcopy(torch.compile(Broken(), fullgraph=True))
    with pytest.raises(torch._dynamo.exc.Unsupported):
        strict(x)


class Broken(nn.Module):
    def forward(self, x):
        torch._dynamo.graph_break()
        return x


def test_pickles():
    m, x = Scaled(), torch.ones(2, 3)
    c = torch.compile(m, backend="eager", fullgraph=True)
    back = pickle.loads(pickle.dumps(c))
    assert type(back) is type(c) and back._orig_mod is not m and torch.equal(back(x), m(x))
    holder = nn.Sequential(c, nn.ReLU())
    assert torch.equal(pickle.loads(pickle.dumps(holder))(x), holder(x))


def test_hooks_of_its_own():
    m, x, seen = Scaled(), torch.ones(2, 3), []
    counter = CompileCounter()
    c, wanted = torch.compile(m, backend=counter), m(x)
    before = c.register_forward_pre_hook(lambda module, args: seen.append(module) or (args[0] * 2,))
    after = c.register_forward_hook(lambda module, args, out: seen.append(module) or out + 100)
    keywords = c.register_forward_hook(lambda module, args, kwargs, out: seen.append(kwargs), with_kwargs=True)
    assert not m._forward_hooks and not m._forward_pre_hooks
    assert torch.equal(c(x), m(x * 2) + 100) and seen == [c, c, {}]
    assert torch.equal(c.forward(x), wanted)  # no hooks there
    assert torch.equal(copy.deepcopy(c)(x), m(x * 2) + 100)
    for handle in (before, after, keywords):
        handle.remove()
    frames = counter.frame_count
    assert torch.equal(c(x), wanted) and counter.frame_count == frames and frames == 2
    with m.register_forward_hook(lambda module, args, out: out - 1):
        assert torch.equal(c(x), wanted - 1)


def test_hooks_are_seen_when_it_is_called_from_compiled_code():
    m, x = Scaled(), torch.ones(2, 3)
    c = torch.compile(m)
    outer = torch.compile(lambda x: c(x) + 1, fullgraph=True)
    assert torch.allclose(outer(x), m(x) + 1)
    with c.register_forward_hook(lambda module, args, out: out + 100):
        assert torch.allclose(outer(x), m(x) + 101)
    assert torch.allclose(outer(x), m(x) + 1)


def test_forward_is_replaced():
    m, x = Scaled(), torch.ones(2, 3)
    c, wanted = torch.compile(m), m(x)
    c.forward = lambda x: x + 1
    assert torch.equal(c(x), x + 1) and torch.equal(m(x), wanted) and "forward" not in vars(m)
    del c.forward
    assert torch.allclose(c(x), wanted)
    assert c._torchdynamo_orig_callable == m.forward


def test_length_and_truth():
    filled, empty = (torch.compile(nn.Sequential(*parts)) for parts in ([nn.ReLU(), nn.Tanh()], []))
    assert len(filled) == 2 and len(empty) == 0 and filled and not empty
    c = torch.compile(Scaled())
    assert c
    with pytest.raises(TypeError, match="has no len"):
        len(c)
    for ask in (iter, lambda m: m[0], lambda m: 1 in m):
        with pytest.raises(TypeError):
            ask(filled)
    named = torch.compile(nn.ModuleDict({"a": nn.ReLU()}))
    assert len(named) == 1 and list(named.keys()) == ["a"]


def test_attributes_are_those_of_the_module():
    m = Scaled()
    c = torch.compile(m)
    c.k, c.note, c.extra, c.part = 7, "n", nn.Parameter(torch.ones(1)), nn.ReLU()
    assert m.k == 7 and m.note == "n" and "extra" in m._parameters and "part" in m._modules
    del c.note, c.extra, c.part
    assert not any(hasattr(m, name) for name in ("note", "extra", "part"))
    c.limit = 9
    assert m.limit == 9 and Scaled.limit == 5
    for act in (lambda: c.missing, lambda: delattr(c, "missing")):
        with pytest.raises(AttributeError, match="'Scaled' object has no attribute 'missing'"):
            act()
    c.train = 1  # a name of the class stays with it
    assert c.train == 1 and m.train != 1
    del c.train
    assert set(dir(m)) <= set(dir(c)) and c.__class__ is type(c) and isinstance(c, nn.Module)
    assert not isinstance(c, Scaled)


def test_names_modes_and_text():
    m = Scaled()
    c = torch.compile(m)
    names = ["_orig_mod.layer.weight", "_orig_mod.layer.bias"]
    assert list(c.state_dict()) == names == [name for name, _ in c.named_parameters()]
    assert [name for name, _ in c.named_modules()] == ["", "_orig_mod", "_orig_mod.layer"]
    assert repr(c).startswith("OptimizedModule(\n  (_orig_mod): Scaled(\n")
    assert c.eval() is c and not m.training and not m.layer.training and c.train() is c and m.layer.training
    assert c.to(torch.float64) is c and m.layer.weight.dtype is torch.float64
    assert not c.load_state_dict(c.state_dict()).missing_keys
    with pytest.raises(RuntimeError):
        c.load_state_dict(m.state_dict())

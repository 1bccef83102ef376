"""Parameters and buffers that are of a subclass of Tensor: their class stays, eagerly, compiled and in optimizers."""

import copy
import pickle

import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo import nn


class Plain(torch.Tensor):
    pass


class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        result = super().__torch_function__(function, types, args, kwargs or {})
        if isinstance(result, cls):
            result.tag = "made by a handler"
        return result


class Layer(nn.Module):
    def __init__(self, cls):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(6.0).reshape(2, 3).as_subclass(cls))
        self.register_buffer("shift", torch.ones(3).as_subclass(cls))

    def forward(self, x):
        return x @ self.weight + self.shift


@pytest.mark.parametrize("cls", [Plain, Tagged])
def test_the_class_of_a_parameter_stays(cls):
    layer = Layer(cls)
    weight = layer.weight
    assert type(weight) is cls and isinstance(weight, nn.Parameter) and weight.requires_grad
    assert not isinstance(torch.ones(1).as_subclass(cls), nn.Parameter)
    assert [type(p) for p in layer.parameters()] == [cls]
    assert {name: type(t) for name, t in layer.state_dict().items()} == {"weight": cls, "shift": cls}
    assert type(layer.double().weight) is cls
    assert type(nn.Parameter(weight, requires_grad=False)) is cls
    assert type(layer(torch.ones(2, 2).double())) is cls


@pytest.mark.parametrize("cls", [Plain, Tagged])
def test_compiled_modules_of_them(cls):
    layer = Layer(cls)
    same(lambda x: layer(x), lambda: (torch.ones(2, 2),), frames=1, breaks=[])
    assert type(torch.compile(layer, fullgraph=True)(torch.ones(2, 2))) is cls


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_optimizers_step_them(optimizer):
    layer, ordinary = Layer(Tagged), Layer(torch.Tensor)
    for one in (layer, ordinary):
        stepper = optimizer(one.parameters(), lr=0.1)
        one(torch.ones(2, 2)).sum().backward()
        stepper.step()
    assert type(layer.weight) is Tagged
    assert torch.equal(layer.weight.as_subclass(torch.Tensor), ordinary.weight)


def test_copies_and_pickles():
    weight = Layer(Plain).weight
    loaded = pickle.loads(pickle.dumps(weight))
    assert type(loaded) is Plain and torch.equal(loaded, weight)
    assert type(copy.deepcopy(Layer(Plain)).weight) is Plain


def test_detach_has_to_keep_the_class():
    class Forgets(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            result = super().__torch_function__(function, types, args, kwargs or {})
            return result.as_subclass(torch.Tensor) if isinstance(result, cls) else result

    with pytest.raises(RuntimeError, match="Forgets"):
        nn.Parameter(torch.ones(2).as_subclass(Forgets))


def test_a_comprehension_of_a_frame_without_a_graph_is_no_frame_of_its_own():
    layer = Layer(Plain)

    def kinds():
        return [isinstance(p, nn.Parameter) for p in layer.parameters()]

    assert torch.compile(kinds, fullgraph=True)() == [True]

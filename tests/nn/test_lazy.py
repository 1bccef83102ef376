"""Modules whose sizes come with their first input; the places of torch.nn.modules."""

import copy
import importlib
import pickle

import pytest

import minidynamo as torch

nn = torch.nn


@pytest.mark.parametrize("compiled", [False, True])
def test_sizes_come_with_the_first_input(compiled):
    model = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2))
    assert repr(model[0]) == "LazyLinear(in_features=0, out_features=4, bias=True)"
    assert model[0].has_uninitialized_params() and repr(model[0].weight) == "<UninitializedParameter>"
    weights = list(model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    call = torch.compile(model) if compiled else model
    assert call(torch.ones(5, 3)).shape == (5, 2)
    call(torch.ones(5, 3)).sum().backward()
    assert [type(m).__name__ for m in model] == ["Linear", "ReLU", "Linear"] and not model[0]._forward_pre_hooks
    assert all(a is b for a, b in zip(weights, model.parameters())) and type(weights[0]) is nn.Parameter
    before = weights[3].detach().clone()
    optimizer.step()
    assert torch.equal(weights[3].detach(), before - 0.1 * weights[3].grad)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose", "BatchNorm", "InstanceNorm"])
def test_every_kind(kind, dims):
    settings = {} if kind.endswith("Norm") else {"out_channels": 4, "kernel_size": 3, "groups": 2}
    lazy = getattr(nn, f"Lazy{kind}{dims}d")(**settings)
    usual = {"affine": True, "track_running_stats": True} if kind.endswith("Norm") else settings
    sizes = {"num_features" if kind.endswith("Norm") else "in_channels": 6}
    wanted = getattr(nn, f"{kind}{dims}d")(**sizes, **usual)
    assert list(lazy.state_dict()) == list(wanted.state_dict())
    x = torch.randn(2, 6, *(4,) * dims)
    assert lazy(x).shape == wanted(x).shape and type(lazy) is type(wanted) and repr(lazy) == repr(wanted)
    lazy.load_state_dict(wanted.state_dict())
    assert torch.equal(lazy.eval()(x), wanted.eval()(x))


def test_a_state_dict_sets_sizes():
    lazy, full = nn.LazyLinear(3), nn.Linear(4, 3)
    lazy.load_state_dict(full.state_dict())
    assert not lazy.has_uninitialized_params() and torch.equal(lazy.weight, full.weight)
    x = torch.ones(1, 4)
    assert torch.equal(lazy(x), full(x)) and type(lazy) is nn.Linear and lazy.in_features == 4
    empty = nn.LazyLinear(3)
    assert str(nn.LazyLinear(3).load_state_dict(empty.state_dict())) == "<All keys matched successfully>"
    with pytest.raises(RuntimeError):
        full.load_state_dict(empty.state_dict())


def test_copies_and_dtypes():
    lazy = nn.LazyLinear(3)
    for made in (copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))):
        assert made.weight is not lazy.weight and made(torch.ones(1, 2)).shape == (1, 3)
    lazy.double()
    assert lazy(torch.ones(1, 2, dtype=torch.float64)).dtype == torch.float64


def test_what_has_no_shape_cannot_be_used():
    weight = nn.LazyLinear(3).weight
    with pytest.raises(RuntimeError):
        _ = weight.shape
    for use in (lambda: weight + 1, lambda: weight.numel(), lambda: torch.relu(weight)):
        with pytest.raises(ValueError):
            use()
    with pytest.raises(RuntimeError):
        nn.LazyConv1d(4, 3)(torch.ones(2, 2, 2, 2))
    with pytest.raises(ValueError):
        nn.LazyConv1d(4, 3, groups=2)(torch.ones(1, 3, 5))


def test_own_lazy_modules():
    class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.UninitializedParameter()
            self.seen = nn.UninitializedBuffer()

        def initialize_parameters(self, x):
            if self.has_uninitialized_params():
                self.factor.materialize(x.shape)
                self.seen.materialize((1,))
                nn.init.constant_(self.factor, 2.0)

        def forward(self, x):
            return x * self.factor

    made = Scale()
    assert made(torch.ones(2)).tolist() == [2.0, 2.0] and list(made.state_dict()) == ["factor", "seen"]


@pytest.mark.parametrize(
    "place, names",
    [
        ("activation", "MultiheadAttention ReLU Softmax2d"),
        ("adaptive", "AdaptiveLogSoftmaxWithLoss"),
        ("batchnorm", "BatchNorm2d SyncBatchNorm"),
        ("container", "ModuleDict Sequential"),
        ("conv", "Conv2d ConvTranspose3d LazyConv1d"),
        ("dropout", "Dropout AlphaDropout"),
        ("instancenorm", "InstanceNorm1d"),
        ("linear", "Linear Identity LazyLinear"),
        ("loss", "CTCLoss CrossEntropyLoss"),
        ("module", "Module"),
        ("normalization", "LayerNorm GroupNorm"),
        ("padding", "ZeroPad2d"),
        ("pooling", "MaxPool2d MaxUnpool1d"),
        ("rnn", "LSTM GRUCell"),
        ("sparse", "Embedding EmbeddingBag"),
        ("transformer", "Transformer TransformerEncoderLayer"),
        ("upsampling", "Upsample"),
    ],
)
def test_places_of_modules(place, names):
    module = importlib.import_module(f"minidynamo.nn.modules.{place}")
    assert getattr(nn.modules, place) is module
    for name in names.split():
        assert getattr(module, name) is getattr(nn, name) is getattr(nn.modules, name)


def test_numbers_for_each_dimension():
    pair = nn.modules.utils._pair
    assert pair(3) == (3, 3) and pair([1, 2]) == (1, 2)
    assert nn.modules.utils._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert isinstance(nn.L1Loss(), nn.modules.loss._Loss)
    assert isinstance(nn.BatchNorm1d(2), nn.modules.batchnorm._BatchNorm)
    assert isinstance(nn.MultiheadAttention(2, 1).out_proj, nn.modules.linear.NonDynamicallyQuantizableLinear)


def test_the_first_call_of_a_compiled_module_sets_its_sizes():
    m = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2))
    compiled = torch.compile(m, fullgraph=True)
    x = torch.ones(3, 5)
    first = compiled(x)
    assert type(m[0]) is nn.Linear and m[0].weight.shape == (4, 5) and torch.equal(compiled(x), first)

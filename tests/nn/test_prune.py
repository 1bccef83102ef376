"""torch.nn.utils.prune: which elements and slices go, what modules keep, and how they are put together again."""

import pytest

import minidynamo as torch
from minidynamo.nn.utils import prune


@pytest.fixture
def layer():
    made = torch.nn.Linear(4, 3)
    made.weight.data = torch.tensor([[0.1, -5.0, 0.3, 2.0], [4.0, -0.2, 1.0, 0.0], [-0.4, 3.0, -2.5, 0.6]])
    return made


def zeros(t):
    return (t == 0).sum().item()


def test_the_smallest_elements(layer):
    original = layer.weight.detach().clone()
    assert prune.l1_unstructured(layer, "weight", 4) is layer and prune.is_pruned(layer)
    assert sorted(dict(layer.named_parameters())) == ["bias", "weight_orig"]
    assert list(dict(layer.named_buffers())) == ["weight_mask"] and torch.equal(layer.weight_orig, original)
    assert layer.weight_mask.tolist() == [[0, 1, 0, 1], [1, 0, 1, 0], [1, 1, 1, 1]]
    assert torch.equal(layer.weight, original * layer.weight_mask)
    layer(torch.ones(2, 4)).sum().backward()
    assert torch.equal(layer.weight_orig.grad, 2 * layer.weight_mask)
    assert prune.remove(layer, "weight") is layer and not prune.is_pruned(layer)
    assert isinstance(layer.weight, torch.nn.Parameter) and torch.equal(
        layer.weight, original * (original.abs() > 0.35)
    )
    assert list(layer.state_dict()) == ["bias", "weight"] and not layer._forward_pre_hooks


def test_whole_slices(layer):
    prune.ln_structured(layer, "weight", amount=0.5, n=1, dim=1)
    assert layer.weight_mask.sum(0).tolist() == [0.0 if k in (2, 3) else 3.0 for k in range(4)]
    prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
    assert zeros(layer.weight_mask) == 8
    with pytest.raises(ValueError, match="multidimensional"):
        prune.random_structured(layer, "bias", 1, 0)
    assert "bias" in layer._parameters and not hasattr(layer, "bias_orig")


def test_one_rule_after_another(layer):
    prune.l1_unstructured(layer, "weight", 3)
    first = layer.weight_mask.clone()
    prune.l1_unstructured(layer, "weight", amount=2)
    (hook,) = layer._forward_pre_hooks.values()
    assert isinstance(hook, prune.PruningContainer) and len(hook) == 2
    assert [type(method).__name__ for method in hook] == ["L1Unstructured"] * 2
    assert zeros(layer.weight_mask) == 5 and zeros(layer.weight_mask * first) == 5
    with pytest.raises(ValueError, match="amount=13"):
        prune.l1_unstructured(layer, "weight", amount=13)
    assert len(hook) == 2 and next(iter(layer._forward_pre_hooks.values())) is hook
    prune.remove(layer, "weight")
    assert zeros(layer.weight) == 5


def test_at_random_and_by_a_mask(layer):
    prune.random_unstructured(layer, "weight", amount=0.25)
    assert zeros(layer.weight_mask) == 3
    prune.custom_from_mask(layer, "bias", torch.tensor([1, 0, 1]))
    assert layer.bias[1].item() == 0 and layer.bias_mask.tolist() == [1.0, 0.0, 1.0]
    other = prune.random_structured(torch.nn.Conv2d(2, 8, 3), "weight", amount=3, dim=0)
    assert sorted(other.weight_mask.flatten(1).mean(1).tolist()) == [0.0] * 3 + [1.0] * 5


def test_over_several_parameters(layer):
    second = torch.nn.Linear(3, 1)
    second.weight.data = torch.tensor([[0.05, 10.0, -0.15]])
    pairs = [(layer, "weight"), (second, "weight")]
    prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=5)
    assert second.weight_mask.tolist() == [[0.0, 1.0, 0.0]] and zeros(layer.weight_mask) == 3
    net = torch.nn.Sequential(layer, second)
    x = torch.ones(1, 4)
    assert list(net.state_dict()) == [
        "0.bias",
        "0.weight_orig",
        "0.weight_mask",
        "1.bias",
        "1.weight_orig",
        "1.weight_mask",
    ]
    assert torch.equal(torch.compile(net)(x), net(x))


def test_a_rule_of_ones_own(layer):
    class EveryOther(prune.BasePruningMethod):
        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    EveryOther.apply(layer, "bias")
    assert layer.bias_mask.tolist() == [0.0, 1.0, 0.0]
    assert prune.L1Unstructured(2).prune(torch.tensor([3.0, -1.0, 2.0])).tolist() == [3.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda m: prune.l1_unstructured(m, "weight", "much"), TypeError),
        (lambda m: prune.l1_unstructured(m, "weight", 1.5), ValueError),
        (lambda m: prune.l1_unstructured(m, "weight", -1), ValueError),
        (lambda m: prune.l1_unstructured(m, "weight", 13), ValueError),
        (lambda m: prune.remove(m, "weight"), ValueError),
        (lambda m: prune.custom_from_mask(m, "weight", torch.ones(2)), AssertionError),
        (lambda m: prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=1), TypeError),
    ],
)
def test_what_cannot_be_pruned_stays_as_it_is(layer, call, error):
    weight = layer.weight
    with pytest.raises(error):
        call(layer)
    assert layer.weight is weight and sorted(dict(layer.named_parameters())) == ["bias", "weight"]

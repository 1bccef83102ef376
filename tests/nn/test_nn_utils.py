"""nn.utils: clipped gradients, parameters as a vector, norms of weights, parametrizations, fused normalisations."""

import copy
import math
import pickle

import pytest

import minidynamo as torch

nn = torch.nn
utils = nn.utils
P = utils.parametrize


def close(a, b, within=1e-6):
    return a.shape == b.shape and (a - b).abs().max().item() <= within


def with_grads(*grads):
    made = []
    for grad in grads:
        made.append(nn.Parameter(torch.zeros(len(grad)) if grad is not None else torch.zeros(1)))
        made[-1].grad = None if grad is None else torch.tensor(grad)
    return made


# --- gradients


@pytest.mark.parametrize("order, norm", [(2.0, 13.0), (1.0, 19.0), (math.inf, 12.0), ("inf", 12.0)])
def test_clip_grad_norm(order, norm):
    parameters = with_grads([3.0, -4.0], None, [12.0])
    assert utils.get_total_norm([p.grad for p in parameters if p.grad is not None], order).item() == pytest.approx(norm)
    total = utils.clip_grad_norm_(iter(parameters), 1.0, order)
    assert total.item() == pytest.approx(norm)
    assert close(parameters[0].grad, torch.tensor([3.0, -4.0]) / (norm + 1e-6))
    assert close(parameters[2].grad, torch.tensor([12.0]) / (norm + 1e-6))


def test_small_gradients_stay():
    parameters = with_grads([3.0, -4.0])
    before = parameters[0].grad
    assert utils.clip_grad_norm_(parameters[0], 6.0).item() == 5
    assert parameters[0].grad is before and before.tolist() == [3, -4]
    assert utils.clip_grad_norm_([], 1.0).item() == 0 and utils.get_total_norm([]).item() == 0
    utils.clip_grads_with_norm_(parameters, 1.0, torch.tensor(10.0))
    assert close(before, torch.tensor([0.3, -0.4]))


def test_norms_that_are_not_finite():
    parameters = with_grads([1.0, math.nan])
    with pytest.raises(RuntimeError):
        utils.clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)
    assert math.isnan(utils.clip_grad_norm_(parameters, 1.0).item())
    with pytest.warns(UserWarning):
        utils.clip_grad_norm_((p for p in ()), 1.0)
    with pytest.warns(FutureWarning):
        utils.clip_grad_norm(with_grads([1.0]), 1.0)


def test_clip_grad_value():
    parameters = with_grads([3.0, -4.0, 0.5], None)
    utils.clip_grad_value_(parameters, 1)
    assert parameters[0].grad.tolist() == [1, -1, 0.5] and parameters[1].grad is None


def test_parameters_as_a_vector():
    layer = nn.Linear(2, 3)
    weight = layer.weight
    flat = utils.parameters_to_vector(layer.parameters())
    assert flat.tolist() == layer.weight.flatten().tolist() + layer.bias.tolist() and flat.requires_grad
    flat.sum().backward()
    assert layer.bias.grad.tolist() == [1, 1, 1]
    utils.vector_to_parameters(torch.arange(9.0), layer.parameters())
    assert layer.weight is weight and weight.tolist() == [[0, 1], [2, 3], [4, 5]] and layer.bias.tolist() == [6, 7, 8]
    with pytest.raises(TypeError):
        utils.vector_to_parameters([1.0], layer.parameters())


# --- norms of weights


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("dim, shape", [(0, (3, 1)), (1, (1, 2)), (-1, ()), (None, ())])
def test_weight_norm(dim, shape):
    layer, x = nn.Linear(2, 3), torch.randn(4, 2)
    expected = layer(x)
    assert utils.weight_norm(layer, dim=dim) is layer
    assert list(layer.state_dict()) == ["bias", "weight_g", "weight_v"] and layer.weight_g.shape == shape
    assert close(layer(x), expected)
    layer(x).sum().backward()
    # The length's gradient is the weight's, in its direction; the direction's is orthogonal to it.
    assert (layer.weight_v.grad * layer.weight_v).sum().abs().item() < 1e-5 and layer.weight_g.grad.shape == shape
    with torch.no_grad():
        layer.weight_g.mul_(2)
    assert close(layer(x) - layer.bias, 2 * (expected - layer.bias), 1e-5)
    with pytest.raises(RuntimeError):
        utils.weight_norm(layer)
    utils.remove_weight_norm(layer)
    assert isinstance(layer.weight, nn.Parameter) and close(layer(x) - layer.bias, 2 * (expected - layer.bias), 1e-5)
    with pytest.raises(ValueError):
        utils.remove_weight_norm(layer)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_weight_norm_as_parametrization():
    layer, old, x = nn.Linear(2, 3), nn.Linear(2, 3), torch.randn(4, 2)
    old.load_state_dict(layer.state_dict())
    utils.weight_norm(old)
    utils.parametrizations.weight_norm(layer)
    assert list(layer.state_dict()) == [
        "bias",
        "parametrizations.weight.original0",
        "parametrizations.weight.original1",
    ]
    assert close(layer(x), old(x))
    (layer(x) ** 2).sum().backward()
    (old(x) ** 2).sum().backward()
    assert close(layer.parametrizations.weight.original0.grad, old.weight_g.grad, 1e-5)
    assert close(layer.parametrizations.weight.original1.grad, old.weight_v.grad, 1e-5)


@pytest.mark.parametrize("way", [utils.spectral_norm, utils.parametrizations.spectral_norm])
def test_spectral_norm(way):
    torch.manual_seed(0)
    layer = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[3.0, 0.0], [0.0, -1.0]]))
    way(layer)
    x = torch.eye(2)
    for _ in range(30):
        layer(x)
    assert close(layer(x), torch.tensor([[1.0, 0.0], [0.0, -1 / 3]]), 1e-5)
    layer.eval()
    assert torch.equal(layer(x), layer(x))
    layer(x)[1, 1].backward()
    (original,) = layer.parameters()
    # w11 / sigma with sigma = w00 here: d/dw11 = 1 / 3, d/dw00 = 1 / 9.
    assert close(original.grad, torch.tensor([[1 / 9, 0.0], [0.0, 1 / 3]]), 1e-4)


def test_spectral_norm_names_and_removal():
    layer = utils.spectral_norm(nn.Linear(2, 3))
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert layer.weight_u.shape == (3,) and layer.weight_v.shape == (2,)
    with pytest.raises(RuntimeError):
        utils.spectral_norm(layer)
    utils.remove_spectral_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"] and isinstance(layer.weight, nn.Parameter)
    with pytest.raises(ValueError):
        utils.remove_spectral_norm(layer)
    with pytest.raises(ValueError):
        utils.spectral_norm(nn.Linear(2, 3), n_power_iterations=0)
    assert utils.spectral_norm(nn.ConvTranspose1d(2, 5, 3)).weight_u.shape == (5,)
    layer = utils.parametrizations.spectral_norm(nn.Conv2d(2, 3, 3))
    assert layer.parametrizations.weight[0]._v.shape == (18,)
    with pytest.raises(IndexError):
        utils.parametrizations.spectral_norm(nn.Linear(2, 3), dim=2)
    with pytest.raises(ValueError):
        utils.parametrizations.spectral_norm(nn.Linear(2, 3), "nothing")


# --- parametrizations


class Double(nn.Module):
    def forward(self, x):
        return 2 * x


class Halved(Double):
    def right_inverse(self, x):
        return x / 2


class Sum(nn.Module):
    def forward(self, a, b):
        return a + b

    def right_inverse(self, x):
        return x / 4, x * 3 / 4


class First(nn.Module):
    def forward(self, x):
        return x[:1]


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)


def test_parametrization_is_computed_each_time():
    layer = nn.Linear(3, 3)
    original = layer.weight
    assert P.register_parametrization(layer, "weight", Symmetric()) is layer
    assert torch.equal(layer.weight, layer.weight.t()) and layer.weight is not layer.weight
    assert layer.parametrizations.weight.original is original and isinstance(layer, nn.Linear)
    assert [name for name, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    assert type(layer).__name__ == "ParametrizedLinear" and P.type_before_parametrizations(layer) is nn.Linear
    assert P.is_parametrized(layer) and P.is_parametrized(layer, "weight") and not P.is_parametrized(layer, "bias")
    layer(torch.ones(3)).sum().backward()
    assert original.grad.tolist() == [[1, 2, 2], [0, 1, 2], [0, 0, 1]]
    with P.cached():
        assert layer.weight is layer.weight
        with P.cached():
            pass
        assert layer.weight is layer.weight
    assert not P._cache and layer.weight is not layer.weight


def test_parametrizations_in_a_row_and_assignment():
    layer = nn.Linear(2, 2)
    P.register_parametrization(layer, "weight", Halved())
    original = layer.parametrizations.weight.original
    before = layer.weight
    P.register_parametrization(layer, "weight", Halved())
    assert torch.equal(layer.weight, 2 * before)
    layer.weight = torch.ones(2, 2)
    assert layer.weight.tolist() == [[1, 1], [1, 1]] and original.tolist() == [[0.25, 0.25], [0.25, 0.25]]
    P.remove_parametrizations(layer, "weight")
    assert layer.weight is original and original.tolist() == [[1, 1], [1, 1]] and type(layer) is nn.Linear
    assert not hasattr(layer, "parametrizations")
    P.register_parametrization(layer, "weight", Double())
    with pytest.raises(RuntimeError):
        layer.weight = torch.ones(2, 2)
    P.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert layer.weight is original and original.tolist() == [[1, 1], [1, 1]]


def test_parametrization_of_several_tensors():
    layer = nn.Linear(2, 2)
    before = layer.weight.detach().clone()
    P.register_parametrization(layer, "weight", Sum())
    assert close(layer.weight, before) and layer.parametrizations.weight.ntensors == 2
    with pytest.raises(ValueError):
        P.remove_parametrizations(layer, "weight", leave_parametrized=False)
    P.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.is_leaf and close(layer.weight, before)


def test_parametrized_buffer():
    layer = nn.BatchNorm1d(2)
    P.register_parametrization(layer, "running_var", Double())
    assert layer.running_var.tolist() == [2, 2] and "parametrizations.running_var.original" in layer.state_dict()
    P.remove_parametrizations(layer, "running_var")
    assert layer.running_var.tolist() == [2, 2] and "running_var" in layer._buffers


def test_copies_and_pickles_of_parametrized_modules():
    layer = P.register_parametrization(nn.Linear(2, 2), "weight", Double())
    replica = copy.deepcopy(layer)
    assert torch.equal(replica.weight, layer.weight) and type(replica).__name__ == "ParametrizedLinear"
    P.remove_parametrizations(replica, "weight")
    assert type(replica) is nn.Linear and P.is_parametrized(layer) and torch.equal(replica.weight, layer.weight)
    with pytest.raises(RuntimeError):
        pickle.dumps(layer)
    other = P.transfer_parametrizations_and_params(layer, nn.Linear(2, 2))
    assert torch.equal(other.weight, layer.weight)
    other = P.register_parametrization(nn.Linear(2, 2), "weight", Double())
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other.weight, layer.weight)


def test_parametrizations_that_do_not_fit():
    for name, module in (("nothing", Double()), ("weight", First())):
        layer = nn.Linear(2, 2)
        with pytest.raises(ValueError):
            P.register_parametrization(layer, name, module)
        assert type(layer) is nn.Linear and "weight" in layer._parameters
    assert P.register_parametrization(layer, "weight", First(), unsafe=True).weight.shape == (1, 2)
    with pytest.raises(ValueError):
        P.register_parametrization(P.register_parametrization(nn.Linear(2, 2), "weight", Double()), "weight", First())
    with pytest.raises(ValueError):
        P.remove_parametrizations(nn.Linear(2, 2), "weight")
    with pytest.raises(ValueError):
        P.ParametrizationList([], torch.ones(2))


# --- fused normalisations


def trained(bn):
    with torch.no_grad():
        for tensor in (bn.weight, bn.bias, bn.running_mean, bn.running_var):
            tensor.uniform_(0.5, 2)
    return bn.eval()


@pytest.mark.parametrize("bias", [True, False])
def test_fused(bias):
    torch.manual_seed(0)
    layer, bn = nn.Conv2d(2, 3, 3, bias=bias).eval(), trained(nn.BatchNorm2d(3))
    x = torch.randn(2, 2, 5, 5)
    fused = utils.fuse_conv_bn_eval(layer, bn)
    assert fused is not layer and close(fused(x), bn(layer(x)), 1e-5)
    layer, bn = nn.ConvTranspose2d(2, 3, 3, bias=bias).eval(), trained(nn.BatchNorm2d(3))
    assert close(utils.fuse_conv_bn_eval(layer, bn, transpose=True)(x), bn(layer(x)), 1e-5)
    layer, bn = nn.Linear(2, 3, bias=bias).eval(), trained(nn.BatchNorm1d(3))
    x = torch.randn(4, 2)
    assert close(utils.fuse_linear_bn_eval(layer, bn)(x), bn(layer(x)), 1e-5)
    with pytest.raises(AssertionError):
        utils.fuse_linear_bn_eval(layer.train(), bn)


# --- other tensors in the places of a module's own


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.second = nn.Linear(2, 2, bias=False)
        self.second.weight = self.first.weight
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x, scale=1.0):
        return self.norm(self.second(self.first(x))) * scale


@pytest.mark.parametrize("compiled", [False, True])
def test_functional_call(compiled):
    model, x = Tied(), torch.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])
    own = {name: p.detach().clone() for name, p in model.named_parameters()}
    weight = torch.tensor([[1.0, 0.5], [0.0, 2.0]], requires_grad=True)

    def call(given):
        return torch.func.functional_call(model, given, (x,), {"scale": 2.0}).pow(3).sum()

    def wanted(weight):
        return (nn.functional.batch_norm(x @ weight.T @ weight.T, None, None, training=True) * 2.0).pow(3).sum()

    (torch.compile(call) if compiled else call)({"first.weight": weight, "unknown": x}).backward()
    (expected,) = torch.autograd.grad(wanted(weight), weight)
    assert torch.allclose(weight.grad, expected, rtol=1e-4, atol=1e-4) and model.first.weight.grad is None
    assert all(torch.equal(p, own[name]) for name, p in model.named_parameters())


def test_functional_call_writes_to_the_buffers_it_is_given():
    model, x = Tied(), torch.ones(3, 2)
    parameters, buffers = dict(model.named_parameters()), {k: b.clone() for k, b in model.named_buffers()}
    torch.func.functional_call(model, (parameters, buffers), x)
    assert buffers["norm.num_batches_tracked"] == 1 and model.norm.num_batches_tracked == 0
    with pytest.raises(RuntimeError, match="strict"):
        torch.func.functional_call(model, parameters, x, strict=True)
    with pytest.raises(ValueError, match="more than one"):
        torch.func.functional_call(model, (parameters, parameters), x)


def test_stack_module_state():
    parameters, buffers = torch.func.stack_module_state([Tied(), Tied(), Tied()])
    assert parameters["norm.weight"].shape == (3, 2) and parameters["norm.weight"].requires_grad
    assert buffers["norm.num_batches_tracked"].tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="classes"):
        torch.func.stack_module_state([Tied(), nn.Linear(2, 2)])

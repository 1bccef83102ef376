"""Instance normalization, local response normalization and synchronized batch normalization."""

import numpy as np
import pytest

import minidynamo as torch

F, nn = torch.nn.functional, torch.nn
rng = np.random.default_rng(0)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_instance_norm(dims, compiled):
    values = rng.normal(size=(3, 4, *(2, 3, 4)[:dims]))
    axes = tuple(range(2, values.ndim))
    made = getattr(nn, f"InstanceNorm{dims}d")(4, affine=True, track_running_stats=True).double()
    torch.nn.init.uniform_(made.weight)
    call = torch.compile(made) if compiled else made
    found = call(torch.tensor(values))
    mean, var = values.mean(axes, keepdims=True), values.var(axes, keepdims=True)
    weight = made.weight.detach().numpy().reshape(-1, *[1] * dims)
    np.testing.assert_allclose(found.detach().numpy(), (values - mean) / np.sqrt(var + 1e-5) * weight)
    count = np.prod(values.shape[2:])
    np.testing.assert_allclose(made.running_mean.numpy(), 0.1 * mean.mean(0).ravel())
    np.testing.assert_allclose(made.running_var.numpy(), 0.9 + 0.1 * var.mean(0).ravel() * count / (count - 1))
    made.eval()
    shift, scale = made.running_mean.numpy(), made.running_var.numpy()
    shape = (-1, *[1] * dims)
    wanted = (values - shift.reshape(shape)) / np.sqrt(scale.reshape(shape) + 1e-5) * weight
    np.testing.assert_allclose(call(torch.tensor(values)).detach().numpy(), wanted)
    assert torch.allclose(made(torch.tensor(values[0])), made(torch.tensor(values))[0])


def test_instance_norm_keeps_no_values_unless_told():
    made = nn.InstanceNorm2d(3)
    assert list(made.state_dict()) == [] and made.weight is made.running_mean is None
    x = torch.randn(2, 3, 4, 4)
    assert torch.equal(made(x), made.eval()(x))
    x = torch.tensor(rng.normal(size=(2, 2, 3)), requires_grad=True)
    assert torch.autograd.gradcheck(F.instance_norm, (x,))
    for call, kind in (
        (lambda: made(torch.ones(2, 2)), ValueError),
        (lambda: made(torch.ones(2, 3, 1, 1)), ValueError),
        (lambda: nn.InstanceNorm1d(3, affine=True)(torch.ones(2, 4, 5)), ValueError),
        (lambda: F.instance_norm(torch.ones(2, 3, 4), use_input_stats=False), RuntimeError),
        (lambda: made.load_state_dict({"running_mean": torch.ones(3), "running_var": torch.ones(3)}), RuntimeError),
    ):
        with pytest.raises(kind):
            call()


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("shape", [(2, 6, 3), (2, 6, 3, 4), (1, 6, 2, 2, 2)])
def test_local_response_norm(shape, size):
    values = rng.normal(size=shape)
    wanted = np.empty_like(values)
    for c in range(6):
        low, high = max(c - size // 2, 0), c + (size - 1) // 2 + 1
        wanted[:, c] = values[:, c] / (2 + 0.5 * (values[:, low:high] ** 2).sum(1) / size) ** 0.6
    made = nn.LocalResponseNorm(size, alpha=0.5, beta=0.6, k=2.0)
    np.testing.assert_allclose(torch.compile(made)(torch.tensor(values)).numpy(), wanted)
    np.testing.assert_allclose(made(torch.tensor(values)).numpy(), wanted)
    with pytest.raises(ValueError):
        made(torch.ones(2, 3))


def test_batch_norm_of_one_process():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Sequential(nn.BatchNorm3d(2)))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert [type(m).__name__ for m in converted.modules()][1:] == ["SyncBatchNorm", "Sequential", "SyncBatchNorm"]
    x = torch.randn(5, 3)
    assert torch.equal(converted[0](x), nn.BatchNorm1d(3)(x))
    assert nn.BatchNorm3d(2)(torch.randn(2, 2, 3, 3, 3)).shape == (2, 2, 3, 3, 3)
    for wrong in (lambda: nn.SyncBatchNorm(3)(torch.ones(3)), lambda: nn.BatchNorm3d(2)(torch.ones(2, 2, 3))):
        with pytest.raises(ValueError):
            wrong()


def test_cosine_similarity_and_pdist():
    a, b = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    wanted = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    np.testing.assert_allclose(F.cosine_similarity(torch.tensor(a), torch.tensor(b)).numpy(), wanted)
    pairs = [np.abs(a[i] - a[j]).sum() for i in range(4) for j in range(i + 1, 4)]
    np.testing.assert_allclose(F.pdist(torch.tensor(a), 1.0).numpy(), pairs)
    x = torch.ones(2, 3, requires_grad=True)
    F.pdist(x).sum().backward()
    F.cosine_similarity(torch.zeros(2, 3), x).sum().backward()
    assert torch.equal(x.grad, torch.zeros(2, 3))  # not NaN
    for wrong in (lambda: F.pdist(torch.ones(3)), lambda: F.pdist(torch.ones(3, 3), -1.0)):
        with pytest.raises(RuntimeError):
            wrong()

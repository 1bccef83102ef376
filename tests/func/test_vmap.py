"""vmap: where examples lie in arguments and results, random numbers, writes in place, what it refuses."""

import re

import pytest

import minidynamo as torch
from minidynamo.func import functional_call, grad, stack_module_state
from minidynamo.func import vmap as vmap_of_func

vmap = torch.vmap
X = torch.arange(6.0).reshape(2, 3)


def close(found, wanted):
    torch.testing.assert_close(found, wanted)


def test_is_one_function():
    assert vmap is vmap_of_func


@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_dimensions_of_arguments_and_results(dim):
    found = vmap(lambda x: x * 2, in_dims=dim, out_dims=dim)(X)
    close(found, X * 2)
    assert vmap(lambda x: x.sum(), in_dims=dim)(X).tolist() == X.movedim(dim, 0).sum(1).tolist()


def test_nested_arguments_and_results():
    def f(d, y):
        return {"sum": d["a"] + d["b"][0], "pair": (y, d["a"])}

    found = vmap(f, in_dims=({"a": 0, "b": [None]}, 1), out_dims={"sum": 0, "pair": (1, 0)})(
        {"a": X, "b": [torch.ones(3)]}, X.t()
    )
    close(found["sum"], X + 1)
    close(found["pair"][0], X.t())
    assert vmap(lambda x: torch.max(x, 0))(X).values.tolist() == [2.0, 5.0]


def test_keyword_arguments_are_shared():
    assert vmap(lambda a, b=None: a + b)(X, b=X).shape == (2, 2, 3)


def test_shared_results():
    shared = vmap(lambda x: torch.ones(2), out_dims=None)(X)
    assert shared.shape == (2,)
    assert vmap(lambda x: torch.ones(2))(X).shape == (2, 2)


def test_nested_calls():
    found = vmap(vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))(X, torch.eye(3))
    close(found, X)
    x = torch.rand(2, 3, 4, 5)
    found = vmap(vmap(vmap(lambda a: a.cumsum(0)), in_dims=1), out_dims=2)(x)
    close(found, x.cumsum(-1).permute(2, 1, 0, 3))


def test_chunks_give_the_same():
    x = torch.rand(7, 3)
    f = vmap(lambda a: (a.sum(), a * 2), out_dims=(0, 1))
    for size in (1, 3, 7, 9):
        for a, b in zip(vmap(lambda a: (a.sum(), a * 2), out_dims=(0, 1), chunk_size=size)(x), f(x)):
            close(a, b)


def test_no_examples():
    assert vmap(lambda a: a.sin().sum())(torch.zeros(0, 3)).shape == (0,)


def test_shows_one_example():
    seen = []

    def f(x):
        seen.append((x.shape, x.dim(), x.size(0), len(x), x.numel(), x.stride(), x.is_contiguous(), repr(x)))
        return x

    vmap(f)(X)
    assert seen[0][:7] == (torch.Size([3]), 1, 3, 3, 3, (1,), True)
    assert seen[0][7].startswith("BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[0., 1., 2.],")


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.sum().item(), lambda x: float(x.sum()), lambda x: int(x[0]), lambda x: 1 if x.sum() > 0 else 0,
        lambda x: x.tolist(), lambda x: x.numpy(), lambda x: x.data_ptr(), lambda x: x.nonzero(), lambda x: x[x > 0],
        lambda x: torch.equal(x, x), lambda x: x.resize_(1),
    ],
)  # fmt: skip
def test_values_of_examples_are_refused(read):
    with pytest.raises(RuntimeError, match="vmap"):
        vmap(read)(X.clone())


def test_what_left_is_refused():
    left = []
    vmap(lambda x: (left.append(x), x)[1])(X)
    assert left[0].shape == (3,)
    with pytest.raises(RuntimeError, match="vmap"):
        left[0] + 1


@pytest.mark.parametrize(
    "error, text, call",
    [
        (ValueError, "has no examples", lambda: vmap(lambda x: 3)(X)),
        (ValueError, "no positional arguments", lambda: vmap(lambda: 3)()),
        (ValueError, "says dimension 5", lambda: vmap(lambda x: x, in_dims=5)(X)),
        (ValueError, "does not fit", lambda: vmap(lambda x: x, in_dims=(0, 0))(X)),
        (ValueError, "in_dims has to be", lambda: vmap(lambda x: x, in_dims="a")(X)),
        (ValueError, "in_dims has to be", lambda: vmap(lambda x: x, in_dims=None)(X)),
        (ValueError, "int", lambda: vmap(lambda x: x)(3)),
        (ValueError, r"\[2, 3\]", lambda: vmap(lambda x, y: x)(X, torch.zeros(3))),
        (IndexError, "5", lambda: vmap(lambda x: x, out_dims=5)(X)),
        (ValueError, "does not fit", lambda: vmap(lambda x: (x, x), out_dims=(0,))(X)),
        (ValueError, "None of a result", lambda: vmap(lambda x: x, out_dims=None)(X)),
        (ValueError, "out_dims", lambda: vmap(lambda x: x, out_dims="x")(X)),
        (ValueError, "chunk_size", lambda: vmap(lambda x: x, chunk_size=0)(X)),
        (RuntimeError, "foo", lambda: vmap(lambda x: x, randomness="foo")(X)),
        (ValueError, "has 0 dimensions", lambda: vmap(lambda x: x)(torch.tensor(1.0))),
    ],
)
def test_wrong_arguments(error, text, call):
    with pytest.raises(error, match=text):
        call()


def test_writes_in_place():
    def f(x):
        y = x.new_zeros(3)
        y.copy_(x)
        y[0] = 7
        part = y[1:]
        part.mul_(2)
        y.t_()
        return y, part.unsqueeze_(0)

    whole, part = vmap(f)(X)
    assert whole.tolist() == [[7, 2, 4], [7, 8, 10]] and part.tolist() == [[[2, 4]], [[8, 10]]]
    own = X.clone()
    vmap(lambda x: x.add_(1))(own)
    close(own, X + 1)

    def shared(x):
        y = torch.zeros(3)
        y += x
        return y

    with pytest.raises(RuntimeError, match=re.escape("x.new_zeros()")):
        vmap(shared)(X)


def test_positions_that_differ():
    x, i = torch.rand(4, 5, 6), torch.tensor([[0, 2], [1, 1], [3, 0]])
    close(vmap(lambda k: x[:, k])(i), torch.stack([x[:, k] for k in i]))
    close(vmap(lambda k: x[k, :, k])(i), torch.stack([x[k, :, k] for k in i]))
    close(vmap(lambda k: x[0, k[0]])(i), torch.stack([x[0, k[0]] for k in i]))
    close(vmap(lambda v, k: v[:, k], in_dims=(0, None))(x, i[0]), torch.stack([v[:, i[0]] for v in x]))

    def write(v, k):
        y = v.clone()
        y[:, k] = 9
        return y

    close(vmap(write, in_dims=(0, 0))(x[:3], i), torch.stack([write(v, k) for v, k in zip(x, i)]))


def test_numbers_keep_their_rank_in_promotion():
    half, single = torch.rand(4, 3).half(), torch.rand(4)
    found = vmap(lambda a, b: (a * b, b + torch.arange(3), a / b.double(), a.clamp(min=-1)))(half, single)
    assert [x.dtype for x in found] == [torch.float16, torch.float32, torch.float16, torch.float16]


def test_random_numbers():
    def draw(x):
        return x + torch.rand(3)

    with pytest.raises(RuntimeError, match="random"):
        vmap(draw)(torch.zeros(4, 3))
    same = vmap(draw, randomness="same")(torch.zeros(4, 3))
    assert torch.equal(same[0], same[1])
    other = vmap(draw, randomness="different")(torch.zeros(4, 3))
    assert not torch.equal(other[0], other[1])
    both = vmap(vmap(draw, randomness="different"), randomness="same")(torch.zeros(2, 2, 3))
    assert torch.equal(both[0], both[1]) and not torch.equal(both[:, 0], both[:, 1])
    dropped = vmap(lambda x: torch.nn.functional.dropout(x), randomness="different")(torch.ones(2, 64))
    assert not torch.equal(dropped[0], dropped[1])
    with pytest.raises(RuntimeError, match="same"):
        vmap(lambda x: torch.bernoulli(x), randomness="same")(torch.rand(2, 3))
    assert vmap(lambda x: torch.randperm(9), randomness="different")(X).shape == (2, 9)


def test_models_side_by_side():
    models = [torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)) for _ in range(3)]
    parameters, buffers = stack_module_state(models)

    def call(parameters, buffers, x):
        return functional_call(models[0], (parameters, buffers), (x,))

    x = torch.rand(5, 3)
    found = vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
    close(found, torch.stack([model(x) for model in models]))
    found.sum().backward()
    for k, model in enumerate(models):
        model(x).sum().backward()
        for name, parameter in model.named_parameters():
            close(parameters[name].grad[k], parameter.grad)


def test_gradients_of_each_example():
    layer = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(12, 4))
    parameters = {name: p.detach() for name, p in layer.named_parameters()}
    x, y = torch.rand(5, 2, 4, 4), torch.randint(0, 4, (5,))

    def loss(parameters, x, y):
        return torch.nn.functional.cross_entropy(functional_call(layer, parameters, (x[None],)), y[None])

    found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    for k in range(5):
        layer.zero_grad()
        torch.nn.functional.cross_entropy(layer(x[k : k + 1]), y[k : k + 1]).backward()
        for name, parameter in layer.named_parameters():
            close(found[name][k], parameter.grad)


def test_gradients_go_through():
    x = X.clone().requires_grad_()
    w = torch.ones(3, requires_grad=True)
    vmap(lambda v: (v * w).sin().sum())(x).sum().backward()
    close(x.grad, X.cos())
    close(w.grad, (X.cos() * X).sum(0))


def test_batch_norms_without_statistics():
    layers = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2))
    torch.func.replace_all_batch_norm_modules_(layers)
    assert layers[0].running_mean is None and not layers[0].track_running_stats
    x = torch.arange(24.0).reshape(4, 2, 3)
    assert torch.allclose(vmap(layers)(x), torch.stack([layers(each) for each in x]), atol=1e-5)

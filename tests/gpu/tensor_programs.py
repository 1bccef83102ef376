"""What programs do with tensors on a device: moves, reads, texts, pickles, other libraries."""

import copy
import io
import pickle
import warnings

from programs_support import raises

import minidynamo as torch


def moves():
    x = torch.arange(6.0).reshape(2, 3)
    y = x.cuda()
    assert y.is_cuda and not y.is_cpu and y.device == torch.device("cuda", 0) and y.get_device() == 0
    assert not x.is_cuda and x.get_device() == -1
    assert y.cuda() is y and y.to("cuda") is y and x.cpu() is x
    assert torch.equal(y.cpu(), x) and y.cpu().device.type == "cpu"
    other = y.cuda(1)
    assert other.device.index == 1 and torch.equal(other.cpu(), x)
    z = x.to("cuda:1", torch.float64, non_blocking=True)
    assert (z.dtype, str(z.device)) == (torch.float64, "cuda:1") and z.tolist() == x.tolist()
    assert x.to(y).is_cuda and x.type_as(y).is_cuda
    with raises(RuntimeError, "invalid device ordinal"):
        x.to("cuda:7")
    with raises(RuntimeError, "Invalid device"):
        x.cuda("cpu")


def layouts():
    x = torch.arange(24.0).reshape(2, 3, 4)
    for view in (x, x.permute(2, 0, 1), x[:, 1:, ::2], x[0, 0], x[:, :0], x[1, 2, 3], x.expand(2, 2, 3, 4)):
        there = view.cuda()
        assert there.stride() == view.to(torch.float64).float().stride() or there.stride() == view.clone().stride()
        assert there.tolist() == view.tolist() and torch.equal(there.cpu(), view)
        assert there.half().cpu().tolist() == view.half().tolist()
    there = x.cuda()
    for index in ((slice(None), 1), (0,), (slice(None), slice(1, None), slice(None, None, 2)), (..., 3)):
        assert there[index].tolist() == x[index].tolist()
        assert there.permute(2, 0, 1)[1:, :, 1].tolist() == x.permute(2, 0, 1)[1:, :, 1].tolist()


def reads():
    x = torch.tensor([1.5, -2.0, float("nan")], device="cuda")
    assert x[0].item() == 1.5 and x.tolist()[:2] == [1.5, -2.0] and float(x[1]) == -2 and int(x[1]) == -2
    assert bool(x[0]) and not bool(x[1] > 0) and complex(x[0]) == 1.5
    assert [float(each) for each in x[:2]] == [1.5, -2.0]
    assert f"{x[0]:.2f}" == "1.50" and x[0] in x[:1] and len(x) == 3
    assert range(5)[torch.tensor(2, device="cuda")] == 2
    assert torch.equal(x[:2], x[:2].clone()) and torch.allclose(x[:2], x[:2] + 1e-9)
    assert str(x) == "tensor([ 1.5000, -2.0000,     nan], device='cuda:0')"
    assert repr(x.half()[:1]) == "tensor([1.5000], device='cuda:0', dtype=torch.float16)"
    assert repr(torch.zeros(0, 2, device="cuda:1")) == "tensor([], device='cuda:1', size=(0, 2))"
    assert torch.complex(x[:2], x[:2]).tolist() == [1.5 + 1.5j, -2 - 2j]
    for dtype in (torch.bool, torch.uint8, torch.int16, torch.int64, torch.bfloat16, torch.float8_e5m2):
        assert torch.ones(2, device="cuda").to(dtype).tolist() == torch.ones(2).to(dtype).tolist()


def refuses():
    x = torch.ones(2, device="cuda")
    for ask in (x.numpy, lambda: x.__array__(), lambda: __import__("numpy").asarray(x)):
        with raises(TypeError, "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()"):
            ask()
    assert x.numpy(force=True).tolist() == [1, 1]
    with raises((BufferError, TypeError), ""):
        memoryview(x)


def arguments():
    for make in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn):
        assert make(2, 3, device="cuda").device == torch.device("cuda:0")
    assert torch.full((2,), 7, device="cuda:1").tolist() == [7, 7]
    assert torch.arange(3, device="cuda").tolist() == [0, 1, 2]
    assert torch.tensor([[1, 2]], device="cuda").tolist() == [[1, 2]]
    assert torch.as_tensor([1.0], device="cuda").is_cuda and torch.asarray([1.0], device="cuda").is_cuda
    x = torch.ones(2, device="cuda:1")
    for like in (torch.zeros_like(x), torch.rand_like(x), x.new_zeros(3), x.new_tensor([1]), x.new_empty(2), x.new(2)):
        assert like.device == x.device, like.device
    assert torch.zeros_like(x, device="cpu").device.type == "cpu"
    torch.set_default_device("cuda")
    try:
        assert torch.ones(2).is_cuda and torch.tensor(1).is_cuda and torch.get_default_device().type == "cuda"
    finally:
        torch.set_default_device(None)
    with torch.device("cuda:1"):
        assert torch.ones(2).device.index == 1
    assert torch.ones(2).device.type == "cpu"
    torch.cuda.set_device(1)
    try:
        assert torch.ones(2, device="cuda").device.index == 1
    finally:
        torch.cuda.set_device(0)
    assert torch.cuda.FloatTensor([1, 2]).is_cuda and torch.ones(1).type("torch.cuda.DoubleTensor").is_cuda
    assert torch.ones(1, device="cuda").type() == "torch.cuda.FloatTensor"
    assert isinstance(torch.ones(1, device="cuda"), torch.cuda.FloatTensor)


def copies():
    x = torch.arange(4.0, device="cuda")
    y = torch.zeros(4, dtype=torch.float64)
    assert y.copy_(x) is y and y.tolist() == [0, 1, 2, 3]
    x[::2].copy_(torch.tensor([8, 9]))
    assert x.tolist() == [8, 1, 9, 3]
    x.copy_(torch.tensor(5.0))
    assert x.tolist() == [5] * 4
    x[1] = torch.tensor(7.0)
    x[2:] = torch.tensor([1.0, 2.0], device="cuda")
    assert x.tolist() == [5, 7, 1, 2]
    there = torch.zeros(4, device="cuda:1").copy_(x)
    assert there.tolist() == x.tolist()
    z = copy.deepcopy({"a": x, "b": x[1:]})
    z["a"].zero_()
    assert z["b"].tolist() == [0, 0, 0] and z["b"].is_cuda and x.tolist() == [5, 7, 1, 2]
    assert copy.copy(x).data_ptr() == x.data_ptr()
    c = torch.tensor([1 + 2j, 3j]).cuda()
    assert c.cpu().tolist() == [1 + 2j, 3j] and c.conj().cpu().tolist() == [1 - 2j, -3j]
    c.copy_(torch.tensor([1.0, 2.0]))
    assert c.tolist() == [1, 2]


def pinned():
    x = torch.arange(4.0)
    assert not x.is_pinned()
    p = x.pin_memory()
    assert p.is_pinned() and p.pin_memory() is p and p.tolist() == x.tolist() and p[1:].is_pinned()
    assert torch.empty(3, pin_memory=True).is_pinned() and torch.tensor([1.0], pin_memory=True).is_pinned()
    there = p.to("cuda", non_blocking=True)
    back = torch.empty(4, pin_memory=True).copy_(there, non_blocking=True)
    torch.cuda.synchronize()
    assert back.tolist() == x.tolist()
    with raises(RuntimeError, "cannot pin"):
        there.pin_memory()


def files():
    state = {"w": torch.arange(3.0, device="cuda:1"), "b": torch.ones(2)}
    state["v"] = state["w"][1:]
    for options in ({}, {"_use_new_zipfile_serialization": False}):
        file = io.BytesIO()
        torch.save(state, file, **options)
        file.seek(0)
        found = torch.load(file)
        assert (
            str(found["w"].device) == "cuda:1" and found["b"].device.type == "cpu" and found["w"].tolist() == [0, 1, 2]
        )
        found["w"].zero_()
        assert found["v"].tolist() == [0, 0]
        for where, expected in (("cpu", "cpu"), ("cuda", "cuda:0"), ("cuda:1", "cuda:1")):
            file.seek(0)
            found = torch.load(file, map_location=where)
            assert {str(x.device) for x in found.values()} == {expected} and found["v"].tolist() == [1, 2]
    file.seek(0)
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    found = torch.load(file, map_location={"cuda:1": "cuda:0"})
    assert str(found["w"].device) == "cuda:0" and found["b"].device.type == "cpu"
    file.seek(0)
    assert torch.load(file, map_location=lambda storage, place: storage.cuda(0))["b"].is_cuda
    again = pickle.loads(pickle.dumps(state))
    assert str(again["w"].device) == "cuda:1" and again["v"].tolist() == [1, 2]


def storages():
    x = torch.arange(3.0, device="cuda")
    memory = x.untyped_storage()
    assert memory.is_cuda and memory.nbytes() == 12 and memory.data_ptr() == x.data_ptr()
    assert memory.cpu().tolist() == x.cpu().untyped_storage().tolist() and memory.tolist() == memory.cpu().tolist()
    assert x.set_(torch.ones(2, device="cuda")).tolist() == [1, 1]
    y = torch.ones(2, device="cuda").resize_(4)
    assert y.tolist()[:2] == [1, 1]
    y.data = torch.zeros(3)
    assert y.device.type == "cpu"


def dlpack():
    x = torch.arange(4.0, device="cuda:1")
    assert x.__dlpack_device__() == (2, 1)
    y = torch.from_dlpack(x)
    assert y.device == x.device and y.data_ptr() == x.data_ptr()
    y += 1
    assert x.tolist() == [1, 2, 3, 4]
    for stream in (None, 1, -1, torch.cuda.Stream(1).cuda_stream):
        assert torch.from_dlpack(x.__dlpack__(stream=stream)).tolist() == x.tolist()
    with raises(TypeError, "stream"):
        x.__dlpack__(stream="1")
    here = torch.from_dlpack(x.__dlpack__(dl_device=(1, 0)))
    assert here.device.type == "cpu" and here.tolist() == x.tolist()
    with raises(BufferError, "copy"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    assert torch.from_dlpack(x, device="cpu").tolist() == x.tolist()


def array_interface():
    x = torch.arange(6, device="cuda").reshape(2, 3)
    said = x.t().__cuda_array_interface__
    assert said["shape"] == (3, 2) and said["typestr"] == "<i8" and said["strides"] == (8, 24)
    assert said["data"][0] == x.data_ptr() and x.__cuda_array_interface__["strides"] is None
    assert not hasattr(torch.ones(1), "__cuda_array_interface__")

    class Other:
        __cuda_array_interface__ = said

    other = Other()
    y = torch.as_tensor(other, device="cuda")
    assert y.tolist() == x.t().tolist() and y.data_ptr() == x.data_ptr()
    assert torch.tensor(other, device="cuda").data_ptr() != x.data_ptr()


def random_numbers():
    for seed in (3, 2**40):
        torch.manual_seed(seed)
        here = torch.rand(5), torch.randn(3), torch.randint(0, 9, (4,)), torch.randperm(5)
        where = dict(device="cuda")
        there = (
            torch.rand(5, **where),
            torch.randn(3, **where),
            torch.randint(0, 9, (4,), **where),
            torch.randperm(5, **where),
        )
        assert [a.tolist() for a in here] == [b.tolist() for b in there]
    torch.cuda.manual_seed(5)
    state = torch.cuda.get_rng_state()
    first = torch.rand(3, device="cuda").tolist()
    torch.cuda.set_rng_state(state)
    assert torch.rand(3, device="cuda").tolist() == first and torch.cuda.initial_seed() == 5
    torch.cuda.manual_seed_all(5)
    assert torch.rand(3, device="cuda:1").tolist() == first
    g = torch.Generator(device="cuda").manual_seed(5)
    assert g.device.type == "cuda" and torch.rand(3, device="cuda", generator=g).tolist() == first
    assert torch.rand(3, generator=torch.Generator().manual_seed(5)).tolist() == first
    with raises(RuntimeError, "Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.rand(3, device="cuda", generator=torch.Generator())
    with raises(RuntimeError, "Expected a 'cpu' device type for generator but found 'cuda'"):
        torch.rand(3, generator=g)
    before = torch.get_rng_state(), torch.cuda.get_rng_state()
    with torch.random.fork_rng():
        torch.rand(3, device="cuda")
    assert torch.equal(before[1], torch.cuda.get_rng_state())
    torch.rand(1)
    assert torch.equal(before[1], torch.cuda.get_rng_state())
    dropped = torch.nn.functional.dropout(torch.ones(8, device="cuda"))
    torch.cuda.set_rng_state(before[1])
    assert torch.equal(dropped, torch.nn.functional.dropout(torch.ones(8, device="cuda")))


def gradients():
    def run(device):
        torch.manual_seed(0)
        x = torch.randn(4, 3).to(device).requires_grad_()
        w = torch.nn.Linear(3, 2).to(device)
        y = (torch.relu(w(x)) * 2).to("cpu").sum() + x.cpu().pow(2).mean()
        y.backward()
        assert x.grad.device == x.device and w.weight.grad.device == x.device
        return [t.tolist() for t in (y, x.grad, w.weight.grad, w.bias.grad)]

    assert run("cuda") == run("cpu")
    x = torch.tensor([float("nan")], device="cuda", requires_grad=True)
    with warnings.catch_warnings(), torch.autograd.detect_anomaly(), raises(RuntimeError, "nan"):
        warnings.simplefilter("ignore")
        (x * x).sum().backward()


def modules():
    def trained(device, make):
        torch.manual_seed(1)
        model = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2)
        )
        optimizer = make(model.parameters())
        parameters = list(model.parameters())
        model.to(device)
        assert all(a is b for a, b in zip(parameters, model.parameters()))
        x, y = torch.randn(6, 4).to(device), torch.randint(0, 2, (6,)).to(device)
        for _ in range(3):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        state = {name: value.cpu() for name, value in model.state_dict().items()}
        assert all(value.device.type == device for value in model.state_dict().values())
        return [value.tolist() for value in state.values()] + [loss.item()]

    for make in (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.AdamW(p, lr=0.01)):
        assert trained("cuda", make) == trained("cpu", make)
    model = torch.nn.BatchNorm1d(3).cuda()
    assert model.running_mean.is_cuda and model.cuda(1).weight.device.index == 1 and not model.cpu().weight.is_cuda
    model.load_state_dict({name: value.cuda() for name, value in model.state_dict().items()})
    assert not model.weight.is_cuda


def loaders():
    data = torch.utils.data.TensorDataset(torch.arange(6.0), torch.arange(6))
    for x, y in torch.utils.data.DataLoader(data, batch_size=3, pin_memory=True):
        assert x.is_pinned() and y.is_pinned() and x.cuda(non_blocking=True).tolist() == x.tolist()


def distributions():
    d = torch.distributions

    def drawn(device):
        torch.manual_seed(0)
        a = (torch.arange(3.0) + 1.5).to(device).requires_grad_()
        b = torch.ones(3).to(device)
        made = [d.Gamma(a, b).rsample(), d.Dirichlet(a).sample(), d.Beta(a, b).sample(), d.StudentT(a + 2).sample()]
        made += [torch.poisson(b * 2), torch.binomial(b * 5, b / 2), d.Categorical(b).sample(), d.Normal(a, b).sample()]
        made += [d.Multinomial(4, b).entropy()]
        made[0].sum().backward()
        assert all(x.device.type == device for x in made)
        return [x.tolist() for x in [*made, a.grad]]

    assert drawn("cuda") == drawn("cpu")

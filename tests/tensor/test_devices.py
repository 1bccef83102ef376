"""torch.device, the meta device, and where tensors are made: against what the mirrored library does."""

import copy
import pickle

import numpy as np
import pytest

import minidynamo as torch
from minidynamo import nn


def meta(*sizes, **options):
    return torch.empty(*sizes, device="meta", **options)


@pytest.fixture(autouse=True)
def default_device_restored():
    yield
    torch.set_default_device(None)


# --- torch.device


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.device(0),
        lambda: torch.zeros(2).to(0),
        lambda: torch.zeros(2).to(device=1),
        lambda: torch.nn.Linear(2, 2).to(0),
        lambda: torch.nn.Linear(2, 2, device=0),
        lambda: torch.zeros(2, device=0),
        lambda: torch.tensor([1.0], device=0),
        lambda: torch.ones(2).new_zeros(2, device=3),
    ],
)
def test_a_number_means_an_accelerator(use):
    """Programs that move a model to their rank catch the RuntimeError that torch raises without an accelerator."""
    with pytest.raises(RuntimeError, match="Cannot access device [013]: a number means an accelerator"):
        use()
    with pytest.raises(TypeError):
        torch.zeros(2, device=True)


@pytest.mark.parametrize("text", ["cpu", "meta", "cuda", "cuda:1", "cpu:0", "meta:7"])
def test_device_objects(text):
    d = torch.device(text)
    kind, _, index = text.partition(":")
    assert (d.type, d.index) == (kind, int(index) if index else None)
    assert str(d) == text and d == torch.device(text) and hash(d) == hash(torch.device(text))
    assert d == pickle.loads(pickle.dumps(d)) and torch.device(d) == d
    assert eval(repr(d), {"device": torch.device}) == d
    assert {d: 1}[torch.device(text)] == 1
    assert d != torch.device("xla") and d != text


@pytest.mark.parametrize("text", ["", "foo", "cpu:", "cpu:-1", "cpu:01", "cpu:x", "cpu:1:2", " cpu", "cuda:128", "CPU"])
def test_what_names_no_device(text):
    with pytest.raises(RuntimeError, match="[Dd]evice string"):
        torch.device(text)
    with pytest.raises(RuntimeError, match="[Dd]evice string"):
        torch.zeros(2, device=text)
    with pytest.raises(RuntimeError, match="[Dd]evice string"):
        torch.ones(2).to(text)


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "mps", "xpu"])
def test_devices_without_tensors_are_refused(device):
    for make in (
        lambda: torch.empty(2, device=device),
        lambda: torch.ones(2).to(device),
        lambda: torch.tensor([1], device=device),
        lambda: nn.Linear(2, 2).to(device),
        lambda: torch.zeros_like(meta(2), device=device),
        lambda: torch.set_default_device(device),
    ):
        kind = AssertionError if device.startswith(("cuda", "xpu")) else RuntimeError
        with pytest.raises(kind, match=device.split(":")[0]):
            make()


# --- what a meta tensor is


def test_metadata():
    t = meta(3, 4, dtype=torch.int16)
    assert t.is_meta and not t.is_cpu and not t.is_cuda and t.device == torch.device("meta")
    assert t.shape == (3, 4) and t.stride() == (4, 1) and t.numel() == 12 and t.nbytes == 24 and t.data_ptr() == 0
    assert torch.empty(2, device="meta:1").device.index is None and torch.empty(2, device="cpu:0").device.index is None
    assert meta(2**40, 2**20).sum(0).shape == (2**20,)  # no memory for it anywhere


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: meta(3, 4), "tensor(..., device='meta', size=(3, 4))"),
        (lambda: meta(()), "tensor(..., device='meta', size=())"),
        (lambda: meta(0), "tensor(..., device='meta', size=(0,))"),
        (lambda: meta(2, dtype=torch.int64), "tensor(..., device='meta', size=(2,), dtype=torch.int64)"),
        (lambda: meta(2, requires_grad=True), "tensor(..., device='meta', size=(2,), requires_grad=True)"),
        (
            lambda: nn.Parameter(meta(2)),
            "Parameter containing:\ntensor(..., device='meta', size=(2,), requires_grad=True)",
        ),
    ],
)
def test_printed(make, text):
    assert repr(make()) == str(make()) == f"{make()}" == text


NO_DATA = NotImplementedError, "Cannot copy out of meta tensor; no data"
NO_ITEM = RuntimeError, r"Tensor.item\(\) cannot be called on meta tensors"


@pytest.mark.parametrize(
    "ask, error",
    [
        (lambda: meta(()).item(), NO_ITEM),
        (lambda: bool(meta(())), NO_ITEM),
        (lambda: float(meta(1)), NO_ITEM),
        (lambda: int(meta(())), NO_ITEM),
        (lambda: torch.tensor([meta(()), 1]), NO_ITEM),
        (lambda: torch.arange(meta(())), NO_ITEM),
        (lambda: torch.allclose(meta(2), meta(2)), NO_ITEM),
        (lambda: meta(3).item(), (RuntimeError, "3 elements")),
        (lambda: bool(meta(3)), (RuntimeError, "ambiguous")),
        (lambda: meta(3).tolist(), NO_DATA),
        (lambda: meta(3).to("cpu"), NO_DATA),
        (lambda: meta(3).cpu(), NO_DATA),
        (lambda: meta(3).to(torch.ones(2)), NO_DATA),
        (lambda: meta(3).type_as(torch.ones(2)), NO_DATA),
        (lambda: torch.ones(3).copy_(meta(3)), NO_DATA),
        (lambda: torch.ones(3).__setitem__(0, meta(())), NO_DATA),
        (lambda: torch.as_tensor(meta(3), device="cpu"), NO_DATA),
        (lambda: torch.tensor(meta(3), device="cpu"), NO_DATA),
        (lambda: nn.Linear(2, 2, device="meta").to("cpu"), (NotImplementedError, "to_empty")),
        (lambda: meta(3).numpy(), (TypeError, "numpy")),
        (lambda: np.asarray(meta(3)), (TypeError, "numpy")),
        (lambda: memoryview(meta(3)), (BufferError, "no buffer")),
        (lambda: meta(3).__dlpack__(), (BufferError, "meta")),
        (lambda: meta(3).__dlpack_device__(), (ValueError, "meta")),
        (lambda: torch.equal(meta(3), meta(3)), (RuntimeError, "meta")),
        (lambda: torch.nonzero(meta(3)), (NotImplementedError, "meta")),
        (lambda: meta(3)[meta(3) > 0], (NotImplementedError, "meta")),
        (lambda: torch.unique(meta(3)), (NotImplementedError, "meta")),
        (lambda: f"{meta(()):.2f}", (TypeError, "format")),
        (lambda: torch.ones(3).set_(meta(3)), (RuntimeError, "match")),
        (lambda: meta(3).set_(torch.ones(3)), (RuntimeError, "match")),
        (lambda: setattr(meta(3), "data", torch.ones(3)), (RuntimeError, "match")),
        (lambda: torch.Generator(device="meta"), (RuntimeError, "meta")),
    ],
)
def test_elements_asked_for(ask, error):
    with pytest.raises(error[0], match=error[1]):
        ask()


# --- who may meet


SAME = "same device"


@pytest.mark.parametrize(
    "mix",
    [
        lambda m, c: m + c,
        lambda m, c: c * m,
        lambda m, c: c + m.sum(),
        lambda m, c: m == c,
        lambda m, c: torch.where(m > 0, m, c),
        lambda m, c: torch.where(c > 0, m, m),
        lambda m, c: torch.cat([m, c]),
        lambda m, c: torch.stack([c, m]),
        lambda m, c: m @ c,
        lambda m, c: c @ m,
        lambda m, c: torch.einsum("ij,jk->ik", m, c),
        lambda m, c: m.add_(c),
        lambda m, c: c.add_(m),
        lambda m, c: c.add_(m.sum()),
        lambda m, c: c.fill_(m.sum()),
        lambda m, c: c.sum().add_(m.sum()),
        lambda m, c: torch.nn.functional.linear(c, m),
        lambda m, c: torch.nn.functional.conv1d(c[None], m[None]),
        lambda m, c: c[torch.zeros(2, dtype=torch.int64, device="meta")],
        lambda m, c: c.index_select(0, torch.zeros(2, dtype=torch.int64, device="meta")),
        lambda m, c: nn.Linear(3, 3)(m),
        lambda m, c: torch.lerp(c, c, m),
        lambda m, c: torch.addmm(c, m, m),
    ],
)
def test_devices_do_not_mix(mix):
    c = torch.ones(3, 3)
    with pytest.raises(RuntimeError, match=SAME):
        mix(meta(3, 3), c)
    assert torch.equal(c, torch.ones(3, 3)) and c._version == 0


@pytest.mark.parametrize(
    "together",
    [
        lambda m, s: m + s,
        lambda m, s: s - m,
        lambda m, s: s**m,
        lambda m, s: m == s,
        lambda m, s: torch.where(m > 0, s, s),
        lambda m, s: torch.clamp(m, min=s, max=s),
        lambda m, s: torch.lerp(m, m, s),
        lambda m, s: m.add_(s),
        lambda m, s: m.fill_(s),
        lambda m, s: m.masked_fill(m > 0, s),
        lambda m, s: m.copy_(torch.ones(3, 3)),
        lambda m, s: m[torch.tensor([0, 2])],
        lambda m, s: m[torch.tensor(1)],
        lambda m, s: m.index_select(0, torch.tensor([0, 2])),
        lambda m, s: torch.gather(m, 0, torch.zeros(1, 1, dtype=torch.int64)),
        lambda m, s: torch.nn.functional.embedding(torch.tensor([1]), m),
    ],
)
def test_zero_dim_cpu_tensors_and_positions_go_along(together):
    result = together(meta(3, 3), torch.tensor(2.0))
    expected = together(torch.ones(3, 3), torch.tensor(2.0))
    assert result.is_meta and result.shape == expected.shape and result.dtype == expected.dtype
    assert result.stride() == expected.stride()


def test_assignments():
    m = meta(3, 3)
    m[0], m[1:], m[:, 0], m[0, 0] = torch.ones(3), 7, torch.tensor(2.0), meta(())
    m[torch.tensor([0, 1])] = torch.tensor(5.0)
    m[m > 0] = 0
    assert m._version == 6 and m.is_meta


# --- moving


def test_to_meta():
    c = torch.ones(2, 3).t()
    for moved in (c.to("meta"), c.to(device="meta"), c.to(torch.device("meta")), c.to(meta(1)), c.type_as(meta(1))):
        assert moved.is_meta and moved.shape == (3, 2) and moved.stride() == c.stride()
    assert c.to("meta", torch.float64).dtype is torch.float64
    m = c.to("meta")
    assert m.to("meta") is m and m.to("meta", copy=True) is not m and m.to(torch.float64).is_meta
    assert c.to("cpu") is c and c.cpu() is c


def test_copies_and_pickles(tmp_path):
    m = meta(2, 3)[:, 1:]
    for again in (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m)), m.clone()):
        assert again.is_meta and again.shape == m.shape and again.dtype == m.dtype
    torch.save({"a": m, "b": [m, 1], "d": torch.device("meta")}, tmp_path / "saved")
    back = torch.load(tmp_path / "saved")
    assert back["a"].is_meta and back["a"].shape == (2, 2) and back["d"] == torch.device("meta")


def test_views_share_a_meta_storage():
    m = meta(4, 6)
    views = m[1:], m.t(), m.view(24), m[0], m.detach(), m.unsqueeze(0), m[:, ::2], m.as_strided((2,), (3,), 5)
    for view in views:
        before = m._version
        view.add_(1)
        assert view.is_meta and m._version == before + 1
    assert m.clone().add_(1)._version == 1 and m._version == len(views)
    assert m[1:, 2:].storage_offset() == 8


def test_resized():
    m = meta(3)
    assert m.resize_(5, 7).shape == (5, 7) and m.is_meta and m.set_().shape == (0,) and m.is_meta


# --- modules


def test_modules():
    linear = nn.Linear(3, 4, device="meta")
    assert all(p.is_meta and isinstance(p, nn.Parameter) and p.requires_grad for p in linear.parameters())
    assert linear(meta(2, 3)).shape == (2, 4)
    real = linear.to_empty(device="cpu")
    assert real is linear and linear.weight.is_cpu and isinstance(linear.weight, nn.Parameter)
    assert linear(torch.ones(2, 3)).shape == (2, 4)
    again = nn.Linear(3, 4).to("meta")
    assert again.weight.is_meta and list(dict(again.named_parameters())) == ["weight", "bias"]
    again.load_state_dict(nn.Linear(3, 4).state_dict())
    assert again.weight.is_meta
    with pytest.raises((RuntimeError, NotImplementedError)):
        nn.Linear(3, 4).load_state_dict(again.state_dict())


@pytest.mark.parametrize(
    "make",
    [
        lambda d: nn.TransformerEncoderLayer(8, 2, 16, device=d),
        lambda d: nn.LSTM(3, 4, 2, device=d),
        lambda d: nn.Conv2d(3, 4, 3, device=d),
        lambda d: nn.BatchNorm1d(4, device=d),
        lambda d: nn.Embedding(5, 3, device=d),
        lambda d: nn.LayerNorm(4, device=d),
        lambda d: nn.MultiheadAttention(8, 2, device=d),
        lambda d: nn.PReLU(device=d),
    ],
)
def test_modules_made_on_meta(make):
    before = torch.get_rng_state().tolist()
    module = make("meta")
    state = module.state_dict()
    assert state and all(t.is_meta for t in state.values())
    assert torch.get_rng_state().tolist() == before
    real = make("cpu").state_dict()
    assert {k: (t.shape, t.dtype) for k, t in state.items()} == {k: (t.shape, t.dtype) for k, t in real.items()}


# --- where tensors are made


FACTORIES = {
    "empty": lambda **o: torch.empty(2, **o),
    "zeros": lambda **o: torch.zeros(2, **o),
    "ones": lambda **o: torch.ones(2, **o),
    "full": lambda **o: torch.full((2,), 3, **o),
    "arange": lambda **o: torch.arange(4, **o),
    "arange.step": lambda **o: torch.arange(0, 4, 2, **o),
    "linspace": lambda **o: torch.linspace(0, 1, 3, **o),
    "logspace": lambda **o: torch.logspace(0, 1, 3, **o),
    "eye": lambda **o: torch.eye(3, **o),
    "rand": lambda **o: torch.rand(2, **o),
    "randn": lambda **o: torch.randn(2, **o),
    "randint": lambda **o: torch.randint(5, (2,), **o),
    "randperm": lambda **o: torch.randperm(4, **o),
    "tensor": lambda **o: torch.tensor([1.0, 2.0], **o),
    "tensor of a tensor": lambda **o: torch.tensor(torch.ones(2).clone(), **o),
    "as_tensor": lambda **o: torch.as_tensor([1.0, 2.0], **o),
    "as_tensor of an array": lambda **o: torch.as_tensor(np.ones(2), **o),
    "asarray": lambda **o: torch.asarray([1.0], **o),
    "tril_indices": lambda **o: torch.tril_indices(3, 3, **o),
    "empty_strided": lambda **o: torch.empty_strided((2, 3), (1, 2), **o),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name):
    make = FACTORIES[name]
    plain = make()
    before = torch.get_rng_state().tolist()
    named = make(device="meta"), make(device=torch.device("meta"))
    with torch.device("meta"):
        within = make()
        with torch.device("cpu"):
            assert make().is_cpu
        assert make(device=None).is_meta
    torch.set_default_device("meta")
    default = make()
    torch.set_default_device("cpu")
    for t in (*named, within, default):
        assert t.is_meta and t.shape == plain.shape and t.dtype == plain.dtype and t.stride() == plain.stride()
    assert make().is_cpu and make(device="cpu").is_cpu
    after = torch.get_rng_state().tolist()
    if "rand" not in name:
        assert after == before


# What is made like a tensor is made where that is, and normal() takes no part either, as in torch.
LIKE = {
    "zeros_like": torch.zeros_like,
    "ones_like": torch.ones_like,
    "empty_like": torch.empty_like,
    "full_like": lambda x: torch.full_like(x, 1),
    "rand_like": torch.rand_like,
    "randn_like": torch.randn_like,
    "randint_like": lambda x: torch.randint_like(x, 5),
    "new_zeros": lambda x: x.new_zeros(2),
    "sum": lambda x: x + 1,
    "dropout": lambda x: nn.functional.dropout(x, 0.5),
    "bernoulli": lambda x: torch.bernoulli(x * 0.5),
    "normal of tensors": lambda x: torch.normal(x, 1.0),
    "normal": lambda x: torch.normal(0.0, 1.0, tuple(x.shape), device=x.device if x.is_meta else None),
    "Tensor": lambda x: torch.Tensor([1.0]) if x.is_cpu else x,
}


@pytest.mark.parametrize("name", LIKE)
@pytest.mark.parametrize("compiled", [False, True])
def test_what_is_made_of_a_tensor_stays_with_it(name, compiled):
    make = torch.compile(LIKE[name], backend="eager") if compiled else LIKE[name]
    c, m = torch.from_numpy(np.ones(2)), meta(2)
    for device in ("cpu", "meta"):
        with torch.device(device):
            assert make(c).is_cpu and make(m).is_meta
        assert make(c).is_cpu and make(m).is_meta


def test_factories_of_a_tensor_stay_with_it():
    with torch.device("meta"):
        c = torch.from_numpy(np.ones(2))
        assert c.is_cpu
    assert meta(2).new_zeros(3).is_meta and meta(2).new_full((2,), 1).is_meta and c.new_ones(2, device="meta").is_meta


def test_default_device():
    assert torch.get_default_device() == torch.device("cpu")
    with torch.device("meta") as d:
        assert d == torch.device("meta") == torch.get_default_device()
        with pytest.raises(ZeroDivisionError), torch.device("cpu"):
            raise ZeroDivisionError
        assert torch.get_default_device().type == "meta"
        assert nn.Linear(2, 3).weight.is_meta
    assert torch.get_default_device().type == "cpu"


def test_random_numbers_are_not_drawn():
    before = torch.get_rng_state().tolist()
    m = meta(4)
    m.normal_(), m.uniform_(), m.bernoulli_(), m.random_(5), torch.rand_like(m), torch.bernoulli(m)
    torch.nn.functional.dropout(m), torch.randperm(4, device="meta"), nn.init.kaiming_uniform_(meta(3, 4))
    assert torch.get_rng_state().tolist() == before

"""Compiled functions on meta tensors: traced into graphs, guarded by device, run without computing."""

import pytest

import minidynamo as torch
from frontend.differential import codes
from minidynamo import nn
from minidynamo._dynamo.testing import CompileCounter


@pytest.fixture(autouse=True)
def clean():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield
    torch.set_default_device(None)


def meta(*sizes, **options):
    return torch.empty(*sizes, device="meta", **options)


def facts(value):
    if isinstance(value, torch.Tensor):
        return value.device, value.dtype, tuple(value.shape), value.stride(), value.storage_offset()
    if isinstance(value, (list, tuple)):
        return [facts(v) for v in value]
    return value


def in_place(x):
    y = x.add_(1)
    x[0] = 3
    x.t().mul_(2)
    return y, x[1:], x.t()


PROGRAMS = {
    "pointwise": lambda x: (x + 1).relu() * x,
    "a sum": lambda x: x.sum(0) / x.shape[0],
    "a product": lambda x: torch.nn.functional.softmax(x @ x.t(), -1),
    "views": lambda x: (x.t(), x[1:, ::2], x.reshape(-1)),
    "itself": lambda x: (x, x.contiguous(), x.to("meta")),
    "made beside": lambda x: x + torch.ones(4, device=x.device) + torch.zeros_like(x),
    "made elsewhere": lambda x: (torch.ones(4, device="cpu") + 1, torch.ones(4, device="meta") + 1),
    "moved": lambda x: torch.arange(4.0).to("meta") + x,
    "a number of the cpu": lambda x: x * torch.tensor(2.0),
    "questions": lambda x: (x + 1, x.is_meta, x.is_cpu, x.device.type, str(x.device)),
    "branches": lambda x: x.sum(0) if x.is_meta else x,
    "random": lambda x: torch.rand_like(x) + torch.nn.functional.dropout(x),
    "in place": in_place,
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["inductor", "eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain(name, backend, dynamic):
    f = PROGRAMS[name]
    compiled = torch.compile(f, backend=backend, fullgraph=True, dynamic=dynamic)
    for sizes in ((3, 4), (5, 4)):
        plain, own = meta(*sizes), meta(*sizes)
        before = torch.get_rng_state().tolist()
        expected = f(plain)
        found = compiled(own)
        assert facts(found) == facts(expected) and own._version == plain._version
        assert torch.get_rng_state().tolist() == before
        results, plains = ([r] if isinstance(r, torch.Tensor) else list(r) for r in (found, expected))
        assert [r is own for r in results] == [p is plain for p in plains]


def test_guarded_by_device():
    counter = CompileCounter()
    compiled = torch.compile(lambda x: x + 1, backend=counter)
    for _ in range(2):
        assert compiled(meta(3)).is_meta
        assert compiled(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert counter.frame_count == 2


def test_reason_names_the_devices():
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    compiled(torch.ones(3))
    with torch._dynamo.config.patch(error_on_recompile=True):
        with pytest.raises(torch._dynamo.exc.RecompileError, match="(?s)device.*cpu.*meta"):
            compiled(meta(3))


def test_graphs_print_devices():
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        assert all(t.is_meta for t in inputs)
        return graph.forward

    torch.compile(lambda x: x + torch.ones(3, device="meta"), backend=backend)(meta(3))
    assert "device = 'meta'" in graphs[0].code


def test_mixed_operands_raise_as_plain():
    def f(x, y):
        return x + y

    compiled = torch.compile(f)
    for args in ((meta(3), torch.ones(3)), (torch.ones(3), meta(3))):
        with pytest.raises(RuntimeError, match="same device") as plain:
            f(*args)
        with pytest.raises(RuntimeError, match="same device") as own:
            compiled(*args)
        assert str(own.value) == str(plain.value)


@pytest.mark.parametrize(
    "ask", [lambda x: x.item(), lambda x: x.cpu(), lambda x: float(x), lambda x: x.tolist(), lambda x: 1 if x else 0]
)
def test_elements_asked_for(ask):
    def f(x):
        return ask(x + 1)

    compiled = torch.compile(f)
    with pytest.raises((RuntimeError, NotImplementedError)) as plain:
        f(meta(()))
    with pytest.raises((RuntimeError, NotImplementedError)) as own:
        compiled(meta(()))
    assert (type(own.value), str(own.value)) == (type(plain.value), str(plain.value))


def test_default_device_is_guarded():
    counter = CompileCounter()
    compiled = torch.compile(lambda: torch.ones(3) + torch.arange(3), backend=counter)
    for _ in range(2):
        assert compiled().is_cpu
        with torch.device("meta"):
            assert compiled().is_meta
    assert counter.frame_count == 2


def test_a_device_entered_in_a_frame_breaks_its_graph():
    """What is entered breaks it; a device that is made is a constant of the graph, as in torch 2.13."""
    device = torch.device("meta")

    def enters(x):
        with device:
            y = torch.ones(3)
        return x + 1, y, torch.zeros(2)

    def makes(x):
        with torch.device("meta"):
            y = torch.ones(3)
        return x + 1, y, torch.zeros(2)

    def only_makes(x):
        return x + 1, torch.device("meta")

    for f, breaks in ((enters, {"GB0142"}), (makes, {"GB0142"}), (only_makes, set())):
        torch._dynamo.utils.counters.clear()
        compiled = torch.compile(f)
        for _ in range(2):
            assert facts(compiled(torch.ones(2))) == facts(f(torch.ones(2)))
        assert codes() == breaks
        assert torch.get_default_device().type == "cpu"


def test_modules():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8)).to("meta")
    compiled = torch.compile(model, fullgraph=True)
    assert facts(compiled(meta(2, 4))) == facts(model(meta(2, 4)))
    model.to_empty(device="cpu")
    for p in model.parameters():
        p.data.fill_(0.5)
    x = torch.ones(2, 4)
    assert torch.equal(compiled(x), model(x))


def test_aliasing_inputs():
    def f(a, b):
        a.add_(1)
        return a + b, b

    base, plain = meta(4), meta(4)
    compiled = torch.compile(f)
    expected = f(plain[1:], plain[:3])
    assert facts(compiled(base[1:], base[:3])) == facts(expected) and base._version == plain._version


def test_custom_operators_run_their_rule_for_shapes():
    @torch.library.custom_op("meta_graphs::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.numpy() * 2)

    @doubled.register_fake
    def _(x):
        return torch.empty_like(x)

    def f(x):
        return doubled(x) + 1

    assert facts(f(meta(3))) == facts(torch.compile(f)(meta(3))) == facts(meta(3))
    assert torch.compile(f)(torch.ones(3)).tolist() == [3.0, 3.0, 3.0]

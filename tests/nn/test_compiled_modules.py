"""Modules in compiled code: one graph, parameters as its inputs, and guards that see every change."""

import copy

import pytest

import minidynamo as torch
from frontend.differential import codes, same
from minidynamo._dynamo.testing import CompileCounter

nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def fresh():
    torch.manual_seed(0)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 8)
        self.act = nn.ReLU()
        self.drop = nn.Dropout(0.5)
        self.down = nn.Linear(8, 3)
        self.times = 3

    def forward(self, x):
        return self.down(self.drop(self.act(self.up(x)))) * self.times


class Attention(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.rest = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.heads = heads

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm(x)).chunk(3, -1)
        q, k, v = (p.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for p in parts)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        for layer in self.rest:
            x = x + F.gelu(layer(x))
        return x


class Checked:
    """A module and what counts its compilations; `agree` compares all ways to run it."""

    def __init__(self, module):
        self.module, self.counter = module, CompileCounter()
        self.compiled = [torch.compile(module, backend=b, fullgraph=True) for b in (self.counter, "llvm")]

    def agree(self, *args, **kwargs):
        wanted = self.module(*args, **kwargs)
        for compiled in self.compiled:
            got = compiled(*args, **kwargs)
            assert torch.allclose(got, wanted, atol=1e-5) and got.dtype == wanted.dtype
            assert got.requires_grad == wanted.requires_grad
        return self.counter.frame_count


def test_one_graph():
    mlp = Checked(MLP().eval())
    assert mlp.agree(torch.randn(5, 4)) == 1 and mlp.counter.op_count == 4
    with torch.no_grad():
        assert mlp.agree(torch.randn(5, 4)) == 2
    attention = Checked(Attention().eval())
    assert attention.agree(torch.randn(2, 6, 8)) == 1


@pytest.mark.parametrize(
    "layer",
    [
        nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.GELU(), nn.RMSNorm(8), nn.GroupNorm(2, 8)),
        nn.Sequential(nn.Flatten(), nn.Unflatten(1, (2, 4)), nn.Softmax(-1), nn.LayerNorm((2, 4))),
        nn.Sequential(nn.SiLU(), nn.PReLU(), nn.Hardswish(), nn.ELU(), nn.Softplus(), nn.Mish(), nn.Tanh()),
    ],
)
def test_layers_are_one_graph(layer):
    assert Checked(layer.eval()).agree(torch.randn(5, 8)) == 1


def test_transformer_encoder():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu", norm_first=True)
    encoder = Checked(nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8)).eval())
    assert encoder.agree(torch.randn(2, 5, 8)) == 1
    assert encoder.agree(torch.randn(2, 5, 8), mask=torch.ones(5, 5, dtype=torch.bool).triu(1)) == 2


@pytest.mark.parametrize("loss", [nn.CrossEntropyLoss(), nn.CrossEntropyLoss(torch.rand(3), label_smoothing=0.1)])
def test_losses_are_one_graph(loss):
    assert Checked(loss).agree(torch.randn(5, 3), torch.tensor([0, 1, 2, 1, -100])) == 1


def test_embedding_is_one_graph():
    assert Checked(nn.Embedding(5, 3)).agree(torch.tensor([[1, 2], [3, 4]])) == 1


def test_embedding_with_a_largest_norm_is_one_graph():
    assert Checked(nn.Embedding(5, 3, max_norm=0.5)).agree(torch.tensor([[1, 2], [1, 4]])) == 1


def test_values_may_change_without_compiling_anew():
    m = MLP().eval()
    checked, x = Checked(m), torch.randn(5, 4)
    assert checked.agree(x) == 1
    with torch.no_grad():
        m.up.weight.mul_(2)
    assert checked.agree(x) == 1
    m.up.weight = nn.Parameter(torch.randn(8, 4))
    assert checked.agree(x) == 1
    m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()})
    assert checked.agree(x) == 1
    m.down.bias.data = torch.zeros(3)
    assert checked.agree(x) == 1


CHANGES = {
    "shape": lambda m: setattr(m, "down", nn.Linear(8, 2)),
    "class": lambda m: setattr(m, "act", nn.Tanh()),
    "no bias": lambda m: setattr(m.up, "bias", None),
    "int": lambda m: setattr(m, "times", 5),
    "hook": lambda m: m.act.register_forward_hook(lambda module, args, output: output + 1),
    "pre-hook": lambda m: m.register_forward_pre_hook(lambda module, args: (args[0] * 2,)),
    "own forward": lambda m: setattr(m.act, "forward", lambda x: x - 1),
    "frozen": lambda m: m.requires_grad_(False),
    "tied": lambda m: setattr(m.down, "bias", m.down.bias) or setattr(m.up, "bias", nn.Parameter(torch.zeros(8))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_structure_is_guarded(change):
    m = MLP().eval()
    checked, x = Checked(m), torch.randn(5, 4)
    assert checked.agree(x) == 1
    CHANGES[change](m)
    assert checked.agree(x) <= 2


def test_ints_of_modules_are_constants():
    m = MLP().eval()
    checked, x = Checked(m), torch.randn(5, 4)
    for count, times in enumerate((3, 4, 5), start=1):
        m.times = times
        assert checked.agree(x) == count


def test_mode_is_guarded():
    m = MLP()
    checked, x = Checked(m.eval()), torch.randn(50, 4)
    checked.agree(x)
    m.train()
    assert float((checked.compiled[1](x) != checked.compiled[1](x)).sum()) > 0  # random
    m.eval()
    assert checked.agree(x) == 1


def test_training_mode_updates_statistics():
    m, x = nn.BatchNorm1d(4), torch.randn(6, 4)
    for momentum in (0.1, None):
        m.momentum = momentum
        other = copy.deepcopy(m)
        compiled = torch.compile(other, fullgraph=True)
        for _ in range(3):
            assert torch.allclose(compiled(x), m(x), atol=1e-6)
        for name, buffer in m.named_buffers():
            assert torch.allclose(other.get_buffer(name), buffer)


def test_batch_sizes_are_symbols():
    mlp, attention = Checked(MLP().eval()), Checked(Attention().eval())
    for n in (3, 4, 5, 6, 7):
        mlp.agree(torch.randn(n, 4))
        attention.agree(torch.randn(2, n, 8))
    assert mlp.counter.frame_count == 2 and attention.counter.frame_count == 2


def test_every_module_has_entries_of_its_own():
    counter = CompileCounter()
    modules = [nn.Linear(2, n) for n in range(1, 21)]
    for m in modules:
        compiled, x = torch.compile(m, backend=counter), torch.randn(3, 2)
        assert torch.equal(compiled(x), m(x)) and torch.equal(compiled(x), m(x))
    assert counter.frame_count == 20


def test_compiled_module_is_a_module():
    m = MLP()
    compiled = torch.compile(m)
    assert isinstance(compiled, nn.Module) and type(compiled).__name__ == "OptimizedModule"
    assert compiled._orig_mod is m and compiled.times == 3 and compiled.up is m.up
    compiled.times = 4
    compiled.eval()
    assert m.times == 4 and not m.training and not compiled.training and not m.up.training
    assert next(iter(compiled.state_dict())) == "_orig_mod.up.weight"
    assert torch.compile(compiled)._orig_mod is m
    x = torch.randn(2, 4)
    assert torch.allclose(compiled(x), m(x)) and torch.allclose(compiled.forward(x), m(x))


def test_compile_method():
    m, x = MLP().eval(), torch.randn(2, 4)
    wanted, counter = m(x), CompileCounter()
    m.compile(backend=counter)
    assert torch.equal(m(x), wanted) and torch.equal(m(x), wanted) and counter.frame_count == 1
    assert torch.equal(copy.deepcopy(m)(x), wanted) and counter.frame_count == 1


def functions():
    m, weights = MLP().eval(), nn.ParameterList([torch.ones(3), torch.zeros(3)])
    named = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Tanh()})

    def walk(m, weights, named, x):
        x = named["b"](named["a"](x))
        for part in named.values():
            x = part(x)
        total = sum(p.sum() for p in named.parameters())
        return m(x) * weights[0] + sum(w for w in weights) + total + len(weights) + len(named)

    def ask(m, weights, named, x):
        own = isinstance(m.up.weight, nn.Parameter), type(m.up.weight) is nn.Parameter, hasattr(m, "nothing")
        return x @ m.up.weight.t() + m.up.weight.detach().sum() * m.up.bias.data.sum(), own, getattr(m, "no", 7)

    def change(m, weights, named, x):
        m.up.weight.add_(1)
        m.last = x * 2
        m.count = getattr(m, "count", 0) + 1
        return m.up.weight

    def refuse(m, weights, named, x):
        y = x + 1
        try:
            m.up.weight = y
        except TypeError as error:
            return y, str(error)

    return [(f, (m, weights, named)) for f in (walk, ask, change, refuse)]


@pytest.mark.parametrize("function, made", functions(), ids=lambda v: getattr(v, "__name__", ""))
def test_functions_over_modules(function, made):
    x = torch.randn(5, 4)
    same(function, lambda: (*copy.deepcopy(made), x), breaks=[], backends=("eager",))


def test_parameters_are_inputs_not_copies():
    m = nn.Linear(3, 3)
    assert torch.compile(lambda x: (m.weight, x + 1))(torch.ones(1))[0] is m.weight
    shown = []

    def backend(gm, inputs):
        shown.extend(inputs)
        return gm.forward

    torch.compile(m, backend=backend)(torch.ones(2, 3))
    assert {t.data_ptr() for t in shown} >= {m.weight.data_ptr(), m.bias.data_ptr()}
    assert codes() == set()


def test_requires_grad_of_results():
    x = torch.ones(3, requires_grad=True)
    same(lambda x: (x + 1, x.detach() + 1, x.view(3, 1), x > 0), lambda: (x,), breaks=[])

    def off(x):
        with torch.no_grad():
            y = x + 1
        return y, y + x

    same(off, lambda: (x,), breaks=[])


class Deciding(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        y = self.layer(x)
        if y.sum() > 0:
            y = y * 2
        return self.layer(y) if x.shape[0] < 5 else self.missing


def test_breaks_and_errors_inside_a_module():
    m = Deciding()
    same(lambda m, x: m(x), lambda: (m, torch.ones(2, 4)), frames=2)
    same(lambda m, x: m(x), lambda: (m, torch.zeros(5, 4)), frames=1)
    same(lambda m, x: m(x), lambda: (m, torch.zeros(2, 3)))


def test_explain_and_nesting():
    m, x = MLP().eval(), torch.randn(2, 4)
    for given in (m, torch.compile(m)):
        found = torch._dynamo.explain(given)(x)
        assert (found.graph_count, found.graph_break_count) == (1, 0)
    inner = torch.compile(m)
    assert torch.allclose(torch.compile(lambda x: inner(x) + 1, fullgraph=True)(x), m(x) + 1)


class Length:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __bool__(self):
        return self.n > 2

    def __contains__(self, k):
        return self.n


def test_special_methods_that_give_an_attribute():
    same(lambda o, x: (x + len(o), bool(o), 1 in o), lambda: (Length(3), torch.ones(2)), frames=1, breaks=[])

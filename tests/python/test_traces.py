"""torch.jit.trace: traces with inputs of other sizes, what they keep of a module, warnings, files, refusals."""

import copy
import io
import warnings

import pytest

import minidynamo as torch

nn, F = torch.nn, torch.nn.functional


class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
        self.out, self.drop = nn.Linear(8, 3), nn.Dropout(0.5)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        x = F.max_pool2d(x, 2) if x.shape[2] > 4 else x
        return self.out(self.drop(x.view(x.size(0), -1)))


def sized(x):
    b, n = x.shape
    h = n // 2
    return x.reshape(b * h, 2).sum(1) / b, torch.zeros(b, h), torch.arange(n) + x.size(-1), x[:, :h], x[..., 1:h]


def written(x):
    y = x.clone()
    y[0] = 5
    y.add_(1)
    y += x
    return y


KEPT = torch.tensor([1.0, 2.0, 3.0])
# Function, inputs of the trace, other inputs.
CASES = [
    (lambda x, y: (x + y * 2, x.sum()), (torch.ones(2), torch.ones(2)), (torch.rand(3), torch.rand(3))),
    (lambda x: x.type(torch.float64) + x.double().shape[0], (torch.ones(2),), (torch.rand(5),)),
    (sized, (torch.ones(2, 4),), (torch.rand(3, 6),)),
    (written, (torch.ones(3),), (torch.rand(5),)),
    (lambda x: x + KEPT, (torch.ones(3),), (torch.rand(2, 3),)),
    (lambda x: ((x, x + 1), [x * 2]), (torch.ones(2),), (torch.rand(3),)),
    (lambda d: d["a"] + d["b"], ({"a": torch.ones(2), "b": torch.ones(2)},), ({"a": torch.rand(3), "b": KEPT},)),
    (lambda parts: parts[0] + parts[1][0], ([torch.ones(2), (torch.ones(2),)],), ([torch.rand(3), (torch.rand(3),)],)),
    (lambda x: x.T.reshape(-1, x.shape[0]) * x.numel(), (torch.ones(2, 3),), (torch.rand(4, 5),)),
    (lambda x: torch.cat([x, x.new_zeros(x.size(0), 1)], -1).max(-1).values, (torch.ones(2, 3),), (torch.rand(4, 5),)),
    (nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)), (torch.ones(1, 2),), (torch.rand(4, 2),)),
    (Pictures().eval(), (torch.rand(1, 1, 4, 4),), (torch.rand(3, 1, 4, 4),)),
    (nn.LSTM(3, 4), (torch.rand(5, 2, 3),), (torch.rand(5, 4, 3),)),
    (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(), (torch.rand(1, 3, 4),), (torch.rand(2, 3, 4),)),
    (nn.Sequential(nn.Embedding(5, 3), nn.LayerNorm(3)), (torch.tensor([[1]]),), (torch.tensor([[4, 0], [2, 2]]),)),
]


@pytest.mark.parametrize("case", CASES)
def test_other_inputs(case):
    function, example, other = case
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = torch.jit.trace(function, example)
    torch.testing.assert_close(traced(*other), function(*other))
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    torch.testing.assert_close(torch.jit.load(file)(*other), function(*other))


def test_a_traced_module_has_what_the_module_has():
    module = Pictures().eval()
    traced = torch.jit.trace(module, torch.rand(1, 1, 4, 4))
    assert isinstance(traced, torch.jit.ScriptModule) and type(traced).__name__ == "TopLevelTracedModule"
    assert traced.state_dict().keys() == module.state_dict().keys() and not traced.training
    assert [name for name, _ in traced.named_modules()] == [name for name, _ in module.named_modules()]
    x = torch.rand(2, 1, 4, 4)
    traced.train()
    assert torch.equal(traced(x), module(x))  # dropout as it was when the trace was made
    traced(x).sum().backward()
    assert traced.out.weight.grad is not None
    copied, wanted = copy.deepcopy(traced), module(x)
    with torch.no_grad():
        module.out.bias.add_(1)
    assert not torch.equal(traced(x), wanted) and torch.equal(copied(x), wanted)
    assert torch.equal(torch.compile(copied)(x), wanted)
    assert "linear" in traced.code and len(traced.graph.nodes) > 5
    assert torch.jit.freeze(traced.eval()) is traced and torch.jit.trace(module, torch.rand(1, 1, 4, 4))(x=x).shape == (
        2,
        3,
    )


def test_several_methods():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(3.0))

        def forward(self, x):
            return x + self.scale

        def other(self, x, y):
            return x * y * self.scale

    traced = torch.jit.trace_module(Two(), {"forward": torch.ones(2), "other": (torch.ones(2), torch.ones(2))})
    assert traced(torch.ones(3)).tolist() == [4, 4, 4] and traced.other(torch.ones(1), torch.ones(1)).tolist() == [3]


def test_what_elements_decide_is_kept_with_a_warning():
    for function in (
        lambda x: x + 1 if x.sum() > 0 else x - 1,
        lambda x: x * x.max().item(),
        lambda x: x * float(x[0]),
    ):
        with pytest.warns(torch.jit.TracerWarning):
            traced = torch.jit.trace(function, torch.ones(2), check_trace=False)
        assert torch.equal(traced(torch.ones(2)), function(torch.ones(2)))
        assert not torch.equal(traced(torch.full((2,), -3.0)), function(torch.full((2,), -3.0)))
    calls = []
    with pytest.warns(torch.jit.TracerWarning, match="does not match"):
        torch.jit.trace(lambda x: (calls.append(1), x + len(calls))[1], torch.ones(2))
    drawn = torch.jit.trace(lambda x: x + torch.rand(x.size(0)), torch.ones(2), check_trace=False)
    assert drawn(torch.ones(4)).shape == (4,) and not torch.equal(drawn(torch.ones(4)), drawn(torch.ones(4)))


def test_is_tracing():
    seen = []

    def f(x):
        seen.append(torch.jit.is_tracing())
        return x + 1

    torch.jit.trace(f, torch.ones(1), check_trace=False)
    with pytest.raises(ValueError):
        torch.jit.trace(lambda x: (_ for _ in ()).throw(ValueError()), torch.ones(1))
    assert seen == [True] and not torch.jit.is_tracing()
    g = torch.compile(lambda x: x + 1 if torch.jit.is_tracing() else x - 1, fullgraph=True)
    assert g(torch.ones(1)).item() == 0


def test_what_is_refused():
    x, free = torch.ones(2), torch.ones(2).requires_grad_()
    with pytest.raises(RuntimeError, match="dict at the output"):
        torch.jit.trace(lambda x: {"a": x}, x)
    assert torch.jit.trace(lambda x: {"a": x + 1}, x, strict=False)(x)["a"].tolist() == [2, 2]
    for function in (lambda x: 3, lambda x: None, lambda x: (x, "text")):
        with pytest.raises(RuntimeError):
            torch.jit.trace(function, x)
    with pytest.raises(RuntimeError, match="requires grad as a constant"):
        torch.jit.trace(lambda x: x + free, x)
    with pytest.raises(RuntimeError):
        torch.jit.trace(3, x)
    with pytest.raises(NotImplementedError):
        torch.jit.save(nn.Linear(1, 1), io.BytesIO())
    file = io.BytesIO()
    torch.save({"a": 1}, file)
    file.seek(0)
    with pytest.raises(NotImplementedError):
        torch.jit.load(file)
    traced = torch.jit.trace(lambda x: x + 1, x)
    with pytest.warns(UserWarning, match="already a traced"):
        assert torch.jit.trace(traced, x) is traced

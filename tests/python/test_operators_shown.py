"""Operators a dispatch mode is shown for functions, methods and operators of tensors, recorded from torch 2.13
(operators_shown.txt: `text -> operators | operators where operands require grad, if they are others`), and whether what
they compute, and the gradients, are those without a mode."""

import math
import pathlib

import pytest

import minidynamo as torch
import minidynamo.nn.functional as F  # noqa: F401, N812  the texts name it
from minidynamo.utils._python_dispatch import TorchDispatchMode

LINES = pathlib.Path(__file__).with_name("operators_shown.txt").read_text().splitlines()
DRAWS = (
    "rand",
    "normal",
    "dropout",
    "gumbel",
    "bernoulli",
    "multinomial",
    "poisson(",
    "uniform",
    "exponential",
    "empty",
)


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func).removeprefix("aten."))
        return func(*args, **(kwargs or {}))


def operands(grad):
    torch.manual_seed(0)

    def drawn(*sizes):
        return torch.rand(*sizes).requires_grad_(grad)

    d = {
        "x": drawn(3, 4), "y": drawn(3, 4), "w": drawn(4, 4), "b": drawn(4), "x3": drawn(2, 3, 4), "v4": drawn(4),
        "v3": drawn(3), "w3": drawn(4, 4, 4), "g": drawn(4), "h": drawn(4), "im": drawn(1, 4, 4, 4),
        "rm": torch.zeros(4), "rv": torch.ones(4), "c4": drawn(4), "lp": drawn(3, 4), "t": torch.tensor([0, 1, 2]),
        "t2": torch.tensor([[0, 1], [2, 1]]), "p": drawn(3, 4), "q": torch.rand(3, 4), "s": torch.ones(3, 4),
        "sv": torch.ones(4), "s3": torch.ones(3), "c1": drawn(1), "s1": drawn(2, 3, 6), "k1": drawn(2, 3, 3),
        "k2": drawn(2, 4, 3, 3), "im3": drawn(1, 1, 4, 4, 4), "k3": drawn(1, 1, 2, 2, 2), "kt1": drawn(3, 2, 2),
        "kt2": drawn(4, 2, 2, 2), "gr": drawn(1, 3, 3, 2), "th": drawn(1, 2, 3), "qk": drawn(1, 2, 4, 8),
        "am": torch.ones(4, 4, dtype=torch.bool), "ti": torch.tensor([1, 2, 3]),
        "gi": torch.tensor([[0, 1], [1, 0], [2, 3]]), "z": torch.complex(torch.rand(3, 4), torch.rand(3, 4)),
        "sq": torch.eye(3) * 2 + 0.1, "sig": torch.rand(16), "tm": torch.tensor([[0, 1, -1, 0]] * 3),
    }  # fmt: skip
    for name in ("z", "sq", "sig"):
        d[name].requires_grad_(grad)
    return {**d, "torch": torch, "F": F}


def tensors(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for item in result for t in tensors(item)] if isinstance(result, (list, tuple)) else []


def computed(code, grad, mode):
    """Values, strides and gradients, as lists."""
    given = operands(grad)
    if mode is None:
        results = tensors(eval(code, given))
    else:
        with mode:
            results = tensors(eval(code, given))
    shown = [(str(t.dtype), t.stride(), t.requires_grad, t.detach().tolist()) for t in results]
    ends = [t for t in results if t.requires_grad]
    if not ends:
        return shown
    leaves = [v for v in given.values() if isinstance(v, torch.Tensor) and v.requires_grad and v.is_leaf]
    weights = [(torch.arange(t.numel()) / 7 + 1).reshape(t.shape).to(t.dtype) for t in ends]
    try:
        found = torch.autograd.grad(ends, leaves, weights, allow_unused=True)
    except RuntimeError as error:  # as in torch: no derivative, or none of a larger source
        return shown, str(error)
    return shown, [None if g is None else g.tolist() for g in found]


def alike(a, b):
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, (float, complex)) and isinstance(b, (float, complex)):
        return a == b or abs(a - b) <= 1e-4 * (1 + abs(a)) or (math.isnan(abs(a)) and math.isnan(abs(b)))
    return a == b


@pytest.mark.parametrize("part", range(10))
def test_operators_shown(part):
    wrong = []
    for line in LINES[part::10]:
        text, _, rest = line.partition("  ->")
        without, _, with_gradients = rest.partition("|")
        code = compile(text, "text", "eval")
        for grad, names in ((False, without), (True, with_gradients or without)):
            mode = Seen()
            found = computed(code, grad, mode)
            if mode.names != names.split():
                wrong.append((text, grad, mode.names, names))
            if not any(draw in text for draw in DRAWS) and not alike(computed(code, grad, None), found):
                wrong.append((text, grad, "other values than without a mode"))
    assert not wrong


def test_second_derivatives_go_through_whole_operators():
    x = torch.rand(3, 4, requires_grad=True)
    w = torch.rand(4, requires_grad=True)

    def second(mode):
        with mode or torch.enable_grad():
            y = F.layer_norm(x, (4,), w).sin().sum()
            (first,) = torch.autograd.grad(y, x, create_graph=True)
        return [g.tolist() for g in torch.autograd.grad((first * first).sum(), (x, w))]

    assert alike(second(None), second(Seen()))


def test_a_model():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(8, 4), torch.nn.LayerNorm(4), torch.nn.GELU(), torch.nn.Linear(4, 3),
    )  # fmt: skip
    with Seen() as mode:
        F.cross_entropy(model(torch.rand(5, 1, 4, 4)), torch.tensor([0, 1, 2, 0, 1])).backward()
    forward = """
        convolution.default add_.Tensor empty.memory_format native_batch_norm.default relu.default detach.default
        view.default t.default addmm.default native_layer_norm.default gelu.default t.default addmm.default
        _log_softmax.default detach.default nll_loss_forward.default
    """.split()
    seen = [name for name in mode.names if not name.startswith(("rand", "lift", "add_"))]
    assert seen[: len(forward) - 1] == [name for name in forward if not name.startswith("add_")]
    assert all(p.grad is not None for p in model.parameters())


def test_making_a_layer():
    with Seen() as mode:
        torch.nn.Linear(4, 4)
    assert mode.names == ["empty.memory_format", "empty.memory_format", "uniform_.default", "uniform_.default"]


BACKWARD = pathlib.Path(__file__).with_name("operators_shown_backward.txt").read_text().splitlines()


def first(result):
    while isinstance(result, (list, tuple)):
        result = result[0]
    return result


def gone_back(text, mode=None):
    """The gradients of the operands, and the names shown on the way back."""
    given = operands(True)
    with mode or torch.enable_grad():
        end = first(eval(text, given))
        gradient = torch.ones_like(end)
        if mode:
            mode.names.clear()
        end.backward(gradient)
    names = list(mode.names) if mode else []
    tensors = {n: t for n, t in given.items() if isinstance(t, torch.Tensor)}
    return {n: t.grad.tolist() for n, t in tensors.items() if t.grad is not None}, names


@pytest.mark.parametrize("part", range(5))
def test_operators_shown_in_backward(part):
    """What the way back of a call shows, with ones for gradients (recorded from torch 2.13)."""
    wrong = []
    for line in BACKWARD[part::5]:
        text, _, names = line.partition("  -> ")
        gradients, shown = gone_back(text, Seen())
        if shown != names.split():
            wrong.append((text, names, " ".join(shown)))
        plain, _ = gone_back(text)
        if not any(draw in text for draw in DRAWS):
            if plain.keys() != gradients.keys() or not all(alike(plain[n], gradients[n]) for n in plain):
                wrong.append((text, "other gradients than without a mode"))
    assert not wrong


@pytest.mark.parametrize("transform", [
    torch.func.grad, torch.func.hessian, lambda f: torch.func.grad(lambda x: torch.func.grad(f)(x).pow(2).sum()),
])  # fmt: skip
@pytest.mark.parametrize("function", [
    lambda x: F.layer_norm(x, (3,)).sin().sum(), lambda x: (x.relu() * x.sigmoid()).sum(),
    lambda x: F.cross_entropy(x, torch.tensor([0, 1])), lambda x: (x[1:] * x[0]).sum(),
])  # fmt: skip
def test_transforms_within_a_mode(transform, function):
    x = torch.rand(2, 3)
    expected = transform(function)(x).tolist()
    with Seen():
        assert alike(transform(function)(x).tolist(), expected)

"""Padding of every kind against numpy.pad, with gradients, plain and compiled."""

import numpy as np
import pytest

import minidynamo as torch

pytestmark = pytest.mark.version_free  # numbers, which no Python takes part in computing

F, nn = torch.nn.functional, torch.nn
MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
SHAPES = {1: (2, 3, 6), 2: (2, 3, 5, 6), 3: (2, 2, 4, 5, 6)}


def data(shape):
    return np.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_as_numpy(dims, mode, compiled):
    values, pads = data(SHAPES[dims]), (1, 2, 3, 0, 2, 1)[: 2 * dims]
    widths = [(0, 0)] * 2 + [(pads[2 * i], pads[2 * i + 1]) for i in reversed(range(dims))]

    def padded(x):
        return F.pad(x, pads, mode)

    call = torch.compile(padded) if compiled else padded
    assert np.array_equal(call(torch.tensor(values)).numpy(), np.pad(values, widths, mode=MODES[mode]))
    unbatched = call(torch.tensor(values[0]))
    assert np.array_equal(unbatched.numpy(), np.pad(values[0], widths[1:], mode=MODES[mode]))
    assert torch.autograd.gradcheck(call, (torch.tensor(values[:1], requires_grad=True),))


@pytest.mark.parametrize("mode", MODES)
def test_negative_numbers_take_away(mode):
    x = torch.arange(12.0).view(1, 3, 4)
    assert F.pad(x, (-1, -2), mode).tolist() == x[:, :, 1:2].tolist()


def test_modes_that_cut_and_grow():
    x = torch.arange(4.0).view(1, 1, 4)
    assert F.pad(x, (-2, 3), "reflect").flatten().tolist() == [2, 3, 2, 1, 0]
    assert F.pad(x, (-1, 1), "circular").flatten().tolist() == [1, 2, 3, 1]
    assert F.pad(x, (-1, 1), "replicate").flatten().tolist() == [1, 2, 3, 3]


def test_layers():
    x = torch.arange(12.0).view(1, 1, 3, 4)
    for kind, mode in (("Reflection", "reflect"), ("Replication", "replicate"), ("Circular", "circular")):
        made = getattr(nn, f"{kind}Pad2d")((1, 2, 0, 1))
        assert torch.equal(made(x), F.pad(x, (1, 2, 0, 1), mode))
        assert repr(made) == f"{kind}Pad2d((1, 2, 0, 1))"
    assert repr(nn.ConstantPad1d(1, 2.5)) == "ConstantPad1d(padding=(1, 1), value=2.5)"
    assert nn.ConstantPad3d(1, 2.5)(x).shape == (1, 3, 5, 6) and repr(nn.ZeroPad1d(2)) == "ZeroPad1d((2, 2))"


@pytest.mark.parametrize(
    "pad, mode, value, kind",
    [
        ((4, 0), "reflect", None, RuntimeError),
        ((5, 0), "circular", None, RuntimeError),
        ((1, 1), "reflect", 2.0, RuntimeError),
        ((1, 1, 1), "reflect", None, RuntimeError),
        ((1, 1, 1, 1, 1, 1), "reflect", None, NotImplementedError),
        ((1, 1), "mirror", None, NotImplementedError),
    ],
)
def test_wrong_arguments(pad, mode, value, kind):
    with pytest.raises(kind):
        F.pad(torch.ones(1, 3, 4), pad, mode, value)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_convolutions_pad_first(mode):
    made = nn.Conv2d(2, 3, 3, padding=1, padding_mode=mode)
    x = torch.randn(1, 2, 5, 6)
    plain = F.conv2d(F.pad(x, (1, 1, 1, 1), mode), made.weight, made.bias)
    assert torch.equal(made(x), plain) and f"padding_mode={mode}" in repr(made)
    even = nn.Conv1d(2, 3, 4, padding="same", padding_mode=mode)
    assert even(x[0, :, 0]).shape == (3, 6)
    with pytest.raises(ValueError):
        nn.ConvTranspose2d(2, 3, 3, padding_mode=mode)

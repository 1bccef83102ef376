"""Recurrent layers against the textbook's equations in NumPy, and traced when that is asked for."""

import numpy as np
import pytest

import minidynamo as torch

RNG = np.random.default_rng(7)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(mode, x, states, w_ih, w_hh, b_ih, b_hh):
    """One step of one direction: the new states, hidden first."""
    gates_x, gates_h = x @ w_ih.T + b_ih, states[0] @ w_hh.T + b_hh
    if mode == "GRU":
        (rx, zx, nx), (rh, zh, nh) = np.split(gates_x, 3, -1), np.split(gates_h, 3, -1)
        update = sigmoid(zx + zh)
        return ((1 - update) * np.tanh(nx + sigmoid(rx + rh) * nh) + update * states[0],)
    if mode == "LSTM":
        i, f, g, o = np.split(gates_x + gates_h, 4, -1)
        cell = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(g)
        return (sigmoid(o) * np.tanh(cell), cell)
    return (np.tanh(gates_x + gates_h) if mode == "RNN_TANH" else np.maximum(gates_x + gates_h, 0),)


def expected(layer, x, states):
    """(length, batch, width) through all layers: the outputs, and the last states, as the layer stacks them."""
    weights = {name: value.detach().numpy() for name, value in layer.named_parameters()}
    finals = []
    for number in range(layer.num_layers):
        outputs = []
        for suffix in ("", "_reverse") if layer.bidirectional else ("",):
            parts = [
                weights.get(f"{name}_l{number}{suffix}", 0.0)
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            ]
            now, hidden = tuple(s[len(finals)] for s in states), []
            for time in range(len(x))[::-1] if suffix else range(len(x)):
                now = step(layer.mode, x[time], now, *parts)
                hidden.append(now[0])
            outputs.append(np.stack(hidden[::-1] if suffix else hidden))
            finals.append(now)
        x = np.concatenate(outputs, -1)
    return x, [np.stack([states[k] for states in finals]) for k in range(len(finals[0]))]


MAKERS = {
    "tanh": lambda **options: torch.nn.RNN(3, 4, **options),
    "relu": lambda **options: torch.nn.RNN(3, 4, nonlinearity="relu", **options),
    "LSTM": lambda **options: torch.nn.LSTM(3, 4, **options),
    "GRU": lambda **options: torch.nn.GRU(3, 4, **options),
}
OPTIONS = [{}, {"num_layers": 2}, {"bidirectional": True, "num_layers": 2}, {"bias": False}]


def flat(result):
    output, states = result
    return [output, *(states if isinstance(states, tuple) else (states,))]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", MAKERS)
def test_layer(name, options):
    layer = MAKERS[name](dtype=torch.float64, **options)
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    x = RNG.standard_normal((5, 2, 3))
    states = [RNG.standard_normal((count, 2, 4)) for _ in range(2 if name == "LSTM" else 1)]
    given = tuple(torch.from_numpy(s) for s in states)
    output, finals = expected(layer, x, states)
    found = flat(layer(torch.from_numpy(x), given if name == "LSTM" else given[0]))
    for want, got in zip([output, *finals], found, strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-12, atol=1e-12)
    zeros = [np.zeros_like(s) for s in states]
    for want, got in zip([expected(layer, x, zeros)[0]], flat(layer(torch.from_numpy(x)))):
        np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", MAKERS)
def test_batch_first_and_no_batch(name):
    layer = MAKERS[name]()
    first = MAKERS[name](batch_first=True)
    first.load_state_dict(layer.state_dict())
    x = torch.randn(5, 2, 3)
    output, *states = flat(layer(x))
    transposed, *same = flat(first(x.transpose(0, 1)))
    assert torch.equal(transposed, output.transpose(0, 1)) and all(map(torch.equal, states, same))
    alone, *ends = flat(layer(x[:, 1]))
    assert alone.shape == (5, 4)
    np.testing.assert_allclose(alone.detach().numpy(), output[:, 1].detach().numpy(), atol=1e-6)
    assert all(e.shape == (1, 4) for e in ends)


@pytest.mark.parametrize("cell, layer", [("RNNCell", "RNN"), ("LSTMCell", "LSTM"), ("GRUCell", "GRU")])
def test_cell_is_one_step(cell, layer):
    whole = getattr(torch.nn, layer)(3, 4)
    one = getattr(torch.nn, cell)(3, 4)
    one.load_state_dict({name.removesuffix("_l0"): value for name, value in whole.state_dict().items()})
    x = torch.randn(2, 3)
    states = one(x)
    found = states if isinstance(states, tuple) else (states,)
    for want, got in zip(flat(whole(x.unsqueeze(0)))[1:], found, strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want[0].detach().numpy(), atol=1e-6)
    again = one(x, states)
    assert (again if isinstance(again, tuple) else (again,))[0].shape == (2, 4)
    assert repr(one) == f"{cell}(3, 4)"


@pytest.mark.parametrize("name", MAKERS)
def test_traced_when_asked_for(name):
    layer = MAKERS[name](num_layers=2).eval()
    x = torch.randn(4, 2, 3)
    plain = flat(layer(x))
    torch._dynamo.reset()
    with torch._dynamo.config.patch(allow_rnn=True):
        compiled = flat(torch.compile(layer, fullgraph=True)(x))
    assert all(map(torch.equal, plain, compiled))
    torch._dynamo.reset()
    assert all(map(torch.equal, plain, flat(torch.compile(layer)(x))))


def test_dropout_between_layers_only_in_training():
    layer = torch.nn.GRU(3, 4, num_layers=2, dropout=1.0)
    x = torch.randn(4, 2, 3)
    trained, evaluated = layer(x)[0], layer.eval()(x)[0]
    assert not torch.equal(trained, evaluated)
    assert repr(layer) == "GRU(3, 4, num_layers=2, dropout=1.0)"


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: torch.nn.GRU(3, 0), ValueError),
        (lambda: torch.nn.GRU(3, 4, num_layers=0), ValueError),
        (lambda: torch.nn.GRU(3, 4, dropout=2.0), ValueError),
        (lambda: torch.nn.RNN(3, 4, nonlinearity="abs"), ValueError),
        (lambda: torch.nn.LSTM(3, 4, proj_size=4), ValueError),
        (lambda: torch.nn.GRU(3, 4, proj_size=2), ValueError),
        (lambda: torch.nn.RNNBase("XYZ", 3, 4), ValueError),
        (lambda: torch.nn.GRU(3, 4)(torch.ones(3)), ValueError),
        (lambda: torch.nn.GRU(3, 4)(torch.ones(5, 2, 2)), RuntimeError),
        (lambda: torch.nn.GRU(3, 4)(torch.ones(5, 2, 3), torch.ones(1, 3, 4)), RuntimeError),
        (lambda: torch.nn.GRUCell(3, 4)(torch.ones(1, 2, 3)), ValueError),
    ],
)
def test_errors(make, error):
    with pytest.raises(error):
        make()


# --- One step of an LSTM as an op


def lstm_step_by_parts(gates, cell):
    i, f, g, o = gates.chunk(4, -1)
    following = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * following.tanh(), following


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("used", ["both", "hidden", "cell"])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_a_step_has_the_gradients_of_its_parts(lead, used, compiled):
    torch._dynamo.reset()
    found = []
    for step_of in (torch._lstm_cell, lstm_step_by_parts):
        gates = torch.tensor(np.random.default_rng(0).standard_normal((*lead, 20)), requires_grad=True)
        cell = torch.tensor(np.random.default_rng(1).standard_normal((*lead, 5)), requires_grad=True)

        def loss(gates, cell, step_of=step_of):
            hidden, following = step_of(gates, cell)
            return (hidden * 3).sum() * (used != "cell") + (following**2).sum() * (used != "hidden")

        (torch.compile(loss, fullgraph=True) if compiled else loss)(gates, cell).backward()
        found.append((gates.grad.numpy(), cell.grad.numpy()))
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_second_derivatives_of_a_step_and_what_it_refuses():
    draws = np.random.default_rng(0)
    gates = torch.tensor(draws.standard_normal((2, 8)), requires_grad=True)
    cell = torch.tensor(draws.standard_normal((2, 2)), requires_grad=True)
    assert torch.autograd.gradcheck(torch._lstm_cell, (gates, cell))
    assert torch.autograd.gradgradcheck(torch._lstm_cell, (gates, cell))
    only_gates = torch._lstm_cell(gates, cell.detach())[0].sum()
    assert torch.autograd.grad(only_gates, gates)[0].shape == (2, 8)
    with pytest.raises(RuntimeError, match="7 columns of gates for 2"):
        torch._lstm_cell(torch.ones(2, 7), torch.ones(2, 2))
    half = torch._lstm_cell(torch.ones(2, 8, dtype=torch.bfloat16), torch.ones(2, 2, dtype=torch.bfloat16))
    assert half[0].dtype is torch.bfloat16

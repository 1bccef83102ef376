"""Recurrent layers: RNN, LSTM and GRU over sequences, and their single steps as cells.

Compiled functions leave the layers alone (graph break GB0014) unless `_dynamo.config.allow_rnn` is set: a trace unrolls
them over time.
"""

import math

from .. import _C
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


def _rnn_step(gates_x, gates_h, state, activation):
    hidden = activation(gates_x + gates_h)
    return hidden, (hidden,)


def _lstm_step(gates_x, gates_h, state, activation):
    i, f, g, o = (gates_x + gates_h).chunk(4, -1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    hidden = o.sigmoid() * cell.tanh()
    return hidden, (hidden, cell)


def _gru_step(gates_x, gates_h, state, activation):
    reset_x, update_x, new_x = gates_x.chunk(3, -1)
    reset_h, update_h, new_h = gates_h.chunk(3, -1)
    update = (update_x + update_h).sigmoid()
    new = (new_x + (reset_x + reset_h).sigmoid() * new_h).tanh()
    hidden = new + update * (state[0] - new)
    return hidden, (hidden,)


# mode: gates, states, one step from the gates' two halves and the states
_MODES = {
    "RNN_TANH": (1, 1, _rnn_step),
    "RNN_RELU": (1, 1, _rnn_step),
    "LSTM": (4, 2, _lstm_step),
    "GRU": (3, 1, _gru_step),
}


def _activation(mode):
    return _C.relu if mode == "RNN_RELU" else _C.tanh


class RNNBase(Module):
    """What RNN, LSTM and GRU share: weights per layer and direction, and the walk over time."""

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        if mode not in _MODES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element")
        if proj_size:
            raise NotImplementedError("proj_size is not part of minidynamo: put a Linear after the layer")
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        gates = _MODES[mode][0]
        directions = ("", "_reverse") if bidirectional else ("",)
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * len(directions)
            for suffix in directions:
                shapes = {"weight_ih": (gates * hidden_size, width), "weight_hh": (gates * hidden_size, hidden_size)}
                if bias:
                    shapes |= {"bias_ih": (gates * hidden_size,), "bias_hh": (gates * hidden_size,)}
                for name, shape in shapes.items():
                    weight = Parameter(_C.empty(shape, device=device, dtype=dtype))
                    self.register_parameter(f"{name}_l{layer}{suffix}", weight)
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self):
        """Nothing to do: weights are used where they are."""

    def _one_way(self, steps, states, layer, suffix):
        """The hidden state after each of the steps, in their order, and the last states."""
        ends = f"_l{layer}{suffix}"
        w_ih, w_hh = getattr(self, "weight_ih" + ends), getattr(self, "weight_hh" + ends)
        b_ih = getattr(self, "bias_ih" + ends) if self.bias else None
        b_hh = getattr(self, "bias_hh" + ends) if self.bias else None
        step, activation = _MODES[self.mode][2], _activation(self.mode)
        gates = F.linear(steps, w_ih, b_ih)
        hidden = []
        times = range(steps.shape[0])
        for time in reversed(times) if suffix else times:
            out, states = step(gates[time], F.linear(states[0], w_hh, b_hh), states, activation)
            hidden.append(out)
        return _C.stack(hidden[::-1] if suffix else hidden), states

    def _initial(self, steps, given):
        """Each state as (layers * directions, batch, hidden): those given, or zeros."""
        count = self.num_layers * (2 if self.bidirectional else 1)
        shape = (count, steps.shape[1], self.hidden_size)
        if given is None:
            return [_C.zeros(shape, dtype=steps.dtype, device=steps.device) for _ in range(_MODES[self.mode][1])]
        for state in given:
            if tuple(state.shape) != shape:
                raise RuntimeError(f"Expected hidden size {shape}, got {list(state.shape)}")
        return given

    def _walk(self, input, given):
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D tensor")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        batched = input.dim() == 3
        steps = input.unsqueeze(1) if not batched else input.transpose(0, 1) if self.batch_first else input
        if given is not None and not batched:
            given = [state.unsqueeze(1) for state in given]
        initial = self._initial(steps, given)
        last = []
        directions = ("", "_reverse") if self.bidirectional else ("",)
        for layer in range(self.num_layers):
            outputs = []
            for suffix in directions:
                start = tuple([state[len(last)] for state in initial])
                out, states = self._one_way(steps, start, layer, suffix)
                outputs.append(out)
                last.append(states)
            steps = _C.cat(outputs, -1) if len(outputs) > 1 else outputs[0]
            if self.dropout and layer + 1 < self.num_layers:
                steps = F.dropout(steps, self.dropout, self.training)
        finals = [_C.stack([states[k] for states in last]) for k in range(len(initial))]
        if not batched:
            return steps.squeeze(1), [state.squeeze(1) for state in finals]
        return (steps.transpose(0, 1) if self.batch_first else steps), finals

    def forward(self, input, hx=None):
        output, (hidden,) = self._walk(input, None if hx is None else [hx])
        return output, hidden

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        for name, default in defaults.items():
            value = getattr(self, name)
            text += f", {name}={value}" if value != default else ""
        return text


class RNN(RNNBase):
    """h' = tanh or relu of W x + b + V h + c, step after step: (output, last h)."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", **options):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, **options)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997): (output, (last h, last c))."""

    def __init__(self, input_size, hidden_size, num_layers=1, *args, **options):
        super().__init__("LSTM", input_size, hidden_size, num_layers, *args, **options)

    def forward(self, input, hx=None):
        output, finals = self._walk(input, None if hx is None else list(hx))
        return output, tuple(finals)


class GRU(RNNBase):
    """Gated recurrent unit (Cho et al. 2014): (output, last h)."""

    def __init__(self, input_size, hidden_size, num_layers=1, *args, **options):
        super().__init__("GRU", input_size, hidden_size, num_layers, *args, **options)


class RNNCellBase(Module):
    """One step of a layer of one direction."""

    def __init__(self, mode, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        rows = _MODES[mode][0] * hidden_size
        self.weight_ih = Parameter(_C.empty(rows, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(_C.empty(rows, hidden_size, device=device, dtype=dtype))
        self.bias = bias
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(_C.empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _states(self, input, given):
        if input.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        gates_x = F.linear(input, self.weight_ih, self.bias_ih)
        if given is None:
            zero = _C.zeros((*input.shape[:-1], self.hidden_size), dtype=input.dtype, device=input.device)
            given = (zero,) * _MODES[self.mode][1]
        gates_h = F.linear(given[0], self.weight_hh, self.bias_hh)
        return _MODES[self.mode][2](gates_x, gates_h, given, _activation(self.mode))[1]

    def forward(self, input, hx=None):
        return self._states(input, None if hx is None else (hx,))[0]

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(RNNCellBase):
    """One step of RNN."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity


class LSTMCell(RNNCellBase):
    """One step of LSTM: (h, c)."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__("LSTM", input_size, hidden_size, bias, device, dtype)

    def forward(self, input, hx=None):
        return self._states(input, hx)


class GRUCell(RNNCellBase):
    """One step of GRU."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__("GRU", input_size, hidden_size, bias, device, dtype)

"""Recurrent layers: RNN, LSTM and GRU over sequences.

Compiled functions leave the layers alone (graph break GB0014) unless `_dynamo.config.allow_rnn` is set: a trace unrolls
them over time.
"""

import math
import warnings

from .. import _C
from . import functional as F
from . import init
from .module import Module
from .packed_sequence import PackedSequence
from .parameter import Parameter
from .recurrent_steps import MODES, activation_of

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]


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
        super().__init__()
        _check_settings(mode, input_size, hidden_size, num_layers, dropout, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        rows = MODES[mode][0] * hidden_size
        width = proj_size or hidden_size
        self._all_weights = []
        for layer in range(num_layers):
            columns = input_size if layer == 0 else width * len(self._directions())
            for suffix in self._directions():
                shapes = {"weight_ih": (rows, columns), "weight_hh": (rows, width)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values()):
                    self.register_parameter(name, Parameter(_C.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    def _directions(self):
        return ("", "_reverse") if self.bidirectional else ("",)

    @property
    def all_weights(self):
        """The weights of each layer and direction, a list of lists."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self):
        """Nothing to do: weights are used where they are."""

    def _step(self, layer, suffix):
        """A function of gates and states that gives the next states, of which the first is the output."""
        ends = f"_l{layer}{suffix}"
        weight = getattr(self, "weight_hh" + ends)
        bias = getattr(self, "bias_hh" + ends) if self.bias else None
        projection = getattr(self, "weight_hr" + ends) if self.proj_size else None
        step, activation = MODES[self.mode][2], activation_of(self.mode)

        def advance(gates, states):
            states = step(gates, F.linear(states[0], weight, bias), states, activation)
            return states if projection is None else (F.linear(states[0], projection), *states[1:])

        return advance

    def _gates(self, steps, layer, suffix):
        ends = f"_l{layer}{suffix}"
        bias = getattr(self, "bias_ih" + ends) if self.bias else None
        return F.linear(steps, getattr(self, "weight_ih" + ends), bias)

    def _one_way(self, steps, states, layer, suffix):
        """The hidden state after each of the steps, in their order, and the last states."""
        advance, gates = self._step(layer, suffix), self._gates(steps, layer, suffix)
        hidden = []
        times = range(steps.shape[0])
        for time in reversed(times) if suffix else times:
            states = advance(gates[time], states)
            hidden.append(states[0])
        return _C.stack(hidden[::-1] if suffix else hidden), states

    def _one_way_packed(self, data, batch_sizes, states, layer, suffix):
        """The same for packed steps: sequences end (on the way back, begin) where the batch gets smaller."""
        advance, parts = self._step(layer, suffix), self._gates(data, layer, suffix).split(batch_sizes)
        first, ended, hidden = states, [], []
        if suffix:
            states = tuple([state[: batch_sizes[-1]] for state in first])
        for gates in reversed(parts) if suffix else parts:
            count, before = gates.shape[0], states[0].shape[0]
            if count < before:
                ended.append([state[count:] for state in states])
                states = tuple([state[:count] for state in states])
            elif count > before:
                states = tuple([_C.cat([state, start[before:count]]) for state, start in zip(states, first)])
            states = advance(gates, states)
            hidden.append(states[0])
        last = [_C.cat([state, *[rest[k] for rest in reversed(ended)]]) for k, state in enumerate(states)]
        return _C.cat(hidden[::-1] if suffix else hidden), tuple(last)

    def _state_sizes(self, batch):
        """The shape each state has to have."""
        count = self.num_layers * len(self._directions())
        hidden = (count, batch, self.proj_size or self.hidden_size)
        return [hidden, (count, batch, self.hidden_size)][: MODES[self.mode][1]]

    def _initial(self, steps, batch, given):
        """Each state as (layers * directions, batch, hidden): those given, or zeros."""
        shapes = self._state_sizes(batch)
        if given is None:
            return [_C.zeros(shape, dtype=steps.dtype, device=steps.device) for shape in shapes]
        for number, (state, shape) in enumerate(zip(given, shapes)):
            if tuple(state.shape) != shape:
                name = f"hidden[{number}]" if len(shapes) > 1 else "hidden"
                raise RuntimeError(f"Expected {name} size {shape}, got {list(state.shape)}")
        return given

    def _layers(self, steps, initial, one_way):
        """(output, last states) behind all layers; `one_way` walks one direction of one of them."""
        last = []
        for layer in range(self.num_layers):
            outputs = []
            for suffix in self._directions():
                start = tuple([state[len(last)] for state in initial])
                out, states = one_way(steps, start, layer, suffix)
                outputs.append(out)
                last.append(states)
            steps = _C.cat(outputs, -1) if len(outputs) > 1 else outputs[0]
            if self.dropout and layer + 1 < self.num_layers:
                steps = F.dropout(steps, self.dropout, self.training)
        return steps, [_C.stack([states[k] for states in last]) for k in range(len(initial))]

    def _check_input(self, input, packed):
        if not packed and input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        weight = self.weight_ih_l0
        if input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}): give the input as "
                f"input.to({weight.dtype}), or make the layer {input.dtype}"
            )

    def _walk_packed(self, packed, given):
        data, batch_sizes, order, back = packed
        self._check_input(data, True)
        sizes = batch_sizes.tolist()
        if given is not None:
            self._initial(data, sizes[0], given)
            given = [state if order is None else state.index_select(1, order) for state in given]
        initial = self._initial(data, sizes[0], given)

        def one_way(steps, start, layer, suffix):
            return self._one_way_packed(steps, sizes, start, layer, suffix)

        output, finals = self._layers(data, initial, one_way)
        finals = [state if back is None else state.index_select(1, back) for state in finals]
        return PackedSequence(output, batch_sizes, order, back), finals

    def _walk(self, input, given):
        """(output, last states); `given` is a list of states or None."""
        if isinstance(input, PackedSequence):
            return self._walk_packed(input, given)
        self._check_input(input, False)
        batched = input.dim() == 3
        for state in given or ():
            if state.dim() != input.dim():
                kind = "batched" if batched else "unbatched"
                raise RuntimeError(
                    f"For {kind} {input.dim()}-D input, the states should also be {input.dim()}-D but got "
                    f"{state.dim()}-D"
                )
        steps = input.unsqueeze(1) if not batched else input.transpose(0, 1) if self.batch_first else input
        if steps.shape[0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        if given is not None and not batched:
            given = [state.unsqueeze(1) for state in given]
        steps, finals = self._layers(steps, self._initial(steps, steps.shape[1], given), self._one_way)
        if not batched:
            return steps.squeeze(1), [state.squeeze(1) for state in finals]
        return (steps.transpose(0, 1) if self.batch_first else steps), finals

    def forward(self, input, hx=None):
        output, (hidden,) = self._walk(input, None if hx is None else [hx])
        return output, hidden

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0}
        usual["bidirectional"] = False
        for name, default in usual.items():
            value = getattr(self, name)
            text += f", {name}={value}" if value != default else ""
        return text


def _check_settings(mode, input_size, hidden_size, num_layers, dropout, proj_size):
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element")
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            f"dropout={dropout} is between layers, and there is one layer only: it has no effect", stacklevel=4
        )
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
    if hidden_size <= 0:
        raise ValueError("hidden_size must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if mode not in MODES:
        raise ValueError(f"Unrecognized RNN mode: {mode}")


def _without_projection(options, kind):
    if "proj_size" in options:
        raise ValueError(f"proj_size argument is only supported for LSTM, not {kind}")


class RNN(RNNBase):
    """h' = tanh or relu of W x + b + V h + c, step after step: (output, last h)."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **options):
        _without_projection(options, "RNN")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, *args, **options)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997): (output, (last h, last c)).

    `proj_size`: h is projected to so many elements (Sak et al. 2014).
    """

    def __init__(self, input_size, hidden_size, num_layers=1, *args, **options):
        super().__init__("LSTM", input_size, hidden_size, num_layers, *args, **options)

    def forward(self, input, hx=None):
        output, finals = self._walk(input, None if hx is None else list(hx))
        return output, tuple(finals)


class GRU(RNNBase):
    """Gated recurrent unit (Cho et al. 2014): (output, last h)."""

    def __init__(self, input_size, hidden_size, num_layers=1, *args, **options):
        _without_projection(options, "GRU")
        super().__init__("GRU", input_size, hidden_size, num_layers, *args, **options)

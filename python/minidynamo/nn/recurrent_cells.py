"""Single steps of the recurrent layers."""

import math

from .. import _C
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .recurrent_steps import MODES, activation_of

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """One step of a layer of one direction; weights for `num_chunks` gates."""

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(_C.empty(rows, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(_C.empty(rows, hidden_size, device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(_C.empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check(self, input, states):
        if input.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.shape[-1]} expected {self.input_size}")
        for number, state in enumerate(states):
            if state.dim() not in (1, 2):
                raise ValueError(f"{self._get_name()}: Expected hidden to be 1D or 2D, got {state.dim()}D instead")
            if state.shape[:-1] != input.shape[:-1]:
                raise RuntimeError(
                    f"input of shape {list(input.shape)} doesn't match hidden{number} of shape {list(state.shape)}"
                )
            if state.shape[-1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{number} has inconsistent hidden_size: got {state.shape[-1]}, expected {self.hidden_size}"
                )

    def _states(self, mode, input, given):
        if given is None:
            zero = _C.zeros((*input.shape[:-1], self.hidden_size), dtype=input.dtype, device=input.device)
            given = (zero,) * MODES[mode][1]
        self._check(input, given)
        gates_x = F.linear(input, self.weight_ih, self.bias_ih)
        gates_h = F.linear(given[0], self.weight_hh, self.bias_hh)
        return MODES[mode][2](gates_x, gates_h, given, activation_of(mode))

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """One step of RNN."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}; it is 'tanh' or 'relu'")
        return self._states(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """One step of LSTM: (h, c)."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return self._states("LSTM", input, hx)


class GRUCell(RNNCellBase):
    """One step of GRU."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._states("GRU", input, None if hx is None else (hx,))[0]

"""One step of each recurrent layer: the next states from the gates' two halves and the states."""

from .. import _C


def _rnn_step(gates_x, gates_h, state, activation):
    return (activation(gates_x + gates_h),)


def _lstm_step(gates_x, gates_h, state, activation):
    hidden, cell = _C._lstm_cell(gates_x + gates_h, state[1])
    return hidden, cell


def _gru_step(gates_x, gates_h, state, activation):
    reset_x, update_x, new_x = gates_x.chunk(3, -1)
    reset_h, update_h, new_h = gates_h.chunk(3, -1)
    update = (update_x + update_h).sigmoid()
    new = (new_x + (reset_x + reset_h).sigmoid() * new_h).tanh()
    return (new + update * (state[0] - new),)


# mode: gates, states, step
MODES = {
    "RNN_TANH": (1, 1, _rnn_step),
    "RNN_RELU": (1, 1, _rnn_step),
    "LSTM": (4, 2, _lstm_step),
    "GRU": (3, 1, _gru_step),
}


def activation_of(mode):
    return _C.relu if mode == "RNN_RELU" else _C.tanh

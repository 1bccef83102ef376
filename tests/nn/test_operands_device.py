"""Layers and functions make what they need where their operands are, whatever the default device."""

import pytest

import minidynamo as torch
from minidynamo import nn
from minidynamo.nn import functional as F

x = torch.linspace(-1, 1, 24).reshape(2, 3, 4)
mask = torch.tensor([[False, True, True], [False, False, True], [False, False, False]])
padding = torch.tensor([[False, False, True], [False, False, False]])

CALLS = {
    "pad": lambda _: F.pad(x, (1, 2, -1, 1), value=3.0),
    "sdpa_causal": lambda _: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "sdpa_mask": lambda _: F.scaled_dot_product_attention(x, x, x, ~mask),
    "rnn": lambda made: made(x),
    "lstm": lambda made: made(x),
    "gru": lambda made: made(x),
    "rnn_cell": lambda made: made(x[0]),
    "lstm_cell": lambda made: made(x[0]),
    "gru_cell": lambda made: made(x[0]),
    "attention": lambda made: made(x, x, x, attn_mask=mask, key_padding_mask=padding),
    "encoder": lambda made: made(x, src_mask=mask, is_causal=True),
    "eye": lambda _: nn.init.eye_(torch.empty(2, 3, device="cpu")),
}
LAYERS = {
    "rnn": lambda: nn.RNN(4, 2, bidirectional=True),
    "lstm": lambda: nn.LSTM(4, 2, num_layers=2),
    "gru": lambda: nn.GRU(4, 2, batch_first=True),
    "rnn_cell": lambda: nn.RNNCell(4, 2),
    "lstm_cell": lambda: nn.LSTMCell(4, 2),
    "gru_cell": lambda: nn.GRUCell(4, 2),
    "attention": lambda: nn.MultiheadAttention(4, 2, batch_first=True),
    "encoder": lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True),
}


def flat(value):
    return [t for part in value for t in flat(part)] if isinstance(value, (tuple, list)) else [value]


@pytest.mark.parametrize("name", CALLS)
def test_operands_decide(name):
    torch.manual_seed(0)
    layer = LAYERS[name]() if name in LAYERS else None
    expected = flat(CALLS[name](layer))
    with torch.device("meta"):
        made = flat(CALLS[name](layer))
    assert [t.device for t in made] == [torch.device("cpu")] * len(expected)
    assert [t.tolist() for t in made] == [t.tolist() for t in expected]

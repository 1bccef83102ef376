"""Calls of functions of torch's namespace that few programs name; what torch 2.13 gives is in rarer_functions.json.

`torch` is set by who imports this: minidynamo in tests, torch itself where the values are recorded.
"""

import functools
import math


def waves(torch, *sizes, k=0.3, dt=None):
    numbers = (torch.arange(math.prod(sizes), dtype=torch.float64) * 0.7 + k).sin() * 2
    return numbers.reshape(sizes).to(dt or torch.float32)


def programs(torch):
    """{name: function without arguments}."""
    w = functools.partial(waves, torch)
    return {**of_numbers(torch, w), **of_layers(torch, w), **of_recurrent_layers(torch, w)}


def of_numbers(torch, w):
    return {
        "frexp": lambda: torch.frexp(torch.tensor([0.0, 1.0, -3.5, 1e-40, 3e38, float("inf"), float("nan"), -0.0])),
        "frexp64": lambda: torch.frexp(torch.tensor([5e-324, 1.7e308, -1e-310], dtype=torch.float64)),
        "frexph": lambda: torch.frexp(w(4).half()),
        "frexpm": lambda: w(4).frexp().exponent,
        "frexpi": lambda: torch.frexp(torch.tensor([1])),
        "nzs": lambda: torch.nonzero_static(torch.tensor([[0, 1, 2], [3, 0, 1]]), size=6),
        "nzs2": lambda: torch.nonzero_static(torch.tensor([[0, 1, 2], [3, 0, 1]]), size=2),
        "nzs3": lambda: torch.tensor([0.0, 1.0, 2.0]).nonzero_static(size=3, fill_value=7),
        "nzs4": lambda: torch.nonzero_static(torch.tensor(3.0), size=2),
        "nzs5": lambda: torch.nonzero_static(w(2), size=-1),
        "ass": lambda: torch.as_strided_scatter(torch.zeros(3, 3), torch.ones(2, 2), (2, 2), (1, 2)),
        "ass2": lambda: torch.as_strided_scatter(torch.zeros(3, 3), torch.ones(2, 2), (2, 2), (1, 2), 1),
        "ass3": lambda: torch.zeros(4, 3).t()[:, 1:].as_strided_scatter(torch.ones(2, 2), (2, 2), (1, 2)),
        "ass4": lambda: torch.as_strided_scatter(torch.zeros(3, 3), torch.ones(2, 3), (2, 2), (1, 2)),
        "hist": lambda: torch.histogram(
            torch.tensor([1.0, 2, 1]), 4, range=(0.0, 3.0), weight=torch.tensor([1.0, 2.0, 4.0])
        ),
        "hist2": lambda: torch.histogram(w(20), bins=5),
        "hist3": lambda: torch.histogram(w(20), bins=5, density=True),
        "hist4": lambda: torch.histogram(w(20), torch.tensor([-1.0, 0.0, 0.5, 2.0])),
        "hist4d": lambda: torch.histogram(w(20), torch.tensor([-1.0, 0.0, 0.5, 2.0]), density=True),
        "hist5": lambda: torch.histogram(torch.ones(3), 3),
        "hist6": lambda: torch.histogram(torch.arange(4), 3),
        "hist7": lambda: torch.histogram(w(4), 0),
        "hist8": lambda: torch.histogram(torch.zeros(0), 3),
        "hdd": lambda: torch.histogramdd(w(10, 2), bins=[2, 3]),
        "hdd2": lambda: torch.histogramdd(w(10, 2), bins=3, range=[-1.0, 1.0, -2.0, 2.0], density=True),
        "hdd3": lambda: torch.histogramdd(
            w(6, 2), bins=[torch.tensor([-1.0, 0.0, 1.0]), torch.tensor([-2.0, 0.0, 2.0])], weight=w(6)
        ),
    }


def of_layers(torch, w):
    def i64(*numbers):
        return torch.tensor(numbers)

    return {
        "unsafe": lambda: (
            torch.unsafe_chunk(w(5), 2),
            torch.unsafe_split(w(5), 2),
            torch.unsafe_split_with_sizes(w(5), [2, 3]),
            w(4).unsafe_chunk(2),
        ),
        "bce": lambda: torch.binary_cross_entropy_with_logits(w(4), w(4, k=1).sigmoid(), None, None, 2),
        "cos": lambda: torch.cosine_embedding_loss(w(2, 3), w(2, 3, k=1), i64(1, -1), 0.1, 0),
        "ctc": lambda: torch.ctc_loss(w(5, 1, 4).log_softmax(2), i64(1, 2).reshape(1, 2), i64(5), i64(2)),
        "hinge": lambda: torch.hinge_embedding_loss(w(3), i64(1, -1, 1)),
        "kl": lambda: (
            torch.kl_div(w(3), w(3).exp()),
            torch.kl_div(w(3), w(3), 2, log_target=True),
            torch.kl_div(w(3), w(3).exp(), 0),
        ),
        "mrl": lambda: torch.margin_ranking_loss(w(3), w(3, k=1), i64(1, -1, 1), 0.2),
        "poi": lambda: torch.poisson_nll_loss(w(3), w(3).abs(), True, True, 1e-8, 1),
        "tri": lambda: torch.triplet_margin_loss(w(2, 3), w(2, 3, k=1), w(2, 3, k=2)),
        "tbc": lambda: torch.conv_tbc(w(4, 2, 3), w(2, 3, 5), w(5), 1),
        "ct3": lambda: torch.conv_transpose3d(w(1, 2, 2, 2, 2), w(2, 1, 2, 2, 2)),
        "conv": lambda: torch.convolution(w(1, 2, 5), w(3, 2, 2), w(3), [2], [1], [1], False, [0], 1),
        "convt": lambda: torch.convolution(w(1, 2, 5, 5), w(2, 3, 2, 2), None, [2, 1], [1], [1], True, [0, 0], 1),
        "ebag": lambda: torch.embedding_bag(w(5, 3), i64(0, 1, 4, 2), i64(0, 2), False, 1)[0],
        "eren": lambda: torch.embedding_renorm_(w(5, 3), i64(0, 1, 4, 2), 1.0, 2.0),
        "grid": lambda: (
            torch.grid_sampler(w(1, 1, 4, 4), w(1, 3, 3, 2), 0, 0, False),
            torch.grid_sampler(w(1, 1, 4, 4), w(1, 3, 3, 2), 2, 1, True),
            torch.grid_sampler_3d(w(1, 1, 4, 4, 2), w(1, 3, 3, 2, 3), 1, 2, True),
        ),
        "aff": lambda: torch.affine_grid_generator(w(1, 2, 3), [1, 1, 2, 3], False),
        "inorm": lambda: torch.instance_norm(w(2, 3, 4), w(3), w(3), None, None, True, 0.1, 1e-5, True),
        "nln": lambda: torch.native_layer_norm(w(2, 3), [3], w(3), None, 1e-5),
        "nbn": lambda: torch.native_batch_norm(w(4, 3), w(3), w(3), None, None, True, 0.1, 1e-5),
        "nbne": lambda: torch.native_batch_norm(w(4, 3), w(3), w(3), w(3), w(3).abs(), False, 0.1, 1e-5),
        "ngn": lambda: torch.native_group_norm(w(2, 4, 3), w(4), w(4), 2, 4, 3, 2, 1e-5),
        "lcell": lambda: torch.lstm_cell(w(2, 3), (w(2, 4), w(2, 4, k=1)), w(16, 3), w(16, 4), w(16), w(16)),
        "gcell": lambda: torch.gru_cell(w(2, 3), w(2, 4), w(12, 3), w(12, 4)),
        "rcell": lambda: (
            torch.rnn_tanh_cell(w(2, 3), w(2, 4), w(4, 3), w(4, 4)),
            torch.rnn_relu_cell(w(2, 3), w(2, 4), w(4, 3), w(4, 4)),
        ),
        "drop": lambda: (
            torch.alpha_dropout(w(3), 0.5, False),
            torch.dropout_(w(3), 0.5, False),
            torch.feature_dropout(w(2, 3), 1.0, True),
            torch.native_dropout(w(3), 0.0, True),
            torch.feature_alpha_dropout(w(2, 3), 0.3, False),
        ),
        "rrelu": lambda: (torch.rrelu(w(4)), torch.rrelu_(w(4), 0.1, 0.2)),
        "copies": lambda: (
            torch.view_copy(w(6), (2, 3)),
            torch.expand_copy(w(1, 3), (2, 3)),
            torch.slice_copy(w(6), 0, 1, 5, 2),
            torch.split_copy(w(6), 4),
            torch.unbind_copy(w(2, 3), 1),
            torch.squeeze_copy(w(1, 3)),
            torch.t_copy(w(2, 3)),
            torch.transpose_copy(w(2, 3), 0, 1).stride(),
            torch.permute_copy(w(2, 3), (1, 0)),
            torch.select_copy(w(2, 3), 0, 1),
            torch.diagonal_copy(w(3, 3)),
            torch.unfold_copy(w(5), 0, 2, 1),
            torch.as_strided_copy(w(5), (2, 2), (1, 1)),
            torch.detach_copy(w(2)),
            torch.alias_copy(w(2)),
            torch.unsqueeze_copy(w(2), 0),
            torch.view_as_real_copy(torch.complex(w(2), w(2))),
            torch.split_with_sizes_copy(w(5), [2, 3]),
        ),
    }


def of_recurrent_layers(torch, w):
    def i64(*numbers):
        return torch.tensor(numbers)

    def weights(layer):
        for i, p in enumerate(layer.parameters()):
            p.data.copy_(w(*p.shape, k=i * 0.1) * 0.4)
        return layer._flat_weights

    lstm = weights(torch.nn.LSTM(3, 4, 2, bidirectional=True))
    gru, rnn = weights(torch.nn.GRU(3, 4)), weights(torch.nn.RNN(3, 4))
    return {
        "lstm": lambda: torch.lstm(w(5, 2, 3), (w(4, 2, 4), w(4, 2, 4, k=1)), lstm, True, 2, 0.0, False, True, False),
        "gru": lambda: torch.gru(w(5, 2, 3), w(1, 2, 4), gru, True, 1, 0.0, False, False, False),
        "grup": lambda: torch.gru(w(5, 3), i64(3, 2), w(1, 3, 4), gru, True, 1, 0.0, False, False),
        "rnn": lambda: torch.rnn_tanh(w(5, 2, 3), w(1, 2, 4), rnn, True, 1, 0.0, False, False, False),
    }


def shown(result):
    """A result without tensors."""
    if hasattr(result, "dtype"):
        values = [round(x, 4) if isinstance(x, float) else x for x in result.flatten().tolist()]
        return [str(result.dtype)[6:], list(result.shape), [repr(x) for x in values]]
    return [shown(part) for part in result] if isinstance(result, (tuple, list)) else result

"""Sequences of different lengths: packed, padded, and through recurrent layers one by one or together."""

import numpy as np
import pytest

import minidynamo as torch

nn, rnn = torch.nn, torch.nn.utils.rnn
rng = np.random.default_rng(0)
LENGTHS = [3, 5, 2, 5]
SEQUENCES = [torch.tensor(rng.normal(size=(n, 3))) for n in LENGTHS]
KINDS = {
    "RNN": {"nonlinearity": "relu"},
    "GRU": {"bias": False},
    "LSTM": {"num_layers": 2},
    "LSTM ": {"proj_size": 2},
}


def test_packing_and_back():
    padded = rnn.pad_sequence(SEQUENCES, padding_value=-1.0)
    assert padded.shape == (5, 4, 3) and padded[4, 0, 0].item() == -1
    packed = rnn.pack_padded_sequence(padded, LENGTHS, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [4, 4, 3, 2, 2] and packed.sorted_indices.tolist() == [1, 3, 0, 2]
    assert packed.unsorted_indices.tolist() == [2, 0, 3, 1] and packed.data.shape == (15, 3)
    assert torch.equal(packed.data[:2], torch.stack([SEQUENCES[1][0], SEQUENCES[3][0]]))
    again, lengths = rnn.pad_packed_sequence(packed, padding_value=-1.0)
    assert torch.equal(again, padded) and lengths.tolist() == LENGTHS
    longer, _ = rnn.pad_packed_sequence(packed, batch_first=True, total_length=7)
    assert longer.shape == (4, 7, 3)
    for found, wanted in zip(rnn.unpack_sequence(packed), SEQUENCES):
        assert torch.equal(found, wanted)
    for found, wanted in zip(rnn.unpad_sequence(padded, torch.tensor(LENGTHS)), SEQUENCES):
        assert torch.equal(found, wanted)
    left = rnn.pad_sequence(SEQUENCES, batch_first=True, padding_side="left")
    assert torch.equal(left[2, 3:], SEQUENCES[2]) and left[2, :3].abs().sum().item() == 0


def test_a_packed_sequence_is_a_tuple():
    packed = rnn.pack_sequence([torch.ones(3), torch.ones(2)])
    data, sizes, order, back = packed
    assert data is packed.data and sizes.tolist() == [2, 2, 1] and order is back is None
    assert packed.to(torch.float64).data.dtype == torch.float64 and packed.to(torch.float32) is packed
    assert packed.cpu() is packed and not packed.is_cuda and packed.int().data.dtype == torch.int32
    assert rnn.invert_permutation(torch.tensor([2, 0, 1])).tolist() == [1, 2, 0]
    with pytest.raises(AssertionError):
        rnn.PackedSequence(torch.ones(3))


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_layers_give_what_each_sequence_alone_gives(kind, bidirectional, batch_first):
    settings = {"bidirectional": bidirectional, "batch_first": batch_first, **KINDS[kind]}
    layer = getattr(nn, kind.strip())(3, 4, **settings).double()
    states = 2 if kind.startswith("LSTM") else 1
    count = settings.get("num_layers", 1) * (2 if bidirectional else 1)
    width = [settings.get("proj_size", 4), 4][:states]
    given = [torch.tensor(rng.normal(size=(count, 4, w)), requires_grad=True) for w in width]

    def form(states_given):
        return tuple(states_given) if states == 2 else states_given[0]

    packed = rnn.pack_sequence(SEQUENCES, enforce_sorted=False)
    output, last = layer(packed, form(given))
    outputs = rnn.unpack_sequence(output)
    lasts = last if states == 2 else (last,)
    for i, sequence in enumerate(SEQUENCES):
        alone, ends = layer(sequence, form([g[:, i].contiguous() for g in given]))
        assert torch.allclose(outputs[i], alone)
        for found, wanted in zip(lasts, ends if states == 2 else (ends,)):
            assert torch.allclose(found[:, i], wanted)
    grads = torch.autograd.grad(output.data.sum() + sum(e.sum() for e in lasts), [*layer.parameters(), *given])
    alone = 0
    for i, sequence in enumerate(SEQUENCES):
        out, ends = layer(sequence, form([g[:, i] for g in given]))
        alone = alone + out.sum() + sum(e.sum() for e in (ends if states == 2 else (ends,)))
    for found, wanted in zip(grads, torch.autograd.grad(alone, [*layer.parameters(), *given])):
        assert torch.allclose(found, wanted)


def test_projected_states():
    layer = nn.LSTM(3, 4, num_layers=2, proj_size=2, bidirectional=True)
    assert tuple(layer.weight_hr_l0.shape) == (2, 4) and tuple(layer.weight_ih_l1.shape) == (16, 4)
    output, (h, c) = layer(torch.randn(5, 2, 3))
    assert output.shape == (5, 2, 4) and h.shape == (4, 2, 2) and c.shape == (4, 2, 4)
    assert repr(layer) == "LSTM(3, 4, proj_size=2, num_layers=2, bidirectional=True)"
    assert [len(each) for each in layer.all_weights] == [5] * 4


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda: rnn.pack_padded_sequence(torch.ones(4, 2), [2, 3]), RuntimeError),
        (lambda: rnn.pack_padded_sequence(torch.ones(4, 2), [4]), RuntimeError),
        (lambda: rnn.pack_padded_sequence(torch.ones(4, 2), [4, 0]), RuntimeError),
        (lambda: rnn.pack_padded_sequence(torch.ones(4, 2), [5, 1]), RuntimeError),
        (lambda: rnn.pack_padded_sequence(torch.ones(0, 2), [1, 1]), RuntimeError),
        (lambda: rnn.pad_packed_sequence(rnn.pack_sequence(SEQUENCES, False), total_length=2), ValueError),
        (lambda: rnn.pad_sequence([]), RuntimeError),
        (lambda: rnn.pad_sequence(3), RuntimeError),
        (lambda: rnn.pad_sequence([torch.ones(2, 3), torch.ones(2, 2)]), RuntimeError),
        (lambda: rnn.pad_sequence([torch.ones(2)], padding_side="up"), RuntimeError),
        (lambda: nn.GRU(3, 4)(torch.ones(5, 2, 3), torch.zeros(2, 4)), RuntimeError),
        (lambda: nn.LSTM(3, 4)(torch.ones(5, 2, 3), (torch.zeros(1, 2, 4), torch.zeros(1, 2, 5))), RuntimeError),
        (lambda: nn.GRU(3, 4)(torch.ones(5, 2, 3).double()), ValueError),
        (lambda: nn.GRU(3, 4.0), TypeError),
    ],
)
def test_wrong_arguments(call, kind):
    with pytest.raises(kind):
        call()

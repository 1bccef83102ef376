"""Sequences of different lengths as one tensor: padded, or packed step by step without what would be padding."""

from collections import namedtuple

from .. import _C


def invert_permutation(permutation):
    """The permutation that undoes a 1-dimensional one; None of None."""
    if permutation is None:
        return None
    places = _C.arange(permutation.numel(), device=permutation.device)
    return _C.zeros_like(places).scatter(0, permutation, places)


class PackedSequence(namedtuple("PackedSequence_", "data batch_sizes sorted_indices unsorted_indices")):
    """`data` (elements, ...) has the first steps of all sequences, longest first, then the second ones, ...;
    `batch_sizes`, on the CPU, tells how many sequences have each step. `sorted_indices` sorted the sequences, or None.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is not None:
            if batch_sizes.device.type != "cpu":
                raise ValueError(f"batch_sizes has to be on the CPU, and is on {batch_sizes.device}")
        elif isinstance(data, (list, tuple)) and len(data) == 2:
            data, batch_sizes = data
        else:
            raise AssertionError("PackedSequence: give data and batch_sizes, or a list or tuple of both")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with_data(self, data, move=lambda indices: indices):
        if data is self.data:
            return self
        kept = [None if i is None else move(i) for i in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *kept)

    def to(self, *args, **kwargs):
        """`data` by Tensor.to; the sequence itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        return self._with_data(data, lambda indices: indices.to(data.device))

    def cpu(self):
        return self._with_data(self.data.cpu(), lambda indices: indices.cpu())

    def double(self):
        return self.to(_C.float64)

    def float(self):
        return self.to(_C.float32)

    def half(self):
        return self.to(_C.float16)

    def long(self):
        return self.to(_C.int64)

    def int(self):
        return self.to(_C.int32)

    def short(self):
        return self.to(_C.int16)

    def char(self):
        return self.to(_C.int8)

    def byte(self):
        return self.to(_C.uint8)

    @property
    def is_cuda(self):
        return self.data.is_cuda


def _places(lengths, steps):
    """The positions of what counts in (steps, sequences) taken row by row."""
    known = _C.arange(steps, device=lengths.device).unsqueeze(1) < lengths
    return known.reshape(-1).nonzero().squeeze(1), known.long().sum(1)


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Sequences (steps, batch, ...), or batch first, of these lengths, as a PackedSequence.

    Lengths, a list or a tensor, are positive and no more than the steps; with `enforce_sorted` they do not increase.
    RuntimeError otherwise.
    """
    if not isinstance(lengths, _C.Tensor):
        lengths = _C.tensor(list(lengths), dtype=_C.int64, device="cpu")
    if lengths.is_cuda:
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but is on {lengths.device}")
    lengths = lengths.long()
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = lengths.sort(descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    steps = input.transpose(0, 1) if batch_first else input
    if lengths.shape[0] != steps.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.shape[0]} "
            f"(batch_size={steps.shape[1]})"
        )
    asked = lengths.tolist()
    if min(asked) <= 0:
        raise RuntimeError(f"pack_padded_sequence: lengths have to be positive, got {asked}")
    if max(asked) > steps.shape[0]:
        raise RuntimeError(f"pack_padded_sequence: {steps.shape[0]} steps, but lengths are {asked}")
    if any(a < b for a, b in zip(asked, asked[1:])):
        raise RuntimeError(
            f"pack_padded_sequence: lengths {asked} increase; sort the sequences or give enforce_sorted=False"
        )
    places, batch_sizes = _places(lengths, asked[0])
    data = steps[: asked[0]].flatten(0, 1).index_select(0, places.to(input.device))
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def _lengths(batch_sizes):
    """How many steps each sequence has."""
    return (
        (batch_sizes.unsqueeze(0) > _C.arange(int(batch_sizes[0]), device=batch_sizes.device).unsqueeze(1))
        .long()
        .sum(1)
    )


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """(sequences (steps, batch, ...) or batch first, filled up with `padding_value`; their lengths), in the order they
    had before they were packed. `total_length` says how many steps; ValueError for fewer than there are."""
    data, batch_sizes = sequence.data, sequence.batch_sizes
    steps = batch_sizes.shape[0]
    if total_length is not None:
        if total_length < steps:
            raise ValueError(f"total_length is {total_length}, but the longest sequence has {steps} steps")
        steps = total_length
    lengths = _lengths(batch_sizes)
    batch = lengths.shape[0]
    places, _ = _places(lengths, steps)
    empty = _C.full((steps * batch, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
    padded = empty.index_copy(0, places.to(data.device), data).view(steps, batch, *data.shape[1:])
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices.to(lengths.device))
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Tensors (length, ...) as one (longest, batch, ...), or batch first, filled up with `padding_value` behind, or
    before with `padding_side` "left"."""
    if not hasattr(sequences, "__iter__"):
        raise RuntimeError(f"pad_sequence: a list or tuple of tensors is needed, not {type(sequences).__name__}")
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(s.shape[0] for s in sequences)
    rows = []
    for sequence in sequences:
        if sequence.shape[1:] != sequences[0].shape[1:]:
            raise RuntimeError(
                f"pad_sequence: behind the first dimension sizes have to be equal, got {list(sequences[0].shape)} and "
                f"{list(sequence.shape)}"
            )
        shape = (longest - sequence.shape[0], *sequence.shape[1:])
        fill = _C.full(shape, padding_value, dtype=sequence.dtype, device=sequence.device)
        rows.append(_C.cat([sequence, fill] if padding_side == "right" else [fill, sequence]))
    return _C.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of (steps, batch, ...), or batch first, as a list."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    counts = lengths.tolist() if isinstance(lengths, _C.Tensor) else lengths
    return [row[:count] for row, count in zip(rows.unbind(0), counts)]


def pack_sequence(sequences, enforce_sorted=True):
    """A list of tensors (length, ...) as a PackedSequence; with `enforce_sorted` the longest has to be first."""
    lengths = [sequence.shape[0] for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The list of tensors that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)

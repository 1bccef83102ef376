"""BlockMask: which blocks of an attention matrix a mask leaves out, in part or not at all."""

import functools

from ... import _C
from ...utils import _pytree

_TENSORS = (
    "kv_num_blocks",
    "kv_indices",
    "full_kv_num_blocks",
    "full_kv_indices",
    "q_num_blocks",
    "q_indices",
    "full_q_num_blocks",
    "full_q_indices",
)


def noop_mask(batch, head, token_q, token_kv):
    """The mask that lets everything through: a bool tensor without dimensions."""
    return _C.ones((), dtype=_C.bool, device=batch.device)


def _of_a_slice(*args):
    raise RuntimeError("a part of a BlockMask has no mask_mod: set it from that of the whole")


def _ordered(blocks):
    """Of a 0/1 matrix of blocks: how many each row has, and their columns, then those of the others."""
    return blocks.sum(-1).to(_C.int32), _C.argsort(blocks, dim=-1, descending=True, stable=True).to(_C.int32)


def _dense(counts, indices):
    """The 0/1 matrix again."""
    columns = indices.shape[-1]
    first = _C.arange(columns, device=counts.device) < counts[..., None]
    return _C.zeros_like(indices).scatter(-1, indices.to(_C.int64), first.to(_C.int32))


def pair_of(size):
    """A block size as (rows, columns)."""
    return (size, size) if isinstance(size, int) else tuple(size)


class BlockMask:
    """For each row of blocks of queries, the blocks of keys in which `mask_mod` lets something through.

    `kv_num_blocks` (B, H, rows) counts them and `kv_indices` (B, H, rows, columns) has them first; both are int32.
    `full_kv_*` have those in which it lets everything through, if these are apart from the others, else None. `q_*` are
    the same for each column. `shape` is (B, H, queries, keys). An index takes batches and heads, whose mask_mod has to
    be set again.
    """

    def __init__(
        self,
        seq_lengths,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks,
        full_kv_indices,
        q_num_blocks,
        q_indices,
        full_q_num_blocks,
        full_q_indices,
        BLOCK_SIZE=(128, 128),
        mask_mod=noop_mask,
    ):
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask: kv_indices should have at least two dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("BlockMask: full_kv_num_blocks and full_kv_indices go together")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        BLOCK_SIZE=128,
        mask_mod=None,
        seq_lengths=None,
        compute_q_blocks=True,
    ):
        """The mask of which only the rows are given; those of its columns follow from them."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask: kv_indices should have at least two dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("BlockMask: full_kv_num_blocks and full_kv_indices go together")
        size = pair_of(BLOCK_SIZE)
        columns, full_columns = (None, None), (None, None)
        if compute_q_blocks:
            columns = _ordered(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_num_blocks is not None:
                full_columns = _ordered(_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1]
        rows = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices)
        return cls(seq_lengths, *rows, *columns, *full_columns, size, mask_mod or noop_mask)

    @property
    def shape(self):
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def as_tuple(self, flatten=True):
        """Its parts in the order in which they are given to make one."""
        lengths = self.seq_lengths if flatten else (self.seq_lengths,)
        size = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        return (*lengths, *(getattr(self, name) for name in _TENSORS), *(None,) * 4, *size, self.mask_mod)

    def _with(self, change, seq_lengths=None, mask_mod=None):
        tensors = [None if t is None else change(t) for t in (getattr(self, name) for name in _TENSORS)]
        lengths = seq_lengths or self.seq_lengths
        return BlockMask(lengths, *tensors, self.BLOCK_SIZE, mask_mod or self.mask_mod)

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in index)[:2]
        return self._with(lambda t: t[index], mask_mod=_of_a_slice)

    def _adjust(self, new_q_len, new_kv_len):
        """The mask for sequences of other lengths, cut off or with nothing behind."""
        rows, columns = (-(-n // b) for n, b in zip((new_q_len, new_kv_len), self.BLOCK_SIZE))

        def cut(counts, indices):
            if counts is None:
                return None, None
            have = _dense(counts, indices)[..., :rows, :columns]
            made = have.new_zeros((*have.shape[:-2], rows, columns))
            made[..., : have.shape[-2], : have.shape[-1]] = have
            return _ordered(made)

        partly, full = cut(self.kv_num_blocks, self.kv_indices), cut(self.full_kv_num_blocks, self.full_kv_indices)
        lengths = (new_q_len, new_kv_len)
        return BlockMask.from_kv_blocks(*partly, *full, self.BLOCK_SIZE, self.mask_mod, lengths)

    def to(self, device):
        """The mask with its tensors there."""
        return self._with(lambda t: t.to(device))

    def to_dense(self):
        """1 for each block in which something is let through, int32 (B, H, rows, columns)."""
        blocks = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None:
            return blocks
        return blocks | _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def numel(self):
        """How many elements the attention matrix has."""
        return functools.reduce(lambda a, b: a * b, self.shape, 1)

    def sparsity(self):
        """Per cent of the matrix in blocks that are left out; below 0 where blocks stand over its edges."""
        blocks = self.kv_num_blocks.sum()
        if self.full_kv_num_blocks is not None:
            blocks = blocks + self.full_kv_num_blocks.sum()
        return 100 * (1 - blocks.item() * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_string(self, grid_size=(20, 20), limit=4):
        """The blocks as a picture for each batch and head: full, in part, and left out."""
        dense = self.to_dense()
        every = [()]
        for n in dense.shape[:-2]:
            every = [(*index, i) for index in every for i in range(n)]
        text = ""
        for count, index in enumerate(every):
            if count == limit:
                more = "..., limited to the first: to_string(limit=N) shows more, an index others\n"
                return text + more
            text += f"{index}\n" + _picture(dense[index], grid_size) + "\n"
        return text.removesuffix("\n")

    def __str__(self):
        picture = self.to_string().strip()
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{picture}\n)"

    def __repr__(self):
        def shown(name):
            value = getattr(self, name)
            return None if value is None else value.shape

        lines = [f"    {name}={shown(name)}," for name in _TENSORS]
        lines.append(f"    BLOCK_SIZE={self.BLOCK_SIZE},")
        lines.append(f"    shape={self.shape},")
        lines.append(f"    sparsity={self.sparsity():.2f}%,")
        lines.append(f"    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}")
        return "BlockMask(\n" + "\n".join(lines) + "\n)"


def _picture(blocks, grid_size):
    """A character pair for each cell of a grid of at most that size."""
    limits = (len(blocks), len(blocks[0])) if grid_size == -1 else pair_of(grid_size)
    rows, columns = blocks.shape
    down, right = max(1, -(-rows // limits[0])), max(1, -(-columns // limits[1]))
    text = ""
    for i in range(0, rows, down):
        for j in range(0, columns, right):
            share = blocks[i : i + down, j : j + right].float().mean().item()
            text += "██" if share == 1 else "░░" if share > 0 else "  "
        text += "\n"
    return text


def _parts(mask):
    return [getattr(mask, name) for name in _TENSORS], (mask.seq_lengths, mask.BLOCK_SIZE, mask.mask_mod)


def _joined(tensors, rest):
    lengths, size, mask_mod = rest
    return BlockMask(lengths, *tensors, size, mask_mod)


_pytree.register_pytree_node(BlockMask, _parts, _joined)


def mask_of_blocks(mask, size, separate_full_blocks, mask_mod):
    """The BlockMask of a bool matrix (B, H, queries, keys)."""
    lengths = tuple(mask.shape[-2:])
    rows, columns = (-(-n // b) for n, b in zip(lengths, size))
    padded = mask.new_zeros((*mask.shape[:2], rows * size[0], columns * size[1]))
    padded[..., : lengths[0], : lengths[1]] = mask
    counts = padded.view(*mask.shape[:2], rows, size[0], columns, size[1]).sum((3, 5))
    full = counts == size[0] * size[1]
    some = (counts > 0) & ~full if separate_full_blocks else counts > 0
    whole = _ordered(full.to(_C.int8)) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(*_ordered(some.to(_C.int8)), *whole, size, mask_mod, lengths)

"""Tensor.untyped_storage(), storage() and new_empty_strided()."""

import copy
import pickle

import pytest

import minidynamo as torch
from frontend.differential import same


def test_memory_as_bytes():
    x = torch.arange(6.0).view(2, 3)
    row, memory = x[1:], x.untyped_storage()
    assert (memory.nbytes(), memory.size(), len(memory), memory.element_size()) == (24, 24, 24, 1)
    assert memory == row.untyped_storage() and hash(memory) == hash(row.untyped_storage())
    assert memory != x.clone().untyped_storage() and memory._cdata == row.untyped_storage()._cdata
    assert memory.data_ptr() == x.data_ptr() == row.data_ptr() - 12 and memory.device == torch.device("cpu")
    assert memory.tolist()[4:8] == list(memory)[4:8] == [0, 0, 128, 63] and memory[7] == memory[-17] == 63
    memory[3] = 64
    assert x[0, 0] == 2 and memory[4:8].tolist() == [0, 0, 128, 63] and memory.cpu() is memory
    assert memory.fill_(0) is memory and not x.any()
    other = memory.clone()
    assert other != memory and other.tolist() == memory.tolist() and other.fill_(1).copy_(memory)[0] == 0
    assert copy.deepcopy(memory).nbytes() == 24 and pickle.loads(pickle.dumps(memory)).tolist() == [0] * 24
    assert not memory.is_cuda and not memory.is_shared() and torch.is_storage(memory) and not torch.is_storage(x)
    assert torch.zeros(2, 3)[:, :1].untyped_storage().nbytes() == 24
    assert repr(torch.UntypedStorage([1, 2])) == " 1\n 2\n[torch.storage.UntypedStorage(device=cpu) of size 2]"
    assert torch.UntypedStorage(5).nbytes() == 5
    meta = torch.zeros(2, 3, device="meta").untyped_storage()
    assert (meta.nbytes(), meta.device, meta.data_ptr()) == (24, torch.device("meta"), 0)


def test_sizes_of_memory():
    x = torch.ones(4)
    memory = x.untyped_storage()
    assert memory.resize_(32) is memory and memory.nbytes() == x.untyped_storage().nbytes() == 32
    assert x.tolist() == [1] * 4 and x.as_strided((8,), (1,)).shape == (8,)
    with pytest.raises(RuntimeError, match="tensors show 32 bytes"):
        memory.resize_(0)


def test_memory_as_elements():
    x = torch.arange(6.0)
    with pytest.warns(UserWarning, match="untyped_storage"):
        memory = x[2:].storage()
    assert (memory.size(), len(memory), memory.nbytes(), memory.element_size()) == (6, 6, 24, 4)
    assert memory.dtype is torch.float32 and memory.tolist() == list(memory) == [0, 1, 2, 3, 4, 5] and memory[2] == 2.0
    memory[1] = 9
    assert x[1] == 9 and memory.untyped() == x.untyped_storage() and memory.data_ptr() == x.data_ptr()
    assert memory.clone() != memory and memory.clone().fill_(3).tolist() == [3] * 6 and torch.is_storage(memory)
    assert memory.resize_(8).size() == 8


@pytest.mark.parametrize(
    "refused, error",
    [
        (lambda memory: memory[100], IndexError),
        (lambda memory: memory["a"], TypeError),
        (lambda memory: memory[::2], RuntimeError),
        (lambda memory: memory.copy_(torch.UntypedStorage(3)), RuntimeError),
        (lambda memory: torch.UntypedStorage(1, 2), TypeError),
    ],
)
def test_what_is_refused(refused, error):
    with pytest.raises(error):
        refused(torch.ones(2).untyped_storage())


def test_new_empty_strided():
    x = torch.ones(2, dtype=torch.float64)
    made = x.new_empty_strided((2, 3), (1, 2))
    assert made.stride() == (1, 2) and made.dtype is torch.float64 and not made.requires_grad
    assert x.new_empty_strided((2,), (3,), dtype=torch.int64).dtype is torch.int64
    assert x.new_empty_strided(size=(2,), stride=(1,), device="meta", requires_grad=True).requires_grad
    with pytest.raises(RuntimeError):
        x.new_empty_strided((2,), (1, 2))

    def f(x):
        made = x.new_empty_strided((2, 3), (1, 2)).fill_(1)
        return made + x, made.stride()

    same(f, lambda: (torch.ones(2, 3),), frames=1, breaks=[])


def test_compiled_code_asks_for_memory():
    def f(x):
        y = x + 1
        return y.untyped_storage().nbytes(), y * 2

    x = torch.ones(2, 3)
    nbytes, doubled = torch.compile(f)(x)
    assert nbytes == 24 and doubled.tolist() == [[4.0] * 3] * 2

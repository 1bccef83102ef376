"""x[...] with tensors and lists of positions and masks, against NumPy: reading, writing, adding; eager and compiled."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minidynamo as torch
from tensor.oracle import pairs


@st.composite
def positions(draw, size, shape):
    values = st.integers(-size, size - 1)
    flat = draw(st.lists(values, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    return np.array(flat, dtype=draw(st.sampled_from([np.int64, np.int32]))).reshape(shape)


@st.composite
def indices(draw, shape):
    """Arrays of positions that broadcast, at most one mask, slices, None and an ellipsis; something is looked up."""
    broadcast = draw(st.sampled_from([(), (1,), (3,), (2, 3), (0,)]))
    parts, masked, dim = [], False, 0
    while dim < len(shape):
        if draw(st.integers(0, 5)) == 0:
            parts.append(None)
        kind = draw(st.sampled_from(["array", "array", "slice", "all", "mask", "stop"]))
        size = shape[dim]
        if kind == "stop":
            break
        if kind == "mask" and not masked and broadcast in ((1,), ()):
            rank = draw(st.integers(1, len(shape) - dim))
            extent = shape[dim : dim + rank]
            truth = draw(st.lists(st.booleans(), min_size=int(np.prod(extent)), max_size=int(np.prod(extent))))
            parts.append(np.array(truth, dtype=bool).reshape(extent))
            masked, dim = True, dim + rank
            continue
        if kind == "array" and size and broadcast:
            own = broadcast[draw(st.integers(0, len(broadcast) - 1)) :]
            parts.append(draw(positions(size, own)))
        elif kind == "slice":
            parts.append(slice(draw(st.integers(0, 2)), None, draw(st.integers(1, 2))))
        else:
            parts.append(slice(None))
        dim += 1
    if dim < len(shape) and draw(st.booleans()):
        parts.append(...)
    return tuple(parts)


def as_tensors(index):
    kinds = {np.dtype(np.int64): torch.int64, np.dtype(np.int32): torch.int32, np.dtype(bool): torch.bool}
    return tuple(
        torch.tensor(p.tolist(), dtype=kinds[p.dtype]).reshape(p.shape) if isinstance(p, np.ndarray) else p
        for p in index
    )


def as_lists(index):
    return tuple(
        p.tolist() if isinstance(p, np.ndarray) and p.ndim == 1 and p.size and not p.dtype == bool else p for p in index
    )


def same_array(tensor, array):
    assert tuple(tensor.shape) == array.shape
    np.testing.assert_array_equal(tensor.numpy(), array)


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_reading(data):
    array, tensor = data.draw(pairs())
    index = data.draw(indices(array.shape))
    expected = array[index]
    same_array(tensor[as_tensors(index)], expected)
    lists = as_lists(index)
    if all(isinstance(p, list) or not isinstance(p, np.ndarray) for p in lists):
        same_array(tensor[lists], expected)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_writing(data):
    array, tensor = data.draw(pairs(views=(lambda x: x,)))
    array, tensor = array.copy(), tensor.clone()
    index = data.draw(indices(array.shape))
    part = array[index]
    if data.draw(st.booleans()):
        value = array.dtype.type(3)
        array[index], tensor[as_tensors(index)] = value, value.item()
    else:
        value = np.zeros(part.shape, dtype=array.dtype) + np.asarray(1, dtype=array.dtype)
        value = value[:1] if part.ndim and data.draw(st.booleans()) else value
        array[index] = value
        tensor[as_tensors(index)] = torch.tensor(value.tolist(), dtype=tensor.dtype).reshape(value.shape)
    same_array(tensor, array)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_adding_to_repeated_positions(data):
    array = np.arange(24, dtype=np.int64).reshape(2, 3, 4)
    index = data.draw(indices(array.shape))
    if not any(isinstance(p, np.ndarray) for p in index) or any(p is None or p is ... for p in index):
        return
    tensors = tuple(torch.arange(n)[p].reshape([-1 if i == d else 1 for i in range(3)]) if isinstance(p, slice) else p
                    for d, (p, n) in enumerate(zip(as_tensors(index), array.shape)))  # fmt: skip
    if any(isinstance(p, slice) for p in index):
        return
    made = torch.tensor(array.tolist()).index_put(tensors, torch.tensor(5), accumulate=True)
    np.add.at(array, index, 5)
    same_array(made, array)


def test_dtypes_are_kept():
    for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.float16, torch.bfloat16,
                  torch.float64):  # fmt: skip
        x = torch.tensor([0, 1, 2, 3]).to(dtype)
        assert x[[3, 1]].dtype is dtype and x[torch.tensor([3, 1])].tolist() == x.tolist()[3:0:-2]
        x[torch.tensor([0, -1])] = 1
        assert x.dtype is dtype and x[0].item() == x[3].item() == 1


WRONG = [
    (lambda x: x[torch.tensor([0, 5])], IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
    (lambda x: x[:, [-5]], IndexError, "index -5 is out of bounds for dimension 1 with size 4"),
    (lambda x: x[torch.tensor([0.5])], IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    (lambda x: x[[0.5]], IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    (lambda x: x[torch.tensor([0]), torch.tensor([0]), torch.tensor([0])], IndexError, "too many indices"),
    (lambda x: x[torch.tensor([0, 1]), torch.tensor([0, 1, 2])], IndexError, "could not be broadcast together"),
    (lambda x: x[torch.tensor([True, False])], IndexError, r"shape of the mask \[2\] at index 0 does not match"),
    (lambda x: x[[True, False]], IndexError, "shape of the mask"),
    (lambda x: torch.zeros(0, 2)[torch.tensor([0])], IndexError, "out of bounds for dimension with size 0"),
    (lambda x: torch.tensor(1.0)[torch.tensor([0])], IndexError, "0-d tensor cannot be indexed"),
    (lambda x: x.index_put((torch.tensor([0]),), torch.tensor([1])), RuntimeError, "source and destination dtypes"),
    (lambda x: x.index_put((torch.tensor([0]),), torch.ones(3)), RuntimeError, "shape mismatch: value tensor"),
    (lambda x: x.index_put(torch.tensor([0]), torch.ones(3)), TypeError, "must be a tuple of"),
]


@pytest.mark.parametrize("call, error, text", WRONG)
def test_wrong_reads(call, error, text):
    x = torch.arange(12.0).reshape(3, 4)
    with pytest.raises(error, match=text):
        call(x)
    assert x.tolist() == torch.arange(12.0).reshape(3, 4).tolist()


@pytest.mark.parametrize("index, value, error", [
    (torch.tensor([0, 5]), 1.0, IndexError),
    ([0, 5], torch.ones(2, 4), IndexError),
    (torch.tensor([0, 1]), torch.ones(3), RuntimeError),
    (torch.tensor([True, False, True]), torch.ones(5, 4), RuntimeError),
    (torch.tensor([0, 1]), torch.tensor([1]), RuntimeError),
    (torch.tensor([0, 1]), "a", TypeError),
])  # fmt: skip
def test_failed_writes_change_nothing(index, value, error):
    x = torch.arange(12.0).reshape(3, 4)
    with pytest.raises(error):
        x[index] = value
    assert x.tolist() == torch.arange(12.0).reshape(3, 4).tolist()


def test_what_is_written_may_share_memory():
    x = torch.arange(6.0)
    x[torch.tensor([1, 2, 3])] = x[:3]
    assert x.tolist() == [0, 0, 1, 2, 4, 5]
    i = torch.tensor([2, 1, 0])
    i[i] = i
    assert i.tolist() == [0, 1, 2]
    y = torch.zeros(2, 3)
    y.t()[torch.tensor([0, 2])] = torch.tensor([[1.0, 2], [3, 4]])
    assert y.tolist() == [[1, 0, 3], [2, 0, 4]]


def test_results_lie_as_torch_lays_them_out():
    x = torch.arange(120.0).reshape(2, 3, 4, 5)
    i = torch.tensor([0, 1])
    assert x.permute(3, 2, 1, 0)[i].stride() == (24, 1, 4, 12)
    assert x.permute(3, 2, 1, 0)[:, i].stride() == (1, 15, 5, 30)
    assert x.permute(3, 2, 1, 0)[i, :, i].stride() == (8, 1, 4)
    assert x[0, :, i].shape == (3, 2, 5) and x[i, :, i].shape == (2, 3, 5) and x[:, None, i].shape == (2, 1, 2, 4, 5)


def test_scalars_and_sequences():
    x = torch.arange(24.0).reshape(2, 3, 4)
    at = torch.tensor(1)
    x[at, at] = 7.0
    assert x[1, 1].tolist() == [7] * 4 and x[at].shape == (3, 4) and x[:, at, [0, 1]].shape == (2, 2)
    view = x[at]
    view.zero_()
    assert x[1].sum().item() == 0  # a view
    assert x[[0, 1], [0, 2]].shape == (2, 4) and x[[]].shape == (0, 3, 4)
    assert x[[[0, 1], [1, 0]]].shape == (2, 4)  # a list of lists is a tuple of lists
    assert x[:, [at, at]].shape == (2, 2, 4) and x[np.array([0, 1, 1])].shape == (3, 3, 4)
    assert x[torch.tensor(True)].shape == (1, 2, 3, 4) and x[True, [0, 0, 1]].shape == (3, 3, 4)
    assert x[torch.tensor([1, 0], dtype=torch.uint8)].shape == (1, 3, 4)

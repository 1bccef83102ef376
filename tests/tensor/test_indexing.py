"""x[...] and x[...] = value against NumPy; len, iteration, membership; single elements as Python numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minidynamo as torch
from tensor.oracle import pairs


@st.composite
def indices(draw, shape):
    """A basic index that NumPy and tensors both take: positive steps, integers in range."""
    parts = []
    for size in shape:
        if draw(st.integers(0, 3)) == 0:
            parts.append(None)
        kind = draw(st.sampled_from(["int", "slice", "slice", "ellipsis", "stop"]))
        if kind == "stop":
            break
        if kind == "ellipsis":
            parts.append(...)
            break
        if kind == "int" and size:
            parts.append(draw(st.integers(-size, size - 1)))
        else:
            bound = st.one_of(st.none(), st.integers(-size - 2, size + 2))
            parts.append(slice(draw(bound), draw(bound), draw(st.one_of(st.none(), st.integers(1, 3)))))
    if len(parts) == 1 and draw(st.booleans()):
        return parts[0]
    return tuple(parts)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_reading(data):
    array, tensor = data.draw(pairs())
    index = data.draw(indices(array.shape))
    part = tensor[index]
    expected = array[index]
    assert tuple(part.shape) == np.shape(expected)
    np.testing.assert_array_equal(part.numpy(), expected)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_writing(data):
    array, tensor = data.draw(pairs(views=(lambda x: x,)))
    array, tensor = array.copy(), tensor.clone()
    index = data.draw(indices(array.shape))
    rows = data.draw(st.booleans())
    value = array[index][:1] if rows and np.ndim(array[index]) else array.dtype.type(3)
    array[index] = value
    tensor[index] = torch.tensor(value) if np.ndim(value) else value.item()
    np.testing.assert_array_equal(tensor.numpy(), array)


def test_a_part_is_a_view():
    x = torch.zeros(3, 4)
    x[1][2] = 5
    x[:, 0] = torch.tensor([1.0, 2.0, 3.0])
    x[2, 1:3] += 10
    assert x.tolist() == [[1, 0, 0, 0], [2, 0, 5, 0], [3, 10, 10, 0]]
    assert x[1].storage_offset() == 4 and x.t()[1].stride() == (4,)


def test_written_values_are_converted_and_broadcast():
    x = torch.zeros(2, 3, dtype=torch.int64)
    x[0] = 2.75
    x[1] = torch.tensor([1.5, -1.5, 0.0])
    assert x.tolist() == [[2, 2, 2], [1, -1, 0]]
    x[...] = True
    assert x.tolist() == [[1, 1, 1], [1, 1, 1]]
    x[:, :2] = torch.tensor([[7], [8]])
    assert x.tolist() == [[7, 7, 1], [8, 8, 1]]
    x[0] = torch.tensor([[[4, 5, 6]]])  # leading ones are dropped
    assert x[0].tolist() == [4, 5, 6]
    x[0] = np.array([1, 2, 3])
    assert x[0].tolist() == [1, 2, 3]


def test_overlapping_assignment():
    x = torch.arange(6)
    x[1:] = x[:-1].clone()
    assert x.tolist() == [0, 0, 1, 2, 3, 4]


def test_integer_likes():
    x = torch.arange(5)
    assert x[np.int64(2)].item() == 2 and x[torch.tensor(3)].item() == 3
    assert x[torch.tensor(1) : np.int32(3)].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (3, IndexError),
        (-4, IndexError),
        ((0, 0, 0), IndexError),
        (slice(None, None, -1), ValueError),
        (slice(None, None, 0), ValueError),
        (1.0, IndexError),
        ("a", TypeError),
        ((0, "a"), TypeError),
        ([0, 3], IndexError),
        ((..., ...), IndexError),
        (slice("a"), TypeError),
        (2**70, (IndexError, RuntimeError)),
        (np.array([0, 7]), IndexError),
    ],
)
def test_wrong_indices(index, error):
    x = torch.zeros(3, 2)
    with pytest.raises(error):
        x[index]
    with pytest.raises(error):
        x[index] = 1
    assert x.tolist() == [[0.0, 0.0]] * 3


BOOLS = [True, False, (None, True), (True, 0), (0, True), (True, False), (True, None), (slice(None), True)]
BOOLS += [(True, slice(None), True), (..., True), (True, ..., 0), (None, False), (True, None, True)]


@pytest.mark.parametrize("index", BOOLS, ids=str)
@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_bools_add_one_dimension(index, shape):
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    x = torch.tensor(array)
    torch._dynamo.reset()
    want = array[index]
    for made in (x[index], torch.compile(lambda v: v[index], fullgraph=True)(x)):
        assert tuple(made.shape) == want.shape and made.tolist() == want.tolist()
        made.add_(1)
        assert x.tolist() == array.tolist()  # a copy

    def assign(v):
        v[index] = 7.0
        return v

    array[index] = 7
    assert assign(torch.tensor(x)).tolist() == array.tolist()
    assert torch.compile(assign)(torch.tensor(x)).tolist() == array.tolist()


def test_bools_index_a_0d_tensor():
    x = torch.tensor(3.0)
    assert x[True].tolist() == [3.0] and x[False].tolist() == [] and tuple(x[None, False].shape) == (1, 0)


def test_fill_takes_one_value():
    x = torch.zeros(3)
    assert x.fill_(torch.tensor(2.0)).tolist() == [2.0] * 3
    for value in (torch.ones(3), torch.ones(1)):
        with pytest.raises(
            RuntimeError, match="fill_ only supports 0-dimension value tensor but got tensor with 1 dim"
        ):
            x.fill_(value)
    assert x.tolist() == [2.0] * 3


def test_float_indices_are_refused():
    x = torch.zeros(3)
    for index in (torch.tensor([0.0, 1.0]), torch.tensor(1.0), [0.5], np.array([1.5])):
        with pytest.raises(IndexError, match="tensors used as indices must be"):
            x[index]


def test_wrong_values():
    x = torch.zeros(2, 3)
    for value, error in (("a", TypeError), (None, TypeError), (torch.ones(4), RuntimeError), (1j, RuntimeError)):
        with pytest.raises(error):
            x[0] = value
    with pytest.raises(TypeError, match="deleting"):
        del x[0]
    assert x.sum().item() == 0


def test_zero_dimensional():
    x = torch.tensor(3.5)
    assert x[()].item() == 3.5 and x[...].shape == () and x[None].shape == (1,)
    with pytest.raises(IndexError):
        x[0]
    with pytest.raises(TypeError, match="len\\(\\) of a 0-d tensor"):
        len(x)
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(x)


def test_iteration_and_length():
    x = torch.arange(6).reshape(3, 2)
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    a, b, c = x
    b[0] = 9
    assert x[1, 0].item() == 9
    assert list(torch.zeros(0, 2)) == []


def test_membership():
    x = torch.tensor([1.0, 2.0, float("nan")])
    assert 1 in x and 2.0 in x and torch.tensor(2.0) in x
    assert 3 not in x and float("nan") not in x
    with pytest.raises(RuntimeError, match=r"only supports Tensor or scalar, but you passed in a <class 'str'>"):
        "a" in x  # noqa: B015


# --- numbers ----------------------------------------------------------------------------------------


@given(pairs())
@settings(deadline=None)
def test_tolist(pair):
    array, tensor = pair
    np.testing.assert_array_equal(np.array(tensor.tolist(), dtype=array.dtype).reshape(array.shape), array)


def test_conversions():
    assert int(torch.tensor(3.9)) == 3 and float(torch.tensor([2])) == 2.0 and bool(torch.tensor([[0.5]])) is True
    assert type(torch.tensor(True).item()) is bool and type(torch.tensor(1).item()) is int
    assert [10, 20, 30][torch.tensor(1)] == 20 and list(range(torch.tensor(2))) == [0, 1]
    assert not torch.tensor(0.0) and torch.tensor(float("nan"))


def test_wrong_conversions():
    two, none = torch.ones(2), torch.ones(0)
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        bool(two)
    with pytest.raises(RuntimeError, match="no values is ambiguous"):
        bool(none)
    with pytest.raises(RuntimeError, match="a Tensor with 2 elements cannot be converted to Scalar"):
        two.item()
    for convert in (int, float):
        with pytest.raises(ValueError, match="only one element tensors"):
            convert(two)
    for x in (torch.tensor(1.0), torch.ones(2, dtype=torch.int64)):
        with pytest.raises(TypeError, match="only integer tensors of a single element"):
            [1, 2][x]
    with pytest.raises(ValueError):
        int(torch.tensor(float("nan")))
    with pytest.raises(OverflowError):
        int(torch.tensor(float("inf")))

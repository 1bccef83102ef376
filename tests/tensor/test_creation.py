"""Tensors from Python values: inferred dtypes, nesting, refusals; the legacy constructor."""

import numpy as np
import pytest

import minidynamo as torch

INFERRED = [
    (1, torch.int64, ()),
    (1.5, torch.float32, ()),
    (True, torch.bool, ()),
    ([], torch.float32, (0,)),
    ([[], []], torch.float32, (2, 0)),
    ([1, 2], torch.int64, (2,)),
    ([1, 2.5, True], torch.float32, (3,)),
    ([True, 2], torch.int64, (2,)),
    ([[1.0], [2]], torch.float32, (2, 1)),
    ((1, (2,)[0]), torch.int64, (2,)),
    (range(3), torch.int64, (3,)),
    (np.float64(1), torch.float64, ()),
    ([np.float64(1), 1], torch.float64, (2,)),
    ([np.int32(1)], torch.int32, (1,)),
    (np.bool_(True), torch.bool, ()),
    (np.ones((2, 1), np.float32), torch.float32, (2, 1)),
    ([np.ones(2), [1, 2]], torch.float64, (2, 2)),
    ([np.ones(2, np.int32), np.ones(2, np.int32)], torch.int32, (2, 2)),
    (np.array(3), torch.int64, ()),
    ([np.array(3.0), 1], torch.float64, (2,)),
]


@pytest.mark.parametrize(("data", "dtype", "shape"), INFERRED, ids=[repr(row[0]) for row in INFERRED])
def test_inferred_dtype(data, dtype, shape):
    x = torch.tensor(data)
    assert x.dtype is dtype and tuple(x.shape) == shape
    expected = np.array([np.asarray(d).tolist() for d in data]) if isinstance(data, list) else np.asarray(data)
    assert x.tolist() == expected.astype(str(dtype).removeprefix("torch.")).tolist()


def test_tensors_inside():
    one = torch.tensor(1.5)
    assert torch.tensor([one, 2]).tolist() == [1.5, 2.0]
    assert torch.tensor([torch.tensor(1), torch.tensor(2)]).dtype is torch.int64
    assert torch.tensor([torch.ones(1, dtype=torch.float64)]).dtype is torch.float64
    with pytest.raises(ValueError, match="only one element tensors"):
        torch.tensor([torch.ones(2), torch.ones(2)])


def test_tensor_of_a_tensor_copies_and_warns():
    x = torch.ones(2)
    with pytest.warns(UserWarning, match="clone"):
        y = torch.tensor(x)
    x.zero_()
    assert y.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64, torch.bool])
def test_given_dtype_converts(dtype):
    x = torch.tensor([[0, 1.75], [True, 3]], dtype=dtype)
    assert x.dtype is dtype
    name = str(dtype).removeprefix("torch.")
    assert x.tolist() == np.array([[0, 1.75], [1, 3]]).astype(name).tolist()


def test_numbers_out_of_range():
    assert torch.tensor(-(2**63)).item() == -(2**63)
    with pytest.raises(ValueError, match="Overflow"):
        torch.tensor(2**63)
    for value in (2**31, -(2**31) - 1, 3e9, float("nan"), float("inf")):
        with pytest.raises(RuntimeError, match="int32 without overflow"):
            torch.tensor(value, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="int64 without overflow"):
        torch.tensor(2.0**63, dtype=torch.int64)
    assert torch.tensor(1e300).item() == float("inf")


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        ([[1, 2], [3]], ValueError, "expected sequence of length 2 at dim 1 \\(got 1\\)"),
        ([[1, 2], 3], TypeError, "not a sequence"),
        ([1, [2]], TypeError, "'list' object"),
        ("a", TypeError, "invalid data type 'str'"),
        (["a"], TypeError, "invalid data type 'str'"),
        (None, RuntimeError, "Could not infer dtype of NoneType"),
        ([1, None], RuntimeError, "Could not infer dtype of NoneType"),
        ({}, RuntimeError, "Could not infer dtype of dict"),
        ([np.clongdouble(1)], TypeError, "complex256|clongdouble"),
        (np.array(["a"]), TypeError, "can't convert"),
    ],
)
def test_bad_data(data, error, text):
    with pytest.raises(error, match=text):
        torch.tensor(data)


def test_recursive_list():
    x = []
    x.append(x)
    with pytest.raises(ValueError, match="too many dimensions"):
        torch.tensor(x)


def test_element_that_raises():
    class Bad:
        dtype = None

        def __float__(self):
            raise KeyError("mine")

        def __len__(self):
            raise KeyError("mine")

        def __getitem__(self, i):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        torch.tensor([Bad()], dtype=torch.float32)


def test_sequence_that_shrinks():
    class Shrinking(list):
        def __len__(self):
            return 5

    with pytest.raises((IndexError, ValueError, RuntimeError)):
        torch.tensor(Shrinking([1, 2]))


def test_arguments():
    assert torch.tensor([1.0], requires_grad=True).requires_grad
    for call, error in (
        (lambda: torch.tensor(), TypeError),
        (lambda: torch.tensor([1], torch.float32), TypeError),
        (lambda: torch.tensor([1], dtype="float32"), TypeError),
        (lambda: torch.tensor([1], data=[2]), TypeError),
        (lambda: torch.tensor([1], colour=1), TypeError),
        (lambda: torch.tensor([1], requires_grad=True), RuntimeError),
        (lambda: torch.tensor([1], device=3.5), TypeError),
    ):
        with pytest.raises(error):
            call()


def test_as_tensor():
    x = torch.ones(2)
    assert torch.as_tensor(x) is x
    assert torch.as_tensor(x, dtype=torch.float32) is x
    assert torch.as_tensor(x, dtype=torch.int64).dtype is torch.int64
    assert torch.as_tensor([1, 2]).tolist() == [1, 2]


@pytest.mark.parametrize("array", [np.arange(6).reshape(2, 3), np.array(2.5), np.array([5]), np.zeros((0, 2))])
def test_legacy_constructor_of_arrays(array):
    made = torch.Tensor(array)
    assert made.dtype is torch.float32 and made.tolist() == array.tolist()
    assert torch.Tensor(np.array(3)).shape == torch.Tensor(np.int64(3)).shape == (3,)  # integers are sizes


def test_legacy_constructor():
    assert torch.Tensor().shape == (0,)
    assert torch.Tensor(2, 3).shape == (2, 3) and torch.Tensor(torch.Size([4])).shape == (4,)
    assert torch.Tensor([1, 2]).dtype is torch.float32
    x = torch.ones(2)
    alias = torch.Tensor(x)
    assert alias is not x and alias.data_ptr() == x.data_ptr()
    for wrong in ((2.5,), (-1,), ("a",), (2, 2.5), (torch.ones(1, dtype=torch.int64),)):
        with pytest.raises((TypeError, RuntimeError)):
            torch.Tensor(*wrong)


@pytest.mark.parametrize(("number", "dtype"), [(float, torch.float64), (int, torch.int64), (bool, torch.bool)])
def test_python_number_types_are_dtypes(number, dtype):
    assert torch.ones(2, dtype=number).dtype is dtype
    assert torch.ones(2).to(number).dtype is dtype

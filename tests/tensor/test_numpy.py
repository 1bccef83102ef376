"""NumPy in and out: shared memory, lifetimes, strides, refusals."""

import gc
import warnings

import numpy as np
import pytest

import minidynamo as torch


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.bool_])
def test_both_ways_share_memory(dtype):
    array = np.zeros((2, 3), dtype)
    tensor = torch.from_numpy(array)
    assert str(tensor.dtype) == f"torch.{np.dtype(dtype).name}"
    tensor[1, 2] = 1
    assert array[1, 2] == 1
    array[0, 0] = 1
    assert tensor[0, 0].item() == 1
    assert tensor.data_ptr() == array.ctypes.data
    back = tensor.numpy()
    assert back.ctypes.data == array.ctypes.data and back.dtype == array.dtype
    back[0, 1] = 1
    assert tensor[0, 1].item() == 1


def test_memory_outlives_its_first_owner():
    array = torch.arange(4.0).numpy()
    gc.collect()
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0]
    tensor = torch.from_numpy(np.arange(4.0))
    gc.collect()
    assert tensor.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_strided_arrays_and_tensors():
    array = np.arange(24.0).reshape(4, 6)
    tensor = torch.from_numpy(array.T[1:, ::2])
    assert tensor.stride() == (1, 12) and tensor.tolist() == array.T[1:, ::2].tolist()
    tensor = torch.arange(24).reshape(4, 6)[1:, ::2].t()
    assert tensor.numpy().strides == (16, 48)
    assert tensor.numpy().tolist() == tensor.tolist()
    expanded = torch.ones(1, 2).expand(3, 2)
    assert expanded.numpy().strides == (0, 4)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1, 1)])
def test_empty_and_zero_dimensional(shape):
    array = np.zeros(shape, np.float32)
    tensor = torch.from_numpy(array)
    assert tuple(tensor.shape) == shape and tensor.numpy().shape == shape
    assert torch.zeros(shape).numpy().shape == shape


def test_array_protocol():
    x = torch.arange(3)
    assert np.asarray(x).ctypes.data == x.data_ptr()
    assert np.array(x, dtype=np.float64).dtype == np.float64
    assert np.array(x).ctypes.data != x.data_ptr()
    assert np.add(x.numpy(), 1).tolist() == [1, 2, 3]


def test_operators_mix():
    x = torch.ones(3)
    result = x + np.arange(3.0)
    assert type(result) is torch.Tensor and result.dtype is torch.float64 and result.tolist() == [1.0, 2.0, 3.0]
    assert (np.arange(3.0) * x).tolist() == [0.0, 1.0, 2.0]
    for result in (np.float64(2) * x, x * np.float64(2), np.float32(2) * x, x * np.int64(2)):
        assert type(result) is torch.Tensor and result.dtype is torch.float32 and result.tolist() == [2.0] * 3


def test_negative_strides_are_refused():
    with pytest.raises(ValueError, match="negative"):
        torch.from_numpy(np.ones(3)[::-1])


def test_odd_strides_are_refused():
    record = np.zeros(3, dtype=[("a", np.int8), ("b", np.float32)])
    with pytest.raises(ValueError, match="multiple of the element"):
        torch.from_numpy(record["b"])


def test_byte_order_is_refused():
    with pytest.raises(ValueError, match="byte order"):
        torch.from_numpy(np.ones(3, ">f4"))


REFUSED = ("clongdouble", "U1", "object", "M8[s]", "longdouble")


@pytest.mark.parametrize("array", [np.zeros(2, dtype) for dtype in REFUSED], ids=REFUSED)
def test_other_dtypes_are_refused(array):
    with pytest.raises(TypeError, match="can't convert np.ndarray of type"):
        torch.from_numpy(array)


def test_only_arrays():
    for wrong in ([1], 1.0, None, memoryview(b"abcd"), torch.ones(1)):
        with pytest.raises(TypeError, match="expected np.ndarray"):
            torch.from_numpy(wrong)
    with pytest.raises(TypeError):
        torch.from_numpy()


def test_read_only_arrays_warn():
    array = np.ones(3)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        tensor = torch.from_numpy(array)
    assert tensor.tolist() == [1.0, 1.0, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.tensor(array).add_(1).tolist() == [2.0, 2.0, 2.0]
        assert (torch.ones(3) + array).tolist() == [2.0, 2.0, 2.0]
    assert array.tolist() == [1.0, 1.0, 1.0]


def test_tensor_copies_and_as_tensor_does_not():
    array = np.zeros(2)
    copied, shared = torch.tensor(array), torch.as_tensor(array)
    array[0] = 1
    assert copied.tolist() == [0.0, 0.0] and shared.tolist() == [1.0, 0.0]
    assert torch.as_tensor(array, dtype=torch.float32).dtype is torch.float32


def test_conversion_calls():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"detach\(\)"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="unexpected keyword"):
        x.numpy(fast=True)

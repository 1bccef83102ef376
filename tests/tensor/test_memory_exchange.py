"""Memory shared with other libraries: DLPack, the buffer protocol, __array__, asarray; who keeps what alive."""

import array
import ctypes
import gc
import sys
import weakref
from contextlib import nullcontext as nothing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

import minidynamo as torch
from minidynamo.utils.dlpack import from_dlpack, to_dlpack

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


# --- DLPack -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_to_numpy_and_back(dtype):
    t = torch.ones(2, 3, dtype=getattr(torch, dtype))
    a = np.from_dlpack(t)
    assert a.dtype == dtype and a.shape == (2, 3) and a.ctypes.data == t.data_ptr()
    b = np.arange(6).reshape(2, 3).astype(dtype)
    u = torch.from_dlpack(b)
    assert u.dtype == t.dtype and u.tolist() == b.tolist() and u.data_ptr() == b.ctypes.data
    u[0, 0] = 1
    assert b[0, 0] == 1


def test_dlpack_keeps_strides_and_offsets():
    t = torch.arange(24).reshape(4, 6)[1:, ::2].t()
    assert np.from_dlpack(t).tolist() == t.tolist()
    a = np.arange(24.0).reshape(4, 6)[1:, 1::2]
    assert torch.from_dlpack(a).tolist() == a.tolist()
    assert torch.from_dlpack(np.zeros((0, 3))).shape == (0, 3)
    assert torch.from_dlpack(np.array(2.5)).item() == 2.5


@given(st.data())
def test_any_part_of_an_array_makes_the_round(data):
    shape = data.draw(array_shapes(max_dims=3, max_side=4))
    a = np.arange(np.prod(shape)).reshape(shape)
    part = np.asarray(a[data.draw(basic_indices(shape))])
    if any(s < 0 for s, n in zip(part.strides, part.shape) if n > 1):
        with pytest.raises(ValueError, match="negative stride"):
            torch.from_dlpack(part)
        return
    t = torch.from_dlpack(part)
    assert t.tolist() == part.tolist() and tuple(t.shape) == part.shape
    for back in (np.from_dlpack(t), np.asarray(memoryview(t)), t.numpy(), torch.from_dlpack(t).numpy()):
        assert back.tolist() == part.tolist()
        assert not part.size or np.shares_memory(back, a) == np.shares_memory(part, a)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3), (2, 0)])
def test_capsules_have_the_version_asked_for(version):
    capsule = torch.arange(3).__dlpack__(max_version=version)
    name = "dltensor_versioned" if version and version[0] >= 1 else "dltensor"
    assert f'"{name}"' in repr(capsule)
    assert torch.from_dlpack(capsule).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="once"):
        torch.from_dlpack(capsule)


def test_utils_dlpack():
    t = torch.arange(3)
    u = from_dlpack(to_dlpack(t))
    u[0] = 7
    assert t.tolist() == [7, 1, 2]
    assert t.__dlpack_device__() == (1, 0)


def test_bfloat16_travels_between_tensors():
    t = torch.ones(3, dtype=torch.bfloat16)
    assert torch.from_dlpack(t).dtype == torch.bfloat16


def test_copies_on_request():
    t = torch.arange(3)
    assert torch.from_dlpack(t, copy=True).data_ptr() != t.data_ptr()
    assert torch.from_dlpack(t, copy=False).data_ptr() == t.data_ptr()
    a = np.arange(3)
    assert torch.from_dlpack(a, copy=True).data_ptr() != a.ctypes.data
    assert torch.from_dlpack(t.__dlpack__(copy=True)).data_ptr() != t.data_ptr()


def test_read_only_memory_is_warned_about():
    a = np.arange(3)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="read-only"):
        assert torch.from_dlpack(a).tolist() == [0, 1, 2]


def of_another_type(array, bits):
    """A capsule with the memory of an array whose elements are said to have so many bits."""
    capsule = array.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    # DLTensor: the address of the data, two numbers of the device, how many dimensions, then the code and the bits.
    ctypes.c_uint8.from_address(pointer(capsule, b"dltensor") + 8 + 4 + 4 + 4 + 1).value = bits
    return capsule


def test_what_dlpack_refuses():
    with pytest.raises(BufferError, match="requires grad"):
        torch.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="device type 2"):
        torch.ones(2).__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError, match="stream"):
        torch.ones(2).__dlpack__(stream=3)
    with pytest.raises(TypeError, match="__dlpack__"):
        torch.from_dlpack([1, 2])
    with pytest.raises(RuntimeError, match="has no tensor dtype"):
        torch.from_dlpack(of_another_type(np.ones(2, np.uint32), bits=24))
    with pytest.raises(ValueError, match="negative stride"):
        torch.from_dlpack(np.arange(4)[::-1])


class Producer:
    """An array library of another version: only what `understands` lists is accepted."""

    def __init__(self, data, understands=()):
        self.data = data
        self.understands = understands
        self.asked = []

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **asked):
        self.asked.append(sorted(asked))
        if set(asked) - set(self.understands):
            raise TypeError("unexpected keyword argument")
        return self.data.__dlpack__(**asked)


def test_older_producers():
    old = Producer(np.arange(3))
    assert torch.from_dlpack(old, copy=True).tolist() == [0, 1, 2]
    assert old.asked == [["copy", "max_version"], ["copy"], []]
    new = Producer(np.arange(3), ("max_version", "copy"))
    assert torch.from_dlpack(new).tolist() == [0, 1, 2] and new.asked == [["max_version"]]


def test_a_producer_on_another_device_is_refused():
    class Gpu(Producer):
        def __dlpack_device__(self):
            return (2, 0)

    with pytest.raises(BufferError, match="device type 2"):
        torch.from_dlpack(Gpu(np.arange(3)))


class Owner(np.ndarray):
    """Arrays that can be referred to weakly."""


def test_memory_lives_as_long_as_anybody_uses_it():
    owner = np.arange(4.0).view(Owner)
    seen = weakref.ref(owner)
    t = torch.from_dlpack(owner)
    part = t[1:]
    del owner, t
    gc.collect()
    assert seen() is not None and part.tolist() == [1.0, 2.0, 3.0]
    del part
    gc.collect()
    assert seen() is None


def test_a_capsule_nobody_takes_frees_its_memory():
    owner = np.arange(4.0).view(Owner)
    seen = weakref.ref(owner)
    capsules = [torch.from_numpy(owner).__dlpack__(), torch.from_numpy(owner).__dlpack__(max_version=(1, 0))]
    del owner
    gc.collect()
    assert seen() is not None
    del capsules
    gc.collect()
    assert seen() is None


def test_the_tensor_may_go_before_the_array():
    a = np.from_dlpack(torch.arange(4.0))
    gc.collect()
    assert a.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_exchange_api_is_offered():
    capsule = torch.Tensor.__dlpack_c_exchange_api__
    assert '"dlpack_exchange_api"' in repr(capsule)
    assert type(torch.ones(1)).__dlpack_c_exchange_api__ is capsule


# --- the buffer protocol ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_memoryview(dtype):
    t = torch.ones(2, 3, dtype=getattr(torch, dtype))
    view = memoryview(t)
    assert view.shape == (2, 3) and view.itemsize == t.element_size() and not view.readonly
    assert np.asarray(view).dtype == dtype
    assert bytes(view) == t.numpy().tobytes()


def test_a_view_writes_to_the_tensor_and_keeps_its_memory():
    t = torch.zeros(4)
    view = memoryview(t)
    view[1] = 2.5
    assert t.tolist() == [0.0, 2.5, 0.0, 0.0]
    before = sys.getrefcount(t)
    with memoryview(t):
        assert sys.getrefcount(t) == before + 1
    assert sys.getrefcount(t) == before
    del t
    gc.collect()
    assert view.tolist() == [0.0, 2.5, 0.0, 0.0]


def test_strided_views():
    t = torch.arange(12).reshape(3, 4)[:, ::2]
    assert memoryview(t).strides == (32, 16) and memoryview(t).tolist() == t.tolist()
    with pytest.raises(BufferError, match="contiguous"):
        array.array("q").frombytes(t)
    assert memoryview(torch.tensor(3)).tolist() == 3


def test_what_has_no_buffer():
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(torch.ones(2, dtype=torch.bfloat16))
    with pytest.raises(BufferError, match="requires grad"):
        memoryview(torch.ones(2, requires_grad=True))


def test_frombuffer():
    data = bytearray(range(16))
    t = torch.frombuffer(data, dtype=torch.uint8)
    t[0] = 99
    assert data[0] == 99 and t.shape == (16,)
    assert torch.frombuffer(data, dtype=torch.int32, count=2, offset=4).tolist() == [0x07060504, 0x0B0A0908]
    values = array.array("d", [1.0, 2.0])
    assert torch.frombuffer(values, dtype=torch.float64).tolist() == [1.0, 2.0]
    with pytest.warns(UserWarning, match="not writable"):
        assert torch.frombuffer(b"ab", dtype=torch.int8).tolist() == [97, 98]


@pytest.mark.parametrize(
    "size, wanted",
    [
        (16, {"offset": 16}),
        (16, {"count": 5}),
        (15, {}),
        (16, {"offset": 2}),
        (16, {"count": 0}),
        (0, {}),
        (16, {"offset": -4}),
    ],
)
def test_frombuffer_checks_its_arguments(size, wanted):
    with pytest.raises(ValueError, match="frombuffer"):
        torch.frombuffer(bytearray(size), dtype=torch.int32, **wanted)


def test_a_buffer_is_locked_while_a_tensor_uses_it():
    data = bytearray(8)
    t = torch.frombuffer(data, dtype=torch.uint8)
    with pytest.raises(BufferError):
        data.extend(b"more")
    del t
    gc.collect()
    data.extend(b"more")


# --- __array__ and asarray --------------------------------------------------------------------------------------------


def test_array_protocol_copies_when_asked():
    t = torch.arange(3.0)
    assert np.array(t, copy=False).ctypes.data == t.data_ptr()
    assert np.array(t, copy=True).ctypes.data != t.data_ptr()
    assert t.__array__(np.float64).dtype == np.float64
    assert t.__array__(np.float32, copy=False).ctypes.data == t.data_ptr()
    with pytest.raises(ValueError, match="copy"):
        t.__array__(np.float64, copy=False)


def test_asarray_shares_where_it_can():
    t = torch.arange(3.0)
    assert torch.asarray(t) is t
    a = np.arange(3.0)
    assert torch.asarray(a).data_ptr() == a.ctypes.data
    values = array.array("f", [1, 2, 3])
    shared = torch.asarray(values)
    shared[0] = 9
    assert values[0] == 9 and shared.dtype == torch.float32
    assert torch.asarray(Producer(a)).data_ptr() == a.ctypes.data
    assert torch.asarray([1, 2]).tolist() == [1, 2]
    assert torch.asarray(3.5, dtype=torch.float64).dtype == torch.float64
    assert torch.asarray(t, copy=True).data_ptr() != t.data_ptr()
    assert torch.asarray(t, dtype=torch.int64).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="copy=False"):
        torch.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        torch.asarray(a, dtype=torch.float32, copy=False)
    assert torch.asarray(t, requires_grad=True).requires_grad and not t.requires_grad


# --- Growing and overlapping ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("enlarge", ["out", "resize_", "resize_as_"])
@pytest.mark.parametrize("start", [0, 4])
def test_memory_of_an_array_does_not_grow(enlarge, start):
    array = np.zeros(6, dtype=np.float32)
    t = torch.from_numpy(array)[start:]
    new = torch.ones(8)
    with pytest.raises(RuntimeError, match="cannot enlarge memory"), pytest.warns() if enlarge == "out" else nothing():
        if enlarge == "out":
            torch.add(new, 1, out=t)
        else:
            t.resize_(8) if enlarge == "resize_" else t.resize_as_(new)
    assert t.shape == (6 - start,) and array.tolist() == [0] * 6
    fits = torch.from_numpy(array)[1:2]
    fits.resize_(4).fill_(3)  # within the array
    assert array.tolist() == [0, 3, 3, 3, 3, 0]


@pytest.mark.parametrize("export", [lambda t: t.numpy(), np.asarray, np.from_dlpack, memoryview])
def test_memory_that_was_exported_stays_where_it_is(export):
    t = torch.arange(1000.0)
    given = export(t)
    with pytest.raises(RuntimeError, match="an array or a buffer was made over"):
        t.resize_(100_000)
    t.set_(torch.zeros(3))
    del t
    gc.collect()
    torch.full((1000,), 7.0)
    assert list(given) == list(range(1000))


@pytest.mark.parametrize("n", [6, 1000])
@pytest.mark.parametrize(
    "write",
    [
        lambda x, s: x.index_add_(0, torch.arange(len(s)) + 1, s),
        lambda x, s: x.index_copy_(0, torch.arange(len(s)) + 1, s),
        lambda x, s: x.scatter_(0, torch.arange(len(s)) + 1, s),
        lambda x, s: x.scatter_add_(0, torch.arange(len(s)) + 1, s),
        lambda x, s: x.index_put_((torch.arange(len(s)) + 1,), s, accumulate=True),
        lambda x, s: x[1 : 1 + len(s)].add_(s),
        lambda x, s: x[2 : 2 + len(s)].copy_(s),
        lambda x, s: x[2 : 2 + len(s)].mul_(s).sub_(1),
        lambda x, s: x.__setitem__(slice(2, 2 + len(s)), s),
    ],
)
def test_a_source_over_the_same_array(write, n):
    """Two tensors over one array: what is written is computed from what was there before."""
    for part in (slice(1, -2), slice(0, -2)):
        array = np.arange(n, dtype=np.float32)
        write(torch.from_numpy(array), torch.from_numpy(array[part]))
        apart = np.arange(n, dtype=np.float32)
        write(torch.from_numpy(apart), torch.from_numpy(apart[part].copy()))
        assert array.tolist() == apart.tolist()

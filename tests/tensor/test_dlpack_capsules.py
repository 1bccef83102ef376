"""DLPack capsules as other libraries, and broken ones, make them: built field by field through ctypes."""

import ctypes
import warnings

import numpy as np
import pytest

import minidynamo as torch


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


def ints(values):
    return (ctypes.c_int64 * max(len(values), 1))(*values) if values is not None else None


class Producer:
    """One capsule over eight floats; `deleted` counts calls of its deleter."""

    def __init__(self, versioned=False, major=1, flags=0, shape=(2, 4), strides=(4, 1), **fields):
        self.memory = (ctypes.c_float * 8)(*range(8))
        self.shape, self.strides, self.deleted = ints(shape), ints(strides), 0
        pointer = ctypes.POINTER(ctypes.c_int64)
        values = {
            "data": ctypes.addressof(self.memory),
            "device_type": 1,
            "ndim": len(shape or ()),
            "code": 2,
            "bits": 32,
        }
        values |= {"lanes": 1, "shape": ctypes.cast(self.shape, pointer) if shape is not None else pointer()}
        values |= {"strides": ctypes.cast(self.strides, pointer) if strides is not None else pointer()} | fields
        self.deleter = Deleter(self.delete)
        kind = Versioned if versioned else Managed
        self.managed = kind(tensor=Tensor(**values), deleter=self.deleter)
        if versioned:
            self.managed.major, self.managed.flags = major, flags
        self.name = b"dltensor_versioned" if versioned else b"dltensor"
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.capsule = make(ctypes.addressof(self.managed), self.name, None)

    def delete(self, _):
        self.deleted += 1


REFUSED = {
    "rank -1": {"ndim": -1},
    "rank huge": {"ndim": 2**31 - 1},
    "rank 65": {"ndim": 65},
    "no shape": {"shape": None, "ndim": 2},
    "negative size": {"shape": (2, -4)},
    "sizes wrap": {"shape": (2**62, 4)},
    "sizes wrap to 0": {"shape": (2**32, 2**32), "strides": None},
    "bytes wrap": {"shape": (2**62,), "strides": (1,)},
    "repeated beyond int64": {"shape": (2**40, 2**40), "strides": (0, 0)},
    "strides wrap": {"shape": (3, 4), "strides": (2**62, 1)},
    "stride of bytes wraps": {"shape": (2,), "strides": (2**62,)},
    "negative stride": {"strides": (-4, 1)},
    "least stride": {"strides": (-(2**63), 1)},
    "no memory": {"data": None},
    "no memory, offset": {"data": None, "byte_offset": 64},
    "offset wraps": {"byte_offset": 2**64 - 4},
    "reaches past the end": {"byte_offset": 2**64 - 2**48},
    "odd offset": {"byte_offset": 2},
    "other device": {"device_type": 2},
    "managed memory": {"device_type": 13},
    "lanes": {"lanes": 4},
    "no lanes": {"lanes": 0},
    "complex of halves": {"code": 5, "bits": 32},
    "opaque": {"code": 3},
    "wide unsigned": {"code": 1, "bits": 128},
    "four bits": {"code": 0, "bits": 4},
    "no bits": {"bits": 0},
    "unknown code": {"code": 250},
}


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_refused_and_given_back_once(name, versioned):
    p = Producer(versioned, **REFUSED[name])
    with pytest.raises((RuntimeError, ValueError)):
        torch.from_dlpack(p.capsule)
    assert p.deleted == 1
    with pytest.raises(RuntimeError, match="once"):
        torch.from_dlpack(p.capsule)
    assert p.deleted == 1


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize(
    ("fields", "values"),
    [
        ({}, [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ({"strides": None}, [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ({"shape": (3,), "strides": (2,), "byte_offset": 8}, [2, 4, 6]),
        ({"shape": (), "strides": None, "byte_offset": 4}, 1),
        ({"shape": (0, 2**62), "strides": None, "data": None}, []),
        ({"shape": (1, 2), "strides": (-(2**63), 1)}, [[0, 1]]),
        ({"shape": (3, 2), "strides": (0, 1)}, [[0, 1]] * 3),
    ],
)
def test_taken_over_and_given_back_once(fields, values, versioned):
    p = Producer(versioned, **fields)
    t = torch.from_dlpack(p.capsule)
    assert t.tolist() == values and p.deleted == 0
    with pytest.raises(RuntimeError, match="once"):
        torch.from_dlpack(p.capsule)
    part = t.view(-1) if t.is_contiguous() else t
    del t
    assert p.deleted == 0
    del part
    assert p.deleted == 1


@pytest.mark.parametrize("major", [0, 2, 2**32 - 1])
def test_other_versions(major):
    p = Producer(True, major=major, ndim=-7)
    with pytest.raises(RuntimeError, match="version"):
        torch.from_dlpack(p.capsule)
    assert p.deleted == 1


def test_read_only_memory_is_warned_of():
    p = Producer(True, flags=1)
    with pytest.warns(UserWarning, match="read-only"):
        t = torch.from_dlpack(p.capsule)
    assert t.sum().item() == 28
    q = Producer(True, flags=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            torch.from_dlpack(q.capsule)
    assert q.deleted == 1


class Foreign:
    """A tensor of another library: asked by functions of ours, it calls them again, as that library's own would."""

    def __init__(self, values):
        self.values = np.asarray(values, dtype="float32")
        self.asked = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

    def __dlpack__(self, **kwargs):
        return self.values.__dlpack__()

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class WithArray:
    def __init__(self, values):
        self.values = np.asarray(values, dtype="float32")

    __torch_function__ = Foreign.__torch_function__

    def __array__(self, dtype=None, copy=None):
        return self.values


@pytest.mark.parametrize("call", [torch.from_dlpack, torch.as_tensor, torch.asarray, torch.tensor])
@pytest.mark.parametrize("kind", [Foreign, WithArray])
def test_tensors_of_other_libraries(kind, call):
    x = kind([1, 2, 3])
    if kind is WithArray and call in (torch.from_dlpack, torch.tensor):
        with pytest.raises((TypeError, RuntimeError)):
            call(x)
        return
    t = call(x)
    assert type(t) is torch.Tensor and t.tolist() == [1, 2, 3]
    x.values[0] = 9
    assert t[0].item() == (1 if call is torch.tensor else 9)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.add(torch.ones(3), x),
        lambda x: torch.ones(3) + x,
        lambda x: torch.ones(3) * x,
        lambda x: torch.ones(3)[x],
        lambda x: torch.cat([torch.ones(3), x]),
        lambda x: torch.zeros(3).copy_(x),
        lambda x: torch.from_numpy(x),
        lambda x: torch.sum(x),
    ],
)
def test_operations_with_them_end(call):
    with pytest.raises((TypeError, RuntimeError, IndexError)) as info:
        call(Foreign([1, 2, 3]))
    assert info.type is not RecursionError


class Theirs(Foreign):
    """Its own functions ask the arguments' types first, ours among them."""

    def __add__(self, other):
        try:
            return their_function(self, other)
        except TypeError:
            return NotImplemented


def their_function(*args):
    types = tuple({type(a) for a in args if hasattr(a, "__torch_function__") and not isinstance(a, Theirs)})
    for kind in types:
        answer = kind.__torch_function__(their_function, types, args)
        if answer is not NotImplemented:
            return answer
    if types:
        raise TypeError(f"no implementation found on types that implement __torch_function__: {types}")
    return "their answer"


def test_functions_of_other_libraries_that_ask_our_tensors():
    ours = torch.ones(3)
    with pytest.raises(TypeError, match="no implementation found"):
        their_function(Theirs([1]), ours)
    with pytest.raises(TypeError, match="no implementation found"):
        their_function(ours.as_subclass(torch.nn.Parameter.__mro__[1]), 1)
    with pytest.raises(TypeError):
        Theirs([1, 2, 3]) + ours
    assert their_function(Theirs([1])) == "their answer"

    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs)

    # Functions of ours may come back on their way: an override that calls a second function asks anew.
    assert type(torch.add(ours.as_subclass(Asked), 1)) is Asked

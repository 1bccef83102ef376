"""torch.FloatTensor and its kin: older names of dtypes that also make tensors, and Tensor.type, which uses them."""

import functools

from . import _C
from ._no_device import is_present

_NAMES = {
    _C.float32: "Float",
    _C.float64: "Double",
    _C.float16: "Half",
    _C.bfloat16: "BFloat16",
    _C.uint8: "Byte",
    _C.int8: "Char",
    _C.int16: "Short",
    _C.int32: "Int",
    _C.int64: "Long",
    _C.bool: "Bool",
    _C.complex64: "ComplexFloat",
    _C.complex128: "ComplexDouble",
}


# Of dtypes that no tensor type makes.
_UNTYPED_NAMES = {
    _C.uint16: "UInt16",
    _C.uint32: "UInt32",
    _C.uint64: "UInt64",
    _C.float8_e4m3fn: "Float8_e4m3fn",
    _C.float8_e5m2: "Float8_e5m2",
    _C.float8_e4m3fnuz: "Float8_e4m3fnuz",
    _C.float8_e5m2fnuz: "Float8_e5m2fnuz",
}


class OutOfMemoryError(RuntimeError):
    """Raised where a GPU has too little memory left; where the host has, MemoryError is raised."""


class AcceleratorError(RuntimeError):
    """Raised for what the driver of a GPU reports."""


class tensortype(type):
    """The type of torch.FloatTensor and its kin. `isinstance` asks for dtype and device; calls make tensors."""

    make_sparse = None  # torch.sparse puts its own here: its types are reached through it

    def __instancecheck__(cls, instance):
        return (
            isinstance(instance, _C.Tensor)
            and cls._device == ("sparse" if instance.is_sparse else instance.device.type)
            and (cls.dtype is None or instance.dtype == cls.dtype)
        )

    def __subclasscheck__(cls, subclass):
        return subclass is cls

    def __call__(cls, *args, **kwargs):
        if cls._device == "cuda" and not is_present():
            raise TypeError(f"type {cls.full_name} is not available: Torch not compiled with CUDA enabled")
        if cls._device == "sparse":
            return cls.make_sparse(cls.dtype, *args, **kwargs)
        device = kwargs.pop("device", None)
        device = _C.device(cls._device if device is None else device)  # not where new tensors are made by default
        if device.type != cls._device:
            raise RuntimeError(
                f"legacy constructor expects device type: {cls._device} but device type: {device.type} was passed"
            )
        return _made(cls.dtype, *args, device=device, **kwargs)

    def __getattr__(cls, name):
        return getattr(_C.Tensor, name)

    @property
    def full_name(cls):
        """As Tensor.type() says it: 'torch.FloatTensor'."""
        return f"{cls.__module__}.{cls.__name__}"


def _made(dtype, /, *args, device=None, **named):
    """What torch.FloatTensor(...) makes: of sizes, of data, or of a tensor of the dtype, sharing its memory."""
    kind = "cpu" if device is None else device.type if isinstance(device, _C.device) else _C.device(device).type
    if kind != "cpu" and not (kind == "cuda" and is_present()):
        raise RuntimeError(f"these constructors make tensors on the CPU, not on {device}")
    if len(named) + bool(args) > 1 or named.keys() - {"data", "size"}:
        raise TypeError(f"new() takes sizes, or data, and a device; got {len(args)} and {', '.join(named) or 'none'}")
    if "size" in named:
        return _C.empty(tuple(named["size"]), dtype=dtype, device=device)
    args = args or tuple(named.values())
    if not args:
        return _C.empty(0, dtype=dtype, device=device)
    first = args[0]
    if len(args) == 1 and isinstance(first, _C.Size):
        return _C.empty(first, dtype=dtype, device=device)
    if _is_int(first):
        for at, size in enumerate(args):
            if not _is_int(size):
                raise TypeError(f"new(): size {at + 1} has to be an int, got {type(size).__name__}")
        return _C.empty(args, dtype=dtype, device=device)
    if len(args) > 1:
        raise TypeError("new(): several arguments are sizes, which have to be ints")
    return _of_data(dtype, first, device)


def _of_data(dtype, data, device):
    if isinstance(data, _C.Tensor):
        if data.dtype != dtype:
            raise TypeError(f"new(): a tensor of {dtype} is needed, got one of {data.dtype}; see Tensor.to()")
        return data.detach()
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if isinstance(data, (dict, set)) or not hasattr(data, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return _C.tensor(data, dtype=dtype, device=device)


def _is_int(value):
    if isinstance(value, (bool, _C.Tensor)) or getattr(value, "shape", ()) != ():
        return False
    return hasattr(value, "__index__")


def _types_of(device):
    """{name: type} of the types of a device, 'cpu', 'cuda' or 'sparse'."""
    made = {}
    for dtype, name in _NAMES.items():
        facts = {
            "__module__": "torch" if device == "cpu" else f"torch.{device}",
            "_device": device,
            "dtype": dtype,
            "layout": _C.strided,
            "is_cuda": device == "cuda",
            "is_sparse": device == "sparse",
        }
        made[f"{name}Tensor"] = tensortype(f"{name}Tensor", (), facts)
    return made


cpu_types = _types_of("cpu")
cuda_types = _types_of("cuda")
sparse_types = _types_of("sparse")


@functools.cache
def _type_names():
    return {kind.full_name: kind for kinds in (cpu_types, cuda_types, sparse_types) for kind in kinds.values()}


def name_of(tensor):
    """'torch.FloatTensor': dtype and, where it is not the CPU, device of a tensor."""
    where = "sparse." if tensor.is_sparse else "" if tensor.device.type == "cpu" else f"{tensor.device.type}."
    return f"torch.{where}{_NAMES.get(tensor.dtype) or _UNTYPED_NAMES[tensor.dtype]}Tensor"


def device_of(kind):
    """The kind of device that a tensor type or its name is of; None for a dtype and for Tensor."""
    found = _type_names().get(kind) if isinstance(kind, str) else kind
    return found._device if isinstance(found, tensortype) and found._device != "sparse" else None


def dtype_of(kind):
    """The dtype that a dtype, a tensor type or the name of one stands for.

    RuntimeError for types of other devices, ValueError for names of none, TypeError for other objects.
    """
    if isinstance(kind, _C.dtype):
        return kind
    if isinstance(kind, tensortype):
        found, name = kind, kind.full_name
    elif isinstance(kind, type):
        name = "torch.Tensor" if kind is _C.Tensor else kind.__name__
        found = _type_names().get(name)
    elif isinstance(kind, str):
        name, found = kind, _type_names().get(kind)
    else:
        raise TypeError(f"type(): dtype must be a dtype, a tensor type or its name, got {type(kind).__name__}")
    if name == "torch.Tensor":
        return _C.get_default_dtype()
    if found is None:
        raise ValueError(f"invalid type: {name!r}; names are like 'torch.FloatTensor'")
    if found._device != "cpu" and not (found._device == "cuda" and is_present()):
        raise RuntimeError(f"type(): {name} is a type of another device; minidynamo holds tensors on the CPU")
    return found.dtype


def set_default_tensor_type(t, /):
    """The dtype of `t`, a tensor type of floating point or its name, becomes the default; see set_default_dtype.

    TypeError for others, also those of CUDA devices where there are none; else that device is the default, too.
    """
    kind = _type_names().get(t) if isinstance(t, str) else t
    if isinstance(t, str) and kind is None:
        raise ValueError(f"set_default_tensor_type: there is no tensor type {t!r}; names are like 'torch.FloatTensor'")
    if not isinstance(kind, tensortype) or not kind.dtype.is_floating_point:
        raise TypeError(f"set_default_tensor_type: only tensor types of floating point can be the default, got {t!r}")
    if kind._device != "cpu" and not (kind._device == "cuda" and is_present()):
        raise TypeError(f"type {kind.full_name} is not available: minidynamo holds tensors on the CPU")
    _C.set_default_dtype(kind.dtype)
    if is_present():
        _C.set_default_device(kind._device)


def typename(obj, /):
    """'torch.FloatTensor' of a tensor, module and name of a class or of an object's class for others."""
    if isinstance(obj, _C.Tensor):
        return name_of(obj)
    if isinstance(obj, tensortype):
        return obj.full_name
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None) or ""
    module = "" if module == "builtins" else module.replace(__package__, "torch", 1)
    return f"{module}.{named.__qualname__}" if module else named.__qualname__

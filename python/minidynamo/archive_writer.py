"""What save() writes: a zip archive as torch writes them, `data.pkl` and the memory of tensors beside it.

The pickle calls functions and classes by their names in torch. The first entry tells how long the archive is, and its
comment the SHA-256 of all before it: readers of torch skip both, load() checks them.
"""

import collections
import hashlib
import io
import pickle
import sys
import zipfile

from . import _C

PACKAGE = __package__.partition(".")[0]
LENGTH_ENTRY = ".minidynamo_length"
COMMENT = b"minidynamo sha256 "
_ALIGNED = 64  # where memory begins, counted from the beginning of the file, is a multiple of this
STORAGES = {
    _C.float32: "FloatStorage",
    _C.float64: "DoubleStorage",
    _C.float16: "HalfStorage",
    _C.bfloat16: "BFloat16Storage",
    _C.int64: "LongStorage",
    _C.int32: "IntStorage",
    _C.int16: "ShortStorage",
    _C.int8: "CharStorage",
    _C.uint8: "ByteStorage",
    _C.bool: "BoolStorage",
    _C.complex64: "ComplexFloatStorage",
    _C.complex128: "ComplexDoubleStorage",
}


class _Named:
    """Stands for what is called `module.name` where the file is read."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self):
        """Not called: pickle asks whether it could be."""


_storage_types = {dtype: _Named("torch", name) for dtype, name in STORAGES.items()}


class _Memory:
    """The memory that some tensors share: `key` names its entry, `dtype` is that of the tensor seen first."""

    def __init__(self, key, whole, dtype):
        self.key, self.whole, self.dtype = key, whole, dtype

    def persistent_id(self):
        count = self.whole.numel() // self.dtype.itemsize
        return "storage", _storage_types[self.dtype], self.key, str(self.whole.device), count


# The pickler in Python: the one in C looks for each name where this program runs.
class Pickler(pickle._Pickler):
    """Pickles names of torch, and tensors as calls on memory that `memories` collects."""

    dispatch = dict(pickle._Pickler.dispatch)

    def __init__(self, file, protocol):
        super().__init__(file, protocol=protocol)
        self.memories = {}  # by the number that stands for the memory
        self._calls = {}

    def persistent_id(self, obj):
        return obj.persistent_id() if isinstance(obj, _Memory) else None

    def _save_named(self, named):
        self.write(pickle.GLOBAL + f"{named.module}\n{named.name}\n".encode())
        self.memoize(named)

    dispatch[_Named] = _save_named

    def save_global(self, obj, name=None):
        place = _place_in_torch(obj, name)
        if place is None:
            super().save_global(obj, name)
        else:
            self.write(pickle.GLOBAL + f"{place[0]}\n{place[1]}\n".encode())
            self.memoize(obj)

    def save_type(self, obj):
        if _place_in_torch(obj, None) is None:
            super().save_type(obj)
        else:
            self.save_global(obj)

    dispatch[type] = save_type

    def call(self, module, name):
        """The same object each time, so that the name is written once."""
        return self._calls.setdefault((module, name), _Named(module, name))

    def reducer_override(self, obj):
        if isinstance(obj, _C.Size):
            return self.call("torch", "Size"), (tuple(obj),)
        if isinstance(obj, _C.device):
            return self.call("torch", "device"), (obj.type,) if obj.index is None else (obj.type, obj.index)
        if type(obj).__name__ == "_Layout":
            return self.call("torch.serialization", "_get_layout"), (str(obj),)
        if not isinstance(obj, _C.Tensor):
            return NotImplemented
        if type(obj).__reduce__ is not _C.Tensor.__reduce__:
            return self._sparse(obj) if type(obj).__module__ == f"{PACKAGE}.sparse.coo" else NotImplemented
        return self._tensor(obj)

    def _tensor(self, obj):
        function, args = self._plain(obj)
        state = getattr(obj, "__dict__", None) or None
        if _is_parameter(type(obj)):
            args = (obj.detach(), obj.requires_grad, collections.OrderedDict())
            if state is None:
                return self.call("torch._utils", "_rebuild_parameter"), args
            return self.call("torch._utils", "_rebuild_parameter_with_state"), (*args, state)
        if type(obj) is _C.Tensor and state is None:
            return function, args
        return self.call("torch._tensor", "_rebuild_from_type_v2"), (function, type(obj), args, state)

    def _plain(self, obj):
        """What makes a tensor of the memory: (function, arguments)."""
        sizes, strides = tuple(obj.shape), tuple(obj.stride())
        requires = obj.requires_grad
        if obj.is_meta:
            return self.call("torch._utils", "_rebuild_meta_tensor_no_storage"), (obj.dtype, sizes, strides, requires)
        whole, number = _C._storage_bytes(obj)
        memory = self.memories.get(number)
        if memory is None:
            kept_as = (
                _C.uint8 if whole.numel() % obj.dtype.itemsize or obj.dtype not in STORAGES else obj.dtype
            )  # the size is a whole number of these
            memory = self.memories[number] = _Memory(str(len(self.memories)), whole, kept_as)
        args = (memory, obj.storage_offset(), sizes, strides, requires, collections.OrderedDict())
        if memory.dtype is obj.dtype:
            return self.call("torch._utils", "_rebuild_tensor_v2"), args
        return self.call("torch._utils", "_rebuild_tensor_v3"), (*args, obj.dtype)

    def _sparse(self, obj):
        parts = (obj._indices(), obj._values().detach(), tuple(obj.shape), obj.is_coalesced())
        return self.call("torch._utils", "_rebuild_sparse_tensor"), (obj.layout, parts)


def _is_parameter(kind):
    return kind.__module__ == f"{PACKAGE}.nn.parameter" and kind.__name__ == "Parameter"


def _place_in_torch(obj, name):
    """(module, name) by which torch knows what is part of this package; None for anything else."""
    if isinstance(obj, (_C.dtype, _C.memory_format)):
        return "torch", str(obj).rpartition(".")[2]
    module = getattr(obj, "__module__", None)
    if not isinstance(module, str) or module.partition(".")[0] != PACKAGE:
        return None
    name = name or getattr(obj, "__qualname__", None)
    if not isinstance(name, str):
        return None
    if obj is getattr(_C, name, None):
        return "torch", name
    parts = module.split(".")
    shown = sys.modules.get(".".join(parts[:2]))  # classes of layers and optimizers are in torch.nn and torch.optim
    if len(parts) > 2 and parts[1] in ("nn", "optim") and getattr(shown, name, None) is obj:
        return f"torch.{parts[1]}", name
    return ".".join(["torch", *parts[1:]]), name


def archive(obj, name, protocol):
    """The bytes of a file that holds `obj`; entries are below the folder `name`."""
    pickled = io.BytesIO()
    pickler = Pickler(pickled, protocol)
    pickler.dump(obj)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as made:
        _put(made, f"{name}/{LENGTH_ENTRY}", bytes(8))
        _put(made, f"{name}/data.pkl", pickled.getbuffer())
        _put(made, f"{name}/byteorder", b"little")
        for memory in pickler.memories.values():
            _put(made, f"{name}/data/{memory.key}", memoryview(memory.whole.cpu().numpy()))
        _put(made, f"{name}/version", b"3\n")
        made.comment = COMMENT + b"0" * 64
        first, central = made.infolist()[0], made.start_dir
    whole = file.getbuffer()
    length = len(whole).to_bytes(8, "little")
    at = 30 + len(first.orig_filename) + len(first.extra)
    whole[at : at + 8] = length
    check = zipfile.crc32(length).to_bytes(4, "little")
    whole[14:18] = check
    whole[central + 16 : central + 20] = check
    whole[-64:] = hashlib.sha256(whole[:-64]).hexdigest().encode()
    return whole


def _put(made, name, data):
    info = zipfile.ZipInfo(name)
    offset = made.fp.tell() + 30 + len(name.encode()) + 4
    info.extra = b"FB" + (fill := -offset % _ALIGNED).to_bytes(2, "little") + b"Z" * fill
    made.writestr(info, data)

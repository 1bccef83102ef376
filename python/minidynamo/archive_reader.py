"""What load() reads: zip archives that torch or save() wrote, and files in torch's format from before 1.6."""

import _compat_pickle
import collections
import hashlib
import io
import pickle
import sys
import zipfile
from importlib import import_module

from . import _C
from ._no_device import is_present
from .archive_writer import COMMENT, LENGTH_ENTRY, PACKAGE, STORAGES

MARK = b"PK\x03\x04"
OLD_MARK = pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2)
_DTYPES = {name: dtype for dtype, name in STORAGES.items()}
_PLAIN = {
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque"),
    "builtins": ("bool", "bytearray", "complex", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"),
    "_codecs": ("encode",),
}


class Damaged(Exception):
    """The file is not as it was written; the text goes on after its name."""


class NoSuchPlace(RuntimeError):
    """Memory belongs on a device that there is not."""


class _StorageType:
    """What a file calls FloatStorage."""

    def __init__(self, dtype):
        self.dtype = dtype


class _Memory:
    """Memory that was read: a tensor of bytes on the device it belongs on."""

    def __init__(self, whole, dtype, on_meta):
        self.whole, self.dtype, self.on_meta = whole, dtype, on_meta


def existing(device):
    """The CUDA device of this name. NoSuchPlace if there are fewer."""
    device, count = _C.device(device), _C._cuda.device_count()
    if device.index is not None and device.index >= count:
        raise NoSuchPlace(
            f"Attempting to deserialize object on CUDA device {device.index} but torch.cuda.device_count() is {count}. "
            "Please use torch.load with map_location to map your storages to an existing device."
        )
    return device


def place(whole, saved_at, map_location):
    """(memory, whether it belongs on meta) for memory that was saved on the device `saved_at`."""
    wanted = map_location
    if isinstance(wanted, dict):
        wanted = wanted.get(saved_at, saved_at)
    elif wanted is None:
        wanted = saved_at
    elif not isinstance(wanted, (str, _C.device)):
        if not callable(wanted):
            raise TypeError(f"map_location is no device, dict or function but a {type(wanted).__name__}")
        placed = wanted(whole, saved_at)
        if getattr(placed, "is_cuda", False) and placed.dtype == _C.uint8 and placed.shape == whole.shape:
            return placed, False
        if placed is not None and placed is not whole:
            raise NotImplementedError("a function as map_location has to give back the memory it gets, or None")
        wanted = "cpu" if placed is whole else saved_at
    kind = _C.device(wanted).type
    if kind == "cuda" and is_present():
        return whole.to(existing(wanted)), False
    if kind not in ("cpu", "meta"):
        raise NoSuchPlace(
            f"load() cannot put tensors on {kind!r}: there is no such device; map_location='cpu' puts them into memory"
        )
    return whole, kind == "meta"


# --- what pickles call


def _tensor(memory, offset, sizes, strides, requires_grad, hooks, dtype, kind=_C.Tensor):
    made = _C._rebuild_view(
        memory.whole, tuple(sizes), tuple(strides), offset, dtype, bool(requires_grad) and not memory.on_meta, kind
    )
    if memory.on_meta:
        made = made.detach().to("meta")
        made.requires_grad_(bool(requires_grad))
    return made


def _rebuild_tensor(memory, offset, sizes, strides):
    return _tensor(memory, offset, sizes, strides, False, None, memory.dtype)


def _rebuild_tensor_v2(memory, offset, sizes, strides, requires_grad, hooks, metadata=None):
    return _tensor(memory, offset, sizes, strides, requires_grad, hooks, memory.dtype)


def _rebuild_tensor_v3(memory, offset, sizes, strides, requires_grad, hooks, dtype, metadata=None):
    return _tensor(memory, offset, sizes, strides, requires_grad, hooks, dtype)


def _rebuild_parameter(data, requires_grad, hooks):
    from .nn.parameter import Parameter

    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, hooks, state):
    return _with_state(_rebuild_parameter(data, requires_grad, hooks), state)


def _rebuild_meta(dtype, sizes, strides, requires_grad):
    made = _C.empty_strided(tuple(sizes), tuple(strides), dtype=dtype, device="meta")
    return made.requires_grad_(requires_grad)


def _rebuild_sparse(layout, parts):
    from .sparse.coo import made

    if layout != "torch.sparse_coo" and str(layout) != "torch.sparse_coo":
        raise NotImplementedError(f"there are no tensors of the layout {layout}")
    indices, values, sizes, *coalesced = parts
    return made(indices, values, tuple(sizes), bool(coalesced and coalesced[0]))


def _rebuild_from_type(function, kind, args, state):
    made = function(*args)
    return _with_state(made if type(made) is kind else made.as_subclass(kind), state)


def _with_state(made, state):
    if isinstance(state, tuple) and len(state) == 2:  # attributes, and those in slots
        state = {**(state[0] or {}), **(state[1] or {})}
    for name, value in (state or {}).items():
        setattr(made, name, value)
    return made


def _layout(name):
    return name


_FUNCTIONS = {
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor_v2,
    ("torch._utils", "_rebuild_tensor_v3"): _rebuild_tensor_v3,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter_with_state,
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): _rebuild_meta,
    ("torch._utils", "_rebuild_sparse_tensor"): _rebuild_sparse,
    ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_from_type,
    ("torch.serialization", "_get_layout"): _layout,
    ("torch", "sparse_coo"): "torch.sparse_coo",
    ("torch", "Size"): _C.Size,
    ("torch", "device"): _C.device,
    ("torch", "Tensor"): _C.Tensor,
}


def known(module, name):
    """What a file means by `module.name` of torch as far as it is safe; None for everything else."""
    if (module, name) in _FUNCTIONS:
        return _FUNCTIONS[module, name]
    if module in ("torch", "torch.storage") and name in (*_DTYPES, "UntypedStorage"):
        return _StorageType(_DTYPES.get(name, _C.uint8))
    if module == "torch":
        found = getattr(_C, name, None)
        return found if isinstance(found, (_C.dtype, _C.memory_format)) else None
    if module in ("torch.nn.parameter", "torch.nn") and name in ("Parameter", "Buffer"):
        return getattr(import_module(f"{PACKAGE}.nn.parameter"), name)
    return None


def _ours(module, name):
    """A class or function of torch in this package; AttributeError if it has none of that name."""
    inner = module.removeprefix("torch").removeprefix(".")
    places = [inner]
    for shown in ("nn", "optim"):
        if inner.startswith(f"{shown}."):
            places.append(shown)  # torch.nn.modules.linear.Linear is torch.nn.Linear
    for each in places:
        try:
            found = import_module(f"{PACKAGE}.{each}" if each else PACKAGE)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            continue
        return found
    raise AttributeError(f"{module}.{name} is no part of {PACKAGE}")


class Names:
    """find_class of a file's unpickler: `safe` holds, by name, what the program allows beside plain data."""

    def __init__(self, data_only, safe):
        self._data_only, self._safe = data_only, safe

    def find(self, module, name, inherited):
        module, name = _compat_pickle.NAME_MAPPING.get((module, name), (module, name))
        module = _compat_pickle.IMPORT_MAPPING.get(module, module)
        whole = f"{module}.{name}"
        for spelled in (whole, whole.replace("torch.", f"{PACKAGE}.", 1)):
            if spelled in self._safe:
                return self._safe[spelled]
        found = known(module, name)
        if found is not None:
            return found
        if name in _PLAIN.get(module, ()):
            return inherited(module, name)
        if self._data_only:
            raise pickle.UnpicklingError(
                f"{module}.{name} is neither a tensor nor a plain container; add_safe_globals() accepts it, and "
                "load(..., weights_only=False) everything, which runs whatever code the file names"
            )
        return _ours(module, name) if module.partition(".")[0] == "torch" else inherited(module, name)


def _unpickler(base, names, loaded, file, options):
    class Unpickler(base):
        def find_class(self, module, name):
            return names.find(module, name, super().find_class)

        def persistent_load(self, saved_id):
            return loaded(saved_id)

    return Unpickler(file, **options)


def _bytes_tensor(data):
    return _C._rebuild_tensor(bytes(data), (len(data),), _C.uint8, False, _C.Tensor)


def _storage_id(saved_id):
    if not isinstance(saved_id, tuple) or len(saved_id) < 5 or saved_id[0] != "storage":
        raise pickle.UnpicklingError(f"the file refers to something that is no memory of a tensor: {saved_id!r}")
    kind, key, location, count = saved_id[1:5]
    if not isinstance(kind, _StorageType):
        raise pickle.UnpicklingError(f"the file has a storage of an unknown type: {kind!r}")
    return kind.dtype, key, location, count, saved_id[5:]


# --- zip archives


def first_part(beginning):
    """How many bytes tell of how long the archive is, which begins with these 30 or more."""
    named, more = (int.from_bytes(beginning[at : at + 2], "little") for at in (26, 28))
    return 30 + named + more + 8


def own_length(beginning):
    """How long the archive is that begins with these first_part() bytes; None if save() did not write it."""
    named = int.from_bytes(beginning[26:28], "little")
    if not beginning[30 : 30 + named].endswith(LENGTH_ENTRY.encode()):
        return None
    return int.from_bytes(beginning[first_part(beginning) - 8 : first_part(beginning)], "little")


def _check_whole(data, names):
    """Damaged for an archive of save() that is not as it was written."""
    length = own_length(data[: first_part(data)])
    if length is None:
        if any(name.endswith(LENGTH_ENTRY) for name in names):
            raise Damaged("is damaged: its first entry is not what save() writes")
        return
    if length != len(data):
        raise Damaged(f"is damaged: it tells of {length} bytes, and there are {len(data)}")
    end = len(data) - 64
    if data[end - len(COMMENT) : end] != COMMENT or data[end:] != hashlib.sha256(data[:end]).hexdigest().encode():
        raise Damaged("is damaged: its checksum is not that of its contents")


class _Archive:
    def __init__(self, data):
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
            raise Damaged(f"is no archive, or a damaged one: {error}") from None
        self.names = set(self._zip.namelist())
        _check_whole(data, self.names)
        found = [name for name in self.names if name.endswith("/data.pkl")]
        if len(found) != 1:
            raise Damaged("is no archive of torch: it has no data.pkl")
        self.folder = found[0].removesuffix("data.pkl")
        if f"{self.folder}constants.pkl" in self.names:
            raise NotImplementedError("load() reads no TorchScript: there is none here")
        if self.has("byteorder") and self.read("byteorder").decode(errors="replace") != sys.byteorder:
            raise NotImplementedError("load() reads files of this machine's byte order only")

    def has(self, name):
        return self.folder + name in self.names

    def read(self, name):
        if not self.has(name):
            raise Damaged(f"is damaged: it has no {name}")
        try:
            return self._zip.read(self.folder + name)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError, RuntimeError) as error:
            raise Damaged(f"is damaged: {error}") from None


def read_archive(data, map_location, names, base, options):
    """The object in an archive. Damaged if it is."""
    archive, memories = _Archive(data), {}

    def loaded(saved_id):
        dtype, key, location, _, _ = _storage_id(saved_id)
        if key not in memories:
            memories[key] = _placed(_bytes_tensor(archive.read(f"data/{key}")), dtype, location, map_location)
        return memories[key]

    pickled = io.BytesIO(archive.read("data.pkl"))
    return _unpickler(base, names, loaded, pickled, options).load()


def _placed(whole, dtype, location, map_location):
    whole, on_meta = place(whole, location, map_location)
    return _Memory(whole, dtype, on_meta)


# --- files from before torch 1.6


def read_old(file, map_location, names, base, options):
    """The object in a file of five pickles and, behind them, the memory. Damaged if it is."""
    memories = collections.OrderedDict()

    def loaded(saved_id):
        dtype, key, location, count, view = _storage_id(saved_id)
        if view and view[0] is not None:
            raise NotImplementedError("load() reads no views of storages, as torch 0.3 wrote them")
        if key not in memories:
            whole = _bytes_tensor(bytes(int(count) * dtype.itemsize))
            memories[key] = _placed(whole, dtype, location, map_location)
        return memories[key]

    def plain():
        return _unpickler(pickle.Unpickler, Names(True, {}), loaded, file, {}).load()

    plain()  # the mark
    if plain() != 1001:
        raise Damaged("is of an unknown version")
    about = plain()
    if not about.get("little_endian", True):
        raise NotImplementedError("load() reads files of this machine's byte order")
    found = _unpickler(base, names, loaded, file, options).load()
    for key in plain():
        count = int.from_bytes(file.read(8), "little")
        memory = memories[key]
        if count * memory.dtype.itemsize != memory.whole.numel():
            raise Damaged("is damaged: it tells of two sizes of one memory")
        data = file.read(count * memory.dtype.itemsize)
        if len(data) != memory.whole.numel():
            raise Damaged(f"is damaged: of {memory.whole.numel()} bytes of memory {len(data)} are there")
        memory.whole.copy_(_bytes_tensor(data))
    return found

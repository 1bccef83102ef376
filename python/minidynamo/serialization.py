"""`save` and `load`: tensors, and containers of them, to files and back, in torch's format.

Tensors that share memory share it again after `load`: their memory is written once, whole. A second format of our own
is a mark (`_MARK`), the length of what follows (8 bytes, little-endian), its SHA-256, and a pickle.
"""

import os

from ._absent import absent_names as _absent_names

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

_CONTAINERS = {
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque"),
    "builtins": ("bytearray", "complex", "frozenset", "set"),
}
_MARK = b"mdtensor\x00\x01\r\n"
_HEADER = len(_MARK) + 8 + 32
_PART = 1 << 22  # bytes asked for at once: a length that is wrong never becomes memory


_safe = {}  # from "module.name" to what load() takes beside tensors and plain containers


def add_safe_globals(safe_globals):
    """Lets load() with weights_only=True make objects of these classes, or call these functions.

    Entries are classes, functions, or pairs of one and the "module.name" that files have for it.
    """
    for each in safe_globals:
        found, name = each if isinstance(each, tuple) else (each, f"{each.__module__}.{each.__qualname__}")
        _safe[name] = found


def clear_safe_globals():
    """Takes back what add_safe_globals() was given."""
    _safe.clear()


def get_safe_globals():
    """What add_safe_globals() was given."""
    return list(_safe.values())


class safe_globals:
    """add_safe_globals() for a `with` block."""

    def __init__(self, safe_globals):
        self._added = safe_globals

    def __enter__(self):
        self._before = dict(_safe)
        add_safe_globals(self._added)

    def __exit__(self, *error):
        clear_safe_globals()
        _safe.update(self._before)


def _pickler(file, protocol):
    import pickle

    from . import _C

    class Pickler(pickle.Pickler):
        memory = {}

        def reducer_override(self, obj):
            if not isinstance(obj, _C.Tensor) or type(obj).__reduce__ is not _C.Tensor.__reduce__:
                return NotImplemented
            if obj.is_meta:
                return NotImplemented  # no memory to share
            whole, key = _C._storage_bytes(obj)
            # Kept until all is written: pickle knows objects it has seen by their addresses.
            whole = self.memory.setdefault(key, whole)
            if obj is whole:
                return NotImplemented
            sizes, strides, offset = tuple(obj.shape), obj.stride(), obj.storage_offset()
            state = getattr(obj, "__dict__", None) or None
            args = (whole, sizes, tuple(strides), offset, obj.dtype, obj.requires_grad, type(obj))
            return _C._rebuild_view, args, state

    made = Pickler(file, protocol=protocol)
    made.memory = {}
    return made


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True):
    """Writes `obj` to a path or to a file opened for writing bytes.

    The file is a zip archive as torch writes them, which torch reads too. With `_use_new_zipfile_serialization=False` a
    format of minidynamo's own, with pickle protocol 4 or above. NotImplementedError for another pickle module.
    """
    import pickle

    if pickle_module not in (None, pickle):
        raise NotImplementedError("save() writes with the standard pickle module only")
    is_path = isinstance(f, (str, os.PathLike))
    if _use_new_zipfile_serialization:
        from .archive_writer import archive

        stem = os.path.splitext(os.path.basename(os.fspath(f)))[0] if is_path else ""
        parts = [archive(obj, stem if stem.isascii() and stem else "archive", pickle_protocol)]
    else:
        parts = _own_format(obj, max(4, pickle_protocol))
    if not is_path:
        for part in parts:
            f.write(part)
        return
    with open(f, "wb") as file:
        for part in parts:
            file.write(part)


def _own_format(obj, pickle_protocol):
    import hashlib
    import io

    body = io.BytesIO()
    _pickler(body, pickle_protocol).dump(obj)
    data = body.getbuffer()
    header = _MARK + len(data).to_bytes(8, "little") + hashlib.sha256(data).digest()
    return header, data


def _location(map_location):
    """What becomes of memory that was saved: None, a device, or a function of it and of where it was, "cpu"."""
    from . import _C
    from ._no_device import is_present

    if isinstance(map_location, dict):
        map_location = map_location.get("cpu")
    if not isinstance(map_location, (str, _C.device)):
        if map_location is not None and not callable(map_location):
            raise TypeError(f"map_location is no device, dict or function but a {type(map_location).__name__}")
        return map_location
    kind = _C.device(map_location).type
    if kind == "cuda" and is_present():
        return _C.device(map_location)
    if kind not in ("cpu", "meta"):
        raise RuntimeError(f"load() cannot put tensors on {kind!r}: there is no such device, pass map_location='cpu'")
    return _C.device(kind)


def _rebuilder(location):
    """_rebuild_view, for a location of _location()."""
    from . import _C

    if location is None:
        return _C._rebuild_view
    moved = {}  # what shares memory shares it there, too

    def rebuild(whole, *facts):
        if isinstance(location, _C.device) and location.type != "meta":
            key = _C._storage_bytes(whole)[1]
            moved.setdefault(key, (whole.to(location), whole))
            return _C._rebuild_view(moved[key][0], *facts)
        if isinstance(location, _C.device):
            *_, requires_grad, kind = facts
            made = _C._rebuild_view(whole, *facts).detach().to("meta").as_subclass(kind)
            return made.requires_grad_(requires_grad)
        placed = location(whole, "cpu")
        if placed is not None and placed is not whole:
            raise NotImplementedError("a function as map_location has to give back the memory it gets, or None")
        return _C._rebuild_view(whole, *facts)

    return rebuild


_REBUILT = {
    ("minidynamo.nn.parameter", "Parameter"),
    ("minidynamo.sparse.coo", "rebuild"),
    ("minidynamo.storage", "_Memory"),
    ("minidynamo.storage", "_rebuild_over"),
}


def _unpickled(file, base, rebuild, data_only, options):
    import collections
    import pickle

    from . import _C

    def allowed(module, name, inherited):
        if f"{module}.{name}" in _safe:
            return _safe[f"{module}.{name}"]
        if module in ("minidynamo", "minidynamo._C"):
            found = getattr(_C, name, None)
            kinds = (_C.dtype, _C.memory_format)
            if name in ("_rebuild_tensor", "Size", "Tensor", "device") or isinstance(found, kinds):
                return found
        elif (module, name) in _REBUILT:
            return inherited(module, name)
        elif name in _CONTAINERS.get(module, ()):
            return getattr(collections, name, None) or inherited(module, name)
        raise pickle.UnpicklingError(
            f"{module}.{name} is neither a tensor nor a plain container; add_safe_globals() accepts it, and "
            "load(..., weights_only=False) everything, which runs whatever code the file names"
        )

    class Unpickler(base):
        def find_class(self, module, name):
            if module in ("minidynamo", "minidynamo._C") and name == "_rebuild_view":
                return rebuild
            return allowed(module, name, super().find_class) if data_only else super().find_class(module, name)

    return Unpickler(file, **options).load()


def _read(file, length):
    parts = []
    while length:
        part = file.read(min(length, _PART))
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _checked_body(file, header, damaged, whole):
    """The pickle in `file` behind its header, compared with that; `whole`: there must be nothing behind it."""
    import hashlib

    if header[: len(_MARK)] != _MARK:
        raise damaged("is no file of save(), or its beginning is damaged")
    if len(header) < _HEADER:
        raise damaged("is damaged: it ends within its header")
    length = int.from_bytes(header[len(_MARK) : len(_MARK) + 8], "little")
    if whole and length != (there := os.fstat(file.fileno()).st_size - _HEADER):
        raise damaged(f"is damaged: its header tells of {length} bytes, and {there} follow")
    body = _read(file, length)
    if len(body) < length:
        raise damaged(f"is damaged: its header tells of {length} bytes, and {len(body)} follow")
    if hashlib.sha256(body).digest() != header[-32:]:
        raise damaged("is damaged: its checksum is not that of its contents")
    return body


def _archive_in(file, beginning, damaged, whole):
    """The bytes of the archive in `file`, whose `beginning` has been read."""
    from .archive_reader import first_part, own_length

    if len(beginning) < 30:
        raise damaged("is damaged: it ends within its first header")
    beginning += _read(file, first_part(beginning) - len(beginning))
    length = own_length(beginning) if len(beginning) >= first_part(beginning) else None
    if length is None or whole:
        return beginning + file.read()
    data = beginning + _read(file, length - len(beginning))
    if len(data) < length:
        raise damaged(f"is damaged: it tells of {length} bytes, and {len(data)} are there")
    return data


def _reader(file, name, whole, map_location, weights_only):
    """read(base, options): what is in the file, by an unpickler class and its arguments."""
    import io

    from . import archive_reader as archives

    def damaged(what):
        return RuntimeError(f"load(): {name} {what}")

    header = _read(file, _HEADER)
    names = archives.Names(weights_only, _safe)
    if header.startswith(archives.MARK):
        data = _archive_in(file, header, damaged, whole)
        return lambda base, options: archives.read_archive(data, map_location, names, base, options)
    if header.startswith(archives.OLD_MARK):
        old = io.BytesIO(header + file.read())
        return lambda base, options: archives.read_old(old, map_location, names, base, options)
    body = _checked_body(file, header, damaged, whole)
    rebuild = _rebuilder(_location(map_location))
    return lambda base, options: _unpickled(io.BytesIO(body), base, rebuild, weights_only, options)


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None, **pickle_load_args):
    """Reads what `save` wrote, here or in torch (archives, and files from before torch 1.6).

    With `weights_only=False` objects of any class: only for files you trust. `map_location`: "cpu" and "meta" as a
    string or device; a dict, in which the device that was saved is looked up; or a function of the memory, as a tensor
    of bytes, and of that device's name, that gives the memory back. `pickle_module` and further arguments are for its
    Unpickler, with `weights_only=False`.

    RuntimeError with the file's name if the file is damaged (one that `save` wrote here: in whichever byte) or is none
    that `save` wrote, and for memory of a device there is not; pickle.UnpicklingError for objects that are neither
    tensors nor plain containers, nor were given to add_safe_globals(). NotImplementedError for `mmap`, TorchScript and
    another byte order. A file object is read from where it stands to the end of what was saved here, or to its end.
    """
    import pickle

    if mmap:
        raise NotImplementedError("load(mmap=True): the checksum of the file is compared, so all of it is read")
    weights_only = weights_only is not False
    if weights_only and pickle_module not in (None, pickle):
        raise RuntimeError("a pickle_module of one's own goes with weights_only=False only")
    _location(map_location)  # refuses what is none
    if isinstance(f, (str, os.PathLike)):
        name = repr(os.fspath(f))
        with open(f, "rb") as file:
            read = _reader(file, name, True, map_location, weights_only)
    else:
        name = repr(getattr(f, "name", None) or f)
        read = _reader(f, name, False, map_location, weights_only)
    base = ((pickle_module if not weights_only else None) or pickle).Unpickler
    return _read_by(read, base, name, weights_only, pickle_load_args)


def _read_by(read, base, name, weights_only, options):
    import pickle

    from .archive_reader import Damaged, NoSuchPlace

    try:
        return read(base, options)
    except Damaged as error:
        raise RuntimeError(f"load(): {name} {error}") from None
    except NoSuchPlace:
        raise
    except pickle.UnpicklingError as error:
        if "weights_only" in str(error) or not weights_only:
            raise
        reason = error
    except (TypeError, NotImplementedError) as error:
        if options or isinstance(error, NotImplementedError) or not weights_only:
            raise
        reason = error
    except Exception as error:
        if not weights_only:
            raise
        reason = error
    raise RuntimeError(f"load(): {name} holds what save() does not write: {reason}") from reason


__getattr__ = _absent_names(__name__)

"""`save` and `load`: tensors, and containers of them, to files and back. A format of our own, not torch's.

A file is the mark `_MARK`, the length of what follows (8 bytes, little-endian), its SHA-256, and a pickle. Tensors that
share memory share it again after `load`: their memory is written once, whole.
"""

import os

from ._absent import absent_names as _absent_names

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

_CONTAINERS = {"collections": ("OrderedDict", "defaultdict", "deque"), "builtins": ("set", "frozenset", "complex")}
_MARK = b"mdtensor\x00\x01\r\n"
_HEADER = len(_MARK) + 8 + 32
_safe = []  # what load() takes besides tensors and plain containers: objects, or (object, name in files)
_PART = 1 << 22  # bytes asked for at once: a length that is wrong never becomes memory


def _pickler(file):
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

    made = Pickler(file, protocol=4)
    made.memory = {}
    return made


def save(obj, f):
    """Writes `obj` to a path or to a file opened for writing bytes."""
    import hashlib
    import io

    body = io.BytesIO()
    _pickler(body).dump(obj)
    data = body.getbuffer()
    header = _MARK + len(data).to_bytes(8, "little") + hashlib.sha256(data).digest()
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            file.write(header)
            file.write(data)
    else:
        f.write(header)
        f.write(data)


def add_safe_globals(safe_globals):
    """From here on load() accepts these classes and functions: a list of them, or of (object, "module.name") pairs."""
    _safe.extend(entry for entry in list(safe_globals) if entry not in _safe)


def get_safe_globals():
    """What add_safe_globals() was given."""
    return list(_safe)


def clear_safe_globals():
    """Forgets what add_safe_globals() was given."""
    _safe.clear()


class safe_globals:
    """`with safe_globals([...])`: load() accepts these classes and functions within."""

    def __init__(self, safe_globals):
        self.safe_globals = list(safe_globals)

    def __enter__(self):
        self._before = get_safe_globals()
        add_safe_globals(self.safe_globals)

    def __exit__(self, *error):
        _safe[:] = self._before


def _safe_names():
    """{(module, name): object} of what add_safe_globals() was given."""
    found = {}
    for entry in _safe:
        thing, name = entry if isinstance(entry, tuple) else (entry, f"{entry.__module__}.{entry.__qualname__}")
        found[name] = thing
    return found


def _data_only(file):
    import collections
    import pickle

    safe = _safe_names()

    class DataOnly(pickle.Unpickler):
        def find_class(self, module, name):
            if f"{module}.{name}" in safe:
                return safe[f"{module}.{name}"]
            if module in ("minidynamo", "minidynamo._C"):
                from . import _C

                found = getattr(_C, name, None)
                if name in ("_rebuild_tensor", "_rebuild_view", "Size", "Tensor", "device") or isinstance(
                    found, _C.dtype
                ):
                    return found
            elif (module, name) == ("minidynamo.sparse.coo", "rebuild"):
                return super().find_class(module, name)
            elif name in _CONTAINERS.get(module, ()):
                return getattr(collections, name, None) or super().find_class(module, name)
            raise pickle.UnpicklingError(
                f"{module}.{name} is neither a tensor nor a plain container; add_safe_globals() names it as safe, and "
                "load(..., weights_only=False) accepts it, which runs whatever code the file names"
            )

    return DataOnly(file).load()


def _read(file, length):
    parts = []
    while length:
        part = file.read(min(length, _PART))
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _checked_body(file, name, whole):
    """The pickle in `file`, compared with the header; `whole`: there must be nothing behind it."""
    import hashlib

    def damaged(what):
        return RuntimeError(f"load(): {name} {what}")

    header = _read(file, _HEADER)
    if header[: len(_MARK)] != _MARK:
        raise damaged("is not a file that save() of minidynamo wrote, or its beginning is damaged")
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


def load(f, *, weights_only=True):
    """Reads what `save` wrote. With `weights_only=False` objects of any class: only for files you trust.

    RuntimeError with the file's name if the file is damaged, in whichever byte, or is none that `save`
    wrote; pickle.UnpicklingError for objects that are neither tensors nor plain containers. A file object is read from
    where it stands to the end of what was saved.
    """
    import io
    import pickle

    if isinstance(f, (str, os.PathLike)):
        name = repr(os.fspath(f))
        with open(f, "rb") as file:
            body = _checked_body(file, name, True)
    else:
        name = repr(getattr(f, "name", None) or f)
        body = _checked_body(f, name, False)
    if not weights_only:
        return pickle.loads(body)
    try:
        return _data_only(io.BytesIO(body))
    except pickle.UnpicklingError as error:
        if "weights_only" in str(error):
            raise
        reason = error
    except Exception as error:
        reason = error
    raise RuntimeError(f"load(): {name} holds what save() does not write: {reason}") from reason


__getattr__ = _absent_names(__name__)

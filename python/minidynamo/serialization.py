"""`save` and `load`: tensors, and containers of them, to files and back. Python's pickle format, not torch's."""

import os

__all__ = ["load", "save"]

_CONTAINERS = {"collections": ("OrderedDict", "defaultdict", "deque"), "builtins": ("set", "frozenset", "complex")}


def save(obj, f):
    """Writes `obj` to a path or to a file opened for writing bytes."""
    import pickle  # here: most programs do without

    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            pickle.dump(obj, file, protocol=4)
    else:
        pickle.dump(obj, f, protocol=4)


def _data_only(file):
    import collections
    import pickle

    class DataOnly(pickle.Unpickler):
        def find_class(self, module, name):
            if module == "minidynamo":
                from . import _C

                found = getattr(_C, name, None)
                if name in ("_rebuild_tensor", "Size", "Tensor") or isinstance(found, _C.dtype):
                    return found
            elif name in _CONTAINERS.get(module, ()):
                return getattr(collections, name, None) or super().find_class(module, name)
            raise pickle.UnpicklingError(
                f"{module}.{name} is neither a tensor nor a plain container; load(..., weights_only=False) accepts it, "
                "which runs whatever code the file names"
            )

    return DataOnly(file).load()


def load(f, *, weights_only=True):
    """Reads what `save` wrote. With `weights_only=False` objects of any class: only for files you trust."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return load(file, weights_only=weights_only)
    if weights_only:
        return _data_only(f)
    import pickle

    return pickle.load(f)

"""torch.types: what annotations of programs name."""

import os
from collections.abc import Sequence
from typing import IO

from . import _C
from ._absent import absent_names as _absent_names

Device = _C.device | str | int | None
FileLike = str | os.PathLike | IO[bytes]
Number = int | float | bool
Size = _C.Size
Tensor = _C.Tensor
_TensorOrTensors = _C.Tensor | Sequence[_C.Tensor]
_bool, _bytes, _complex, _float, _int, _str = bool, bytes, complex, float, int, str
_device, _dtype, _layout = _C.device, _C.dtype, _C.layout
_size = _C.Size | list[int] | tuple[int, ...]


def _load(name, missing):
    if name not in ("SymInt", "SymFloat", "SymBool", "py_sym_types"):
        return missing
    from .fx.experimental import symbolic_shapes

    if name == "py_sym_types":
        return (symbolic_shapes.SymInt, symbolic_shapes.SymFloat, symbolic_shapes.SymBool)
    return getattr(symbolic_shapes, name)


__getattr__ = _absent_names(__name__, _load)

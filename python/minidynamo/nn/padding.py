"""Padding layers: one class for each kind of border and each number of dimensions."""

from . import functional
from .arguments import each
from .module import Module

__all__ = [
    f"{kind}Pad{n}d" for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero") for n in (1, 2, 3)
]


class _Pad(Module):
    """`padding` is one number, or (before, after) of the last dimension, of the one before, ..."""

    _dims = 1
    _mode = "constant"
    _value = None

    def __init__(self, padding):
        super().__init__()
        self.padding = each(padding, 2 * self._dims)

    def forward(self, input):
        return functional.pad(input, self.padding, self._mode, self._value)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return functional.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """`value` around the last dimension."""


class ConstantPad2d(_ConstantPad):
    """`value` around the last two dimensions."""

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """`value` around the last three dimensions."""

    _dims = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Zeros around the last dimension."""


class ZeroPad2d(_ZeroPad):
    """Zeros around the last two dimensions."""

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """Zeros around the last three dimensions."""

    _dims = 3


class _ReflectionPad(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPad):
    """(.., C, L) mirrored at its border elements."""


class ReflectionPad2d(_ReflectionPad):
    """(.., C, H, W) mirrored at its border elements."""

    _dims = 2


class ReflectionPad3d(_ReflectionPad):
    """(.., C, D, H, W) mirrored at its border elements."""

    _dims = 3


class _ReplicationPad(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPad):
    """The border elements of (.., C, L) again."""


class ReplicationPad2d(_ReplicationPad):
    """The border elements of (.., C, H, W) again."""

    _dims = 2


class ReplicationPad3d(_ReplicationPad):
    """The border elements of (.., C, D, H, W) again."""

    _dims = 3


class _CircularPad(_Pad):
    _mode = "circular"

    def forward(self, input):
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise ValueError(
                f"{type(self).__name__}: expected {self._dims + 1} or {self._dims + 2} dimensions, got {input.dim()}"
            )
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """(.., C, L) as a part of a periodic signal."""


class CircularPad2d(_CircularPad):
    """(.., C, H, W) as a part of a periodic signal."""

    _dims = 2


class CircularPad3d(_CircularPad):
    """(.., C, D, H, W) as a part of a periodic signal."""

    _dims = 3

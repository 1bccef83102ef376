"""Names and bounds of sizes that an exported graph takes as they come."""

import math
import operator
from dataclasses import dataclass

_SIGNS = {operator.add: "+", operator.sub: "-", operator.mul: "*"}


class DimHint:
    """Dim.AUTO, Dim.DYNAMIC and Dim.STATIC: how a size is taken that has no name."""

    def __init__(self, kind, min=None, max=None):
        self._kind, self.min, self.max = kind, min, max

    def __call__(self, min=None, max=None):
        """The same with bounds."""
        return DimHint(self._kind, min, max)

    def __repr__(self):
        return f"DimHint({self._kind})"


@dataclass(frozen=True)
class Bounds:
    """The least and the greatest value of a size."""

    lower: int
    upper: float

    def __repr__(self):
        return f"VR[{self.lower}, {'int_oo' if self.upper == math.inf else self.upper}]"


class _Arithmetic:
    """A size that depends on another one by +, - and * with an int."""

    def __add__(self, other):
        return DerivedDim(self, operator.add, other)

    __radd__ = __add__

    def __sub__(self, other):
        return DerivedDim(self, operator.sub, other)

    def __mul__(self, other):
        if other != 0:
            return DerivedDim(self, operator.mul, other)
        raise NotImplementedError(f"{self.__name__} * {other}: a size that depends on another one is not always 0")

    __rmul__ = __mul__

    @property
    def bounds(self):
        return Bounds(self.min, math.inf if self.max is None else self.max)


class Dim(_Arithmetic):
    """A size with a name, of at least `min` and at most `max`."""

    def __init__(self, name, *, min=None, max=None):
        if not isinstance(name, str) or not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        if min is not None and max is not None and not max > min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        self.__name__, self.min, self.max = name, 0 if min is None else min, max
        self.root = self

    def value(self, root):
        """The size, where that of the root is known."""
        return root

    def __repr__(self):
        upper = "" if self.max is None else f", max={self.max}"
        return f"Dim({self.__name__!r}, min={self.min}{upper})"


class DerivedDim(_Arithmetic):
    """A size that depends on another one: `2 * batch`, `batch + 1`."""

    def __init__(self, of, apply, number):
        if not isinstance(number, int):
            raise NotImplementedError(f"{of.__name__} {_SIGNS[apply]} {number!r}: sizes go with ints")
        self._of, self._apply, self._number, self.root = of, apply, number, of.root
        self.__name__ = (
            f"{number}*{of.__name__}" if apply is operator.mul else f"{of.__name__} {_SIGNS[apply]} {number}"
        )
        self.min = apply(of.min, number)
        self.max = None if of.max is None else apply(of.max, number)

    def value(self, root):
        return self._apply(self._of.value(root), self._number)

    def root_of(self, size):
        """The size of the root that makes this one; None if there is none."""
        inverse = {operator.add: operator.sub, operator.sub: operator.add}.get(self._apply)
        if inverse is None and size % self._number:
            return None
        below = size // self._number if inverse is None else inverse(size, self._number)
        return self._of.root_of(below) if isinstance(self._of, DerivedDim) else below

    def __repr__(self):
        return self.__name__


def dims(*names, min=None, max=None):
    """A tuple of Dim, one for each name, all with the same `min` and `max`."""
    return tuple([Dim(name, min=min, max=max) for name in names])


def _refused(text):
    from .._dynamo.exc import UserError

    return UserError(None, text)


def of_arguments(dynamic_shapes, arguments):
    """{path of a tensor: {dimension: Dim or DimHint}} of what export() was told."""
    found = {}
    if dynamic_shapes is None:
        return found
    if isinstance(dynamic_shapes, dict):
        if dynamic_shapes.keys() != arguments.keys():
            raise _refused(
                f"dynamic_shapes, a dict, needs the names of the arguments, {list(arguments)}; "
                f"it has {list(dynamic_shapes)}"
            )
        pairs = [(name, dynamic_shapes[name]) for name in arguments]
    elif isinstance(dynamic_shapes, (tuple, list)):
        if len(dynamic_shapes) != len(arguments):
            raise _refused(
                f"dynamic_shapes, a sequence, needs one item for each of the {len(arguments)} arguments; "
                f"it has {len(dynamic_shapes)}"
            )
        pairs = list(zip(arguments, dynamic_shapes))
    else:
        raise _refused(f"dynamic_shapes is a dict, tuple or list, not {type(dynamic_shapes).__name__}")
    for name, spec in pairs:
        _collect(spec, arguments[name], (name,), found)
    return found


def _collect(spec, value, path, found):
    if spec is None:
        return
    if hasattr(value, "shape"):
        _collect_sizes(spec, value, path, found)
    elif isinstance(value, dict):
        if not isinstance(spec, dict) or spec.keys() - value.keys():
            raise _refused(f"dynamic_shapes has {spec!r} for the dict {'.'.join(map(str, path))}")
        for key, item in value.items():
            _collect(spec.get(key), item, (*path, key), found)
    elif isinstance(value, (tuple, list)):
        if not isinstance(spec, (tuple, list)) or len(spec) != len(value):
            raise _refused(f"dynamic_shapes has {spec!r} for the {len(value)} items of {'.'.join(map(str, path))}")
        for k, item in enumerate(value):
            _collect(spec[k], item, (*path, k), found)


def _collect_sizes(spec, tensor, path, found):
    if not isinstance(spec, (dict, tuple, list)):
        raise _refused(f"dynamic_shapes has {spec!r} for the tensor {path[0]}: a dict or sequence of sizes is meant")
    if not isinstance(spec, dict) and len(spec) != tensor.dim():
        raise _refused(f"dynamic_shapes has {len(spec)} sizes for {path[0]}, which has {tensor.dim()} dimensions")
    by_dim = spec if isinstance(spec, dict) else dict(enumerate(spec))
    for d, each in by_dim.items():
        if not (each is None or isinstance(each, (int, Dim, DerivedDim, DimHint))):
            raise _refused(
                f"dynamic_shapes has {each!r} for dimension {d} of {path[0]}; "
                "known are None, an int, a Dim, Dim.AUTO, Dim.STATIC and Dim.DYNAMIC"
            )
        if isinstance(each, (Dim, DerivedDim)) and not each.bounds.lower <= tensor.shape[d] <= each.bounds.upper:
            raise _refused(f"the size {tensor.shape[d]} of {path[0]} is not one of {each.__name__}: {each.bounds}")
    found[path] = {d % tensor.dim(): each for d, each in by_dim.items() if _varies(each)}


def _varies(each):
    return isinstance(each, (Dim, DerivedDim)) or (isinstance(each, DimHint) and each._kind != "STATIC")

"""Names and bounds of sizes that an exported graph takes as they come."""


class DimHint:
    """Dim.AUTO, Dim.DYNAMIC and Dim.STATIC: how a size is taken that has no name."""

    def __init__(self, kind, min=None, max=None):
        self._kind, self.min, self.max = kind, min, max

    def __repr__(self):
        return f"DimHint({self._kind})"


class Dim:
    """A size with a name, of at least `min` and at most `max`."""

    def __init__(self, name, *, min=None, max=None):
        if not isinstance(name, str) or not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        if min is not None and max is not None and not max > min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        self.__name__, self.min, self.max = name, 0 if min is None else min, max

    def __repr__(self):
        upper = "" if self.max is None else f", max={self.max}"
        return f"Dim({self.__name__!r}, min={self.min}{upper})"


def dims(*names, min=None, max=None):
    """Several of them."""
    return tuple([Dim(name, min=min, max=max) for name in names])


def of_arguments(dynamic_shapes, arguments):
    """{path of a tensor: {dimension: Dim or DimHint}} of what export() was told."""
    from .._dynamo.exc import UserError

    found = {}
    if dynamic_shapes is None:
        return found
    if isinstance(dynamic_shapes, dict):
        if dynamic_shapes.keys() != arguments.keys():
            raise UserError(
                None,
                f"dynamic_shapes, a dict, needs the names of the arguments, {list(arguments)}; "
                f"it has {list(dynamic_shapes)}",
            )
        pairs = [(name, dynamic_shapes[name]) for name in arguments]
    else:
        pairs = list(zip(arguments, dynamic_shapes))
    for name, spec in pairs:
        _collect(spec, arguments[name], (name,), found)
    return found


def _collect(spec, value, path, found):
    if spec is None:
        return
    if hasattr(value, "shape"):
        by_dim = spec if isinstance(spec, dict) else dict(enumerate(spec))
        found[path] = {d % value.dim(): each for d, each in by_dim.items() if _varies(each)}
    elif isinstance(value, dict):
        for key, item in value.items():
            _collect(spec.get(key), item, (*path, key), found)
    elif isinstance(value, (tuple, list)):
        for k, item in enumerate(value):
            _collect(spec[k], item, (*path, k), found)


def _varies(each):
    return isinstance(each, Dim) or (isinstance(each, DimHint) and each._kind != "STATIC")

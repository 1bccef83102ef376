"""Other ways to say which sizes of the arguments of export() may differ."""

from ..utils import _pytree
from .dims import DimHint


def _by_arguments(m, args, kwargs, of_tensor):
    """What dynamic_shapes= takes: by the names of the arguments, nested as these are."""
    import inspect

    bound = inspect.signature(m.forward).bind(*args, **(kwargs or {}))
    return {name: _pytree.tree_map(of_tensor, value) for name, value in bound.arguments.items()}


class ShapesCollection:
    """Sizes by tensor: `shapes[x] = {0: batch}`."""

    def __init__(self):
        self._shapes = {}

    def __setitem__(self, t, shape):
        if not hasattr(t, "shape"):
            raise AssertionError(f"Cannot assign shape to non-tensor type {type(t)}")
        self._shapes[id(t)] = (t, shape)

    def __getitem__(self, t):
        return self._shapes.setdefault(id(t), (t, {}))[1]

    def __len__(self):
        return len(self._shapes)

    def dynamic_shapes(self, m, args, kwargs=None):
        """What dynamic_shapes= takes. ValueError for a tensor that is none of the arguments."""
        seen = set()

        def of_tensor(x):
            seen.add(id(x))
            return self._shapes[id(x)][1] if id(x) in self._shapes else None

        found = _by_arguments(m, args, kwargs, of_tensor)
        if self._shapes.keys() - seen:
            raise ValueError("a tensor that sizes were given for is none of the arguments")
        return found


class AdditionalInputs:
    """More arguments; sizes that differ between them are dynamic."""

    def __init__(self):
        self._examples = []

    def add(self, args, kwargs=None):
        """One more example: a tuple and a dict."""
        if not isinstance(args, tuple):
            raise AssertionError(f"Representative args {args} must be a tuple")
        self._examples.append((args, kwargs or {}))

    def dynamic_shapes(self, m, args, kwargs=None):
        """What dynamic_shapes= takes."""
        others = [_pytree.tree_leaves(example) for example in self._examples]
        place = iter(range(len(_pytree.tree_leaves((args, kwargs or {})))))

        def of_leaf(x):
            k = next(place)
            if not hasattr(x, "shape"):
                return None
            sizes = [other[k].shape for other in others]
            return {d: DimHint("DYNAMIC") for d, n in enumerate(x.shape) if any(s[d] != n for s in sizes)}

        return _by_arguments(m, args, kwargs, of_leaf)

    def verify(self, ep):
        """Calls the exported program with each example."""
        for args, kwargs in self._examples:
            ep.module()(*args, **kwargs)

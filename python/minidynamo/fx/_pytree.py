"""What the code of a graph with nested arguments calls: leaves of an argument that may hold more than was traced."""

from ..utils._pytree import tree_flatten as tree_flatten
from ..utils._pytree import tree_is_leaf as tree_is_leaf
from ..utils._pytree import tree_map as tree_map
from ..utils._pytree import tree_unflatten as tree_unflatten


def tree_flatten_spec(tree, spec):
    """The leaves of a nesting that has at least what `spec` has; KeyError, IndexError or TypeError where it has not."""
    if spec.is_leaf():
        return [tree]
    keys = spec.context if issubclass(type(tree), dict) else range(spec.num_children)
    return [leaf for key, child in zip(keys, spec.children_specs) for leaf in tree_flatten_spec(tree[key], child)]

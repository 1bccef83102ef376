"""torch.fx._pytree: what the code of a graph with nested arguments calls.

An argument may hold more than was traced."""

from collections import defaultdict

from .._absent import absent_names as _absent_names
from ..utils._pytree import SUPPORTED_NODES as _NODES
from ..utils._pytree import tree_flatten as tree_flatten
from ..utils._pytree import tree_is_leaf as tree_is_leaf
from ..utils._pytree import tree_map as tree_map
from ..utils._pytree import tree_unflatten as tree_unflatten

SUPPORTED_NODES = {}  # what gives the parts of an instance that a description has: flatten(x, description)
SUPPORTED_NODES_EXACT_MATCH = {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """The parts of an instance of the class that `spec` has are `flatten_fn_spec(x, spec)`, a list, from now on.

    `flatten_fn_exact_match_spec(x, spec)`, which tells whether it has no others, is only kept.
    """
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def _deregister_pytree_flatten_spec(cls):
    """Undoes register_pytree_flatten_spec; KeyError if there is nothing to undo."""
    del SUPPORTED_NODES[cls], SUPPORTED_NODES_EXACT_MATCH[cls]


def _parts(tree, spec):
    if spec.type in SUPPORTED_NODES:
        return SUPPORTED_NODES[spec.type](tree, spec)
    if isinstance(tree, dict):
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        return [tree[key] for key in keys]
    if type(tree) in _NODES and not isinstance(tree, (tuple, list)):
        return list(_NODES[type(tree)].flatten_fn(tree)[0])
    return [tree[at] for at in range(spec.num_children)]


def tree_flatten_spec(tree, spec):
    """The leaves of a nesting that has at least what `spec` has; KeyError, IndexError or TypeError where it has not."""
    if spec.is_leaf():
        return [tree]
    pairs = zip(_parts(tree, spec), spec.children_specs)
    return [leaf for part, child in pairs for leaf in tree_flatten_spec(part, child)]


__getattr__ = _absent_names(__name__)

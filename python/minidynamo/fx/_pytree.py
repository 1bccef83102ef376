"""Nested lists, tuples, named tuples and dicts as a flat list of leaves and a description of the nesting."""

import collections


class TreeSpec(collections.namedtuple("TreeSpec", "kind context children")):
    """A nesting: `kind` is its type, None for a leaf; `context` holds the keys of a dict."""

    __slots__ = ()

    @property
    def num_leaves(self):
        return 1 if self.kind is None else sum(child.num_leaves for child in self.children)


LEAF = TreeSpec(None, None, ())


def _parts(tree):
    """(context, parts) of a nesting; None for a leaf."""
    if isinstance(tree, dict):
        return list(tree), list(tree.values())
    if isinstance(tree, (list, tuple)):
        return None, list(tree)
    return None


def tree_flatten(tree):
    """(leaves, spec)."""
    parts = _parts(tree)
    if parts is None:
        return [tree], LEAF
    leaves, children = [], []
    for part in parts[1]:
        below, spec = tree_flatten(part)
        leaves.extend(below)
        children.append(spec)
    return leaves, TreeSpec(type(tree), parts[0], tuple(children))


def tree_unflatten(leaves, spec):
    """The nesting `spec` with these leaves. ValueError if there are too few or too many."""
    leaves = list(leaves)
    if len(leaves) != spec.num_leaves:
        raise ValueError(f"{len(leaves)} leaves were given for a nesting that has {spec.num_leaves}")
    return _built(iter(leaves), spec)


def _built(leaves, spec):
    if spec.kind is None:
        return next(leaves)
    parts = [_built(leaves, child) for child in spec.children]
    if issubclass(spec.kind, dict):
        return dict(zip(spec.context, parts))
    return spec.kind(*parts) if hasattr(spec.kind, "_fields") else spec.kind(parts)


def tree_flatten_spec(tree, spec):
    """The leaves of a nesting that has at least what `spec` has; KeyError, IndexError or TypeError where it has not."""
    if spec.kind is None:
        return [tree]
    keys = spec.context if issubclass(spec.kind, dict) else range(len(spec.children))
    return [leaf for key, child in zip(keys, spec.children) for leaf in tree_flatten_spec(tree[key], child)]


def tree_map(function, tree):
    """The same nesting, every leaf replaced by `function(leaf)`."""
    leaves, spec = tree_flatten(tree)
    return tree_unflatten([function(leaf) for leaf in leaves], spec)

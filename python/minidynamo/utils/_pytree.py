"""torch.utils._pytree: nested containers as a flat list of leaves and a description of the nesting.

Tuples, lists, dicts, named tuples, OrderedDicts, defaultdicts, deques and registered classes are nested; an instance of
a subclass of theirs is a leaf, as is None.
"""

import collections

from .. import _C
from .._absent import absent_names as _absent_names

__all__ = [
    "LeafSpec",
    "PyTree",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_structure",
    "tree_unflatten",
]

PyTree = object
# How a class is taken apart, flatten(tree) = (parts, context), and put together, unflatten(parts, context) = tree.
NodeDef = collections.namedtuple("NodeDef", "type flatten_fn unflatten_fn")
SUPPORTED_NODES = {}


class TreeSpec(collections.namedtuple("TreeSpec", "type context children_specs")):
    """A nesting: the class of the outermost container, what else puts it together, and the nestings of its parts.

    The type of a leaf is None.
    """

    __slots__ = ()

    @property
    def num_leaves(self):
        return 1 if self.type is None else sum(child.num_leaves for child in self.children_specs)

    @property
    def num_nodes(self):
        return 1 + sum(child.num_nodes for child in self.children_specs)

    @property
    def num_children(self):
        return len(self.children_specs)

    def is_leaf(self):
        return self.type is None

    def children(self):
        return list(self.children_specs)

    def child(self, index):
        return self.children_specs[index]

    def unflatten(self, leaves):
        """The nesting with these leaves. ValueError if there are too few or too many."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})"
            )
        return _built(iter(leaves), self)

    def flatten_up_to(self, tree):
        """The parts of another tree that stand where leaves are here. ValueError where its nesting differs."""
        if self.type is None:
            return [tree]
        kind = _kind(tree)
        if kind is not self.type:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(parts) != len(self.children_specs):
            raise ValueError(f"Node arity mismatch; expected {len(self.children_specs)}, but got {len(parts)}.")
        if kind in _BY_KEY:
            if set(tree) != set(self._keys()):
                raise ValueError(f"Node keys mismatch; expected {self._keys()}, but got {list(tree)}.")
            parts = [tree[key] for key in self._keys()]
        elif kind is not collections.deque and context != self.context:
            raise ValueError(f"Node context mismatch for node type {kind!r}: {self.context} and {context}.")
        return [leaf for child, part in zip(self.children_specs, parts) for leaf in child.flatten_up_to(part)]

    def _keys(self):
        return self.context[1] if self.type is collections.defaultdict else self.context

    def __repr__(self, indent=0):
        if self.type is None:
            return "*"
        inner = f",\n{' ' * (indent + 2)}".join(child.__repr__(indent + 2) for child in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inner}])"


_LEAF = TreeSpec(None, None, ())


def LeafSpec():  # noqa: N802  a class in torch
    """The description of a leaf."""
    return _LEAF


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """Instances of the class are nested from now on; ValueError if they are already.

    `flatten_fn(x)` gives (parts, context), `unflatten_fn(parts, context)` an instance. Nothing here writes nestings to
    files or names paths in them: what serves that is not used.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node  # as older programs call it


def is_namedtuple_instance(obj):
    """Whether the class of the object was made by collections.namedtuple or typing.NamedTuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple_class(cls):
    """Whether collections.namedtuple or typing.NamedTuple made the class, or one it is derived from."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def register_sequence(kind):
    """A tuple or list class that is made from its parts in a row."""
    register_pytree_node(kind, lambda x: (list(x), None), lambda parts, _: kind(parts))


def register_dict(kind):
    """A dict class that is made from pairs."""
    register_pytree_node(kind, lambda x: (list(x.values()), list(x)), lambda parts, keys: kind(zip(keys, parts)))
    _BY_KEY.add(kind)


_BY_KEY = {collections.defaultdict}  # another tree's values are found by key, in whatever order they lie there
for _each in (tuple, list, _C.Size, *filter(lambda x: isinstance(x, type), vars(_C.return_types).values())):
    register_sequence(_each)
register_dict(dict)
register_dict(collections.OrderedDict)
register_pytree_node(collections.namedtuple, lambda x: (list(x), type(x)), lambda parts, cls: cls(*parts))
register_pytree_node(
    collections.defaultdict,
    lambda x: (list(x.values()), [x.default_factory, list(x)]),
    lambda parts, context: collections.defaultdict(context[0], zip(context[1], parts)),
)
register_pytree_node(
    collections.deque, lambda x: (list(x), x.maxlen), lambda parts, size: collections.deque(parts, maxlen=size)
)


def _kind(tree):
    """By which class a tree is taken apart; None for a leaf."""
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    return collections.namedtuple if is_namedtuple_class(kind) else None


def tree_is_leaf(tree, is_leaf=None):
    """Whether it is a leaf, in itself or for `is_leaf`."""
    return (is_leaf is not None and is_leaf(tree)) or _kind(tree) is None


def _taken_apart(tree, is_leaf, leaves):
    """The description of a tree, whose leaves are appended."""
    kind = _kind(tree)
    if kind is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, tuple([_taken_apart(part, is_leaf, leaves) for part in parts]))


def _built(leaves, spec):
    if spec.type is None:
        return next(leaves)
    parts = [_built(leaves, child) for child in spec.children_specs]
    return SUPPORTED_NODES[spec.type].unflatten_fn(parts, spec.context)


def tree_flatten(tree, is_leaf=None):
    """(leaves, description); what `is_leaf` is true for is not taken apart."""
    leaves = []
    spec = _taken_apart(tree, is_leaf, leaves)
    return leaves, spec


def tree_unflatten(leaves, treespec):
    """The nesting with these leaves. ValueError if there are too few or too many."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_leaves(tree, is_leaf=None):
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree, is_leaf=None):
    """The leaves, one after the other."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The description."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """The same nesting of what `func` gives for each leaf, and for what stands there in the other trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*each) for each in zip(leaves, *others)])


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls `func` as tree_map does, for what it changes, and gives the tree back."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _test(type_or_types_or_pred):
    if isinstance(type_or_types_or_pred, type) or not callable(type_or_types_or_pred):
        return lambda x: isinstance(x, type_or_types_or_pred)
    return type_or_types_or_pred


def tree_map_only(type_or_types_or_pred, func, tree, is_leaf=None):
    """tree_map for the leaves of a class, of some classes, or for which a predicate is true."""
    chosen = _test(type_or_types_or_pred)
    return tree_map(lambda x: func(x) if chosen(x) else x, tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, func, tree, is_leaf=None):
    """tree_map_ for the leaves of a class, of some classes, or for which a predicate is true."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred, tree, is_leaf=None):
    """Whether the predicate is true for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether the predicate is true for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types_or_pred, pred, tree, is_leaf=None):
    """tree_all among the leaves of a class, of some classes, or for which another predicate is true."""
    chosen = _test(type_or_types_or_pred)
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if chosen(x))


def tree_any_only(type_or_types_or_pred, pred, tree, is_leaf=None):
    """tree_any among the leaves of a class, of some classes, or for which another predicate is true."""
    chosen = _test(type_or_types_or_pred)
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if chosen(x))


__getattr__ = _absent_names(__name__)

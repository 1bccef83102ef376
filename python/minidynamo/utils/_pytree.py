"""torch.utils._pytree: nested containers as a flat list of leaves and a description of the nesting.

Tuples, lists, dicts, named tuples, OrderedDicts, defaultdicts, deques and registered classes are nested; an instance of
a subclass of theirs is a leaf, as is None.
"""

import types
import warnings
from collections.abc import Callable

from .._absent import absent_names as _absent_names
from . import tree_texts as _texts
from .tree_keys import GetAttrKey as GetAttrKey
from .tree_keys import MappingKey as MappingKey
from .tree_keys import SequenceKey as SequenceKey
from .tree_keys import key_get, keystr
from .tree_nodes import (  # noqa: F401  names of this module in torch
    _LEAF_SPEC,
    BUILTIN_TYPES,
    CONSTANT_NODES,
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    ConstantNode,
    LeafSpec,
    NodeDef,
    PyTreeSpec,
    TreeSpec,
    _deregister_pytree_node,
    _is_constant_holder,
    _private_register_pytree_node,
    _register_namedtuple,
    _register_pytree_node,
    _retrieve_constant,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    kind_of,
    register_constant,
    register_dataclass,
    register_pytree_node,
    treespec_dict,
    treespec_leaf,
    treespec_tuple,
)

__all__ = [
    "Context",
    "DumpableContext",
    "FlattenFn",
    "FromDumpableContextFn",
    "LeafSpec",
    "PyTree",
    "PyTreeSpec",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFn",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

# For annotations.
PyTree = Context = DumpableContext = KeyEntry = TypeAny = object
KeyPath = tuple
FlattenFn = FlattenFunc = UnflattenFn = UnflattenFunc = FlattenWithKeysFn = FlattenWithKeysFunc = Callable
ToDumpableContextFn = FromDumpableContextFn = Callable

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = _texts.PROTOCOL
NO_SERIALIZED_TYPE_NAME_FOUND = _texts.NO_NAME
SUPPORTED_SERIALIZED_TYPES = _texts.SUPPORTED_SERIALIZED_TYPES
SERIALIZED_TYPE_TO_PYTHON_TYPE = _texts.SERIALIZED_TYPE_TO_PYTHON_TYPE
EnumEncoder = _texts.EnumEncoder
enum_object_hook = _texts.enum_object_hook


def tree_is_leaf(tree, is_leaf=None):
    """Whether it is a leaf, in itself or for `is_leaf`."""
    return (is_leaf is not None and is_leaf(tree)) or kind_of(tree) not in SUPPORTED_NODES


def _is_leaf(tree, is_leaf=None):
    """tree_is_leaf as older programs call it: FutureWarning."""
    warnings.warn("`_is_leaf` is now called `tree_is_leaf`.", FutureWarning, stacklevel=2)
    return tree_is_leaf(tree, is_leaf)


def tree_flatten(tree, is_leaf=None):
    """(leaves, description); what `is_leaf` is true for is not taken apart."""
    leaves = []
    spec = _taken_apart(tree, is_leaf, leaves)
    return leaves, spec


def _taken_apart(tree, is_leaf, leaves):
    """The description of a tree, whose leaves are appended."""
    kind = kind_of(tree)
    if kind not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF_SPEC
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_taken_apart(part, is_leaf, leaves) for part in parts])


def tree_unflatten(leaves, treespec):
    """The nesting with these leaves. ValueError if there are too few or too many, TypeError without a description."""
    if isinstance(leaves, TreeSpec) and not isinstance(treespec, TreeSpec):
        leaves, treespec = treespec, leaves
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): `treespec` has to be a PyTreeSpec, not an instance of {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_leaves(tree, is_leaf=None):
    """The leaves."""
    return list(tree_iter(tree, is_leaf))


def tree_iter(tree, is_leaf=None):
    """The leaves, one after the other."""
    kind = kind_of(tree)
    if kind not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree)):
        yield tree
        return
    for part in SUPPORTED_NODES[kind].flatten_fn(tree)[0]:
        yield from tree_iter(part, is_leaf)


def arg_tree_leaves(*args, **kwargs):
    """The leaves of the arguments of a call."""
    leaves = []
    for part in (*args, *kwargs.values()):
        leaves.extend(tree_iter(part))
    return leaves


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
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    for each in zip(leaves, *others):
        func(*each)
    return tree


def map_only(type_or_types_or_pred, /):
    """Makes of a function one that gives back what is not of a class, of some classes, or for which a predicate fails.

    TypeError for anything else than a type, a tuple or union of types, or a callable.
    """
    if isinstance(type_or_types_or_pred, (type, tuple, types.UnionType)):

        def chosen(x):
            return isinstance(x, type_or_types_or_pred)

    elif callable(type_or_types_or_pred):
        chosen = type_or_types_or_pred
    else:
        raise TypeError("Which leaves are meant is told by a type, a tuple or union of types, or a callable.")

    def changed(func):
        return lambda x: func(x) if chosen(x) else x

    return changed


def tree_map_only(type_or_types_or_pred, func, tree, is_leaf=None):
    """tree_map for the leaves of a class, of some classes, or for which a predicate is true."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, func, tree, is_leaf=None):
    """tree_map_ for the leaves of a class, of some classes, or for which a predicate is true."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether the predicate is true for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether the predicate is true for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, pred, tree, is_leaf=None):
    """tree_all among the leaves of a class or of some classes."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, pred, tree, is_leaf=None):
    """tree_any among the leaves of a class or of some classes."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of a tree as they stand below a nesting, a leaf repeated for all of its parts; None if they differ."""
    if treespec.is_leaf():
        return [tree] if tree_is_leaf(tree, is_leaf) else None
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    try:
        parts = treespec.parts_of(tree)
    except ValueError:
        return None
    leaves = []
    for part, child in zip(parts, treespec.children_specs):
        found = _broadcast_to_and_flatten(part, child, is_leaf)
        if found is None:
            return None
        leaves.extend(found)
    return leaves


def tree_leaves_with_path(tree, is_leaf=None):
    """[(path, leaf), ...]; a path is a tuple of keys. ValueError for a class registered without keys."""
    return list(_with_paths((), tree, is_leaf))


def tree_flatten_with_path(tree, is_leaf=None):
    """([(path, leaf), ...], description). ValueError for a class registered without keys."""
    return list(_with_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def _with_paths(path, tree, is_leaf):
    kind = kind_of(tree)
    if kind not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree)):
        yield path, tree
        return
    flatten_with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if flatten_with_keys is None:
        raise ValueError(
            f"No keys are known for the parts of {kind}; register_pytree_node takes them as flatten_with_keys_fn."
        )
    for key, part in flatten_with_keys(tree)[0]:
        yield from _with_paths((*path, key), part, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """tree_map whose function gets the path of the leaf first. ValueError for a class registered without keys."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(path, leaf, *more) for (path, leaf), *more in zip(found, *others)])


def treespec_dumps(treespec, protocol=None):
    """The description as JSON that treespec_loads reads, and torch's.

    TypeError for anything else or for a context JSON does not know, NotImplementedError for a class without a name,
    ValueError for another protocol than 1.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"a TreeSpec is written as text, not {type(treespec)}")
    return _texts.dumps(treespec, protocol)


def treespec_loads(serialized):
    """The description of a text by treespec_dumps. NotImplementedError for a name nobody registered."""
    return _texts.loads(serialized, TreeSpec, _LEAF_SPEC)


def pytree_to_str(treespec):
    """treespec_dumps as older programs call it."""
    return treespec_dumps(treespec)


def str_to_pytree(json):
    """treespec_loads as older programs call it."""
    return treespec_loads(json)


_get_node_type = kind_of


class _Asterisk(str):
    """The text of a leaf, without quotes in containers."""

    __slots__ = ()

    def __repr__(self):
        return "*"


def treespec_pprint(treespec):
    """The nesting as Python writes it, with an asterisk for each leaf."""
    return repr(tree_unflatten([_Asterisk("*")] * treespec.num_leaves, treespec))


__getattr__ = _absent_names(__name__)

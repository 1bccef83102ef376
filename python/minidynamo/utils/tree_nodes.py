"""Which classes are nested for torch.utils._pytree, and the description of a nesting."""

import collections
import threading
import warnings

from .. import _C
from . import tree_texts as _texts
from .tree_keys import ConstantNode, GetAttrKey, MappingKey, Record, SequenceKey

# How a class is taken apart, flatten(tree) = (parts, context), and put together, unflatten(parts, context) = tree.
NodeDef = collections.namedtuple("NodeDef", "type flatten_fn unflatten_fn flatten_with_keys_fn")
SUPPORTED_NODES = {}
CONSTANT_NODES = set()  # classes whose instances are containers of nothing
_REGISTERING = threading.RLock()


class TreeSpec:
    """A nesting: the class of the outermost container, what else puts it together, and the nestings of its parts.

    The type of a leaf is None. Not changed once it is made; equal and hashed by what it says.
    """

    def __init__(self, type, context, children_specs):
        parts = list(children_specs)
        nodes, leaves = 1, 0
        for part in parts:
            nodes, leaves = nodes + part.num_nodes, leaves + part.num_leaves
        if type is None:
            leaves = 1
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "context", context)
        object.__setattr__(self, "children_specs", parts)
        object.__setattr__(self, "num_nodes", nodes)
        object.__setattr__(self, "num_leaves", leaves)
        object.__setattr__(self, "num_children", len(parts))

    __setattr__, __delattr__ = Record.__setattr__, Record.__delattr__

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.type is other.type
            and self.num_nodes == other.num_nodes
            and self.context == other.context
            and self.children_specs == other.children_specs
        )

    def __hash__(self):
        return hash((self.type, self.num_nodes, self.num_leaves, tuple(self.children_specs)))

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
            raise ValueError(f"unflatten(): {len(leaves)} leaves are given for a nesting of {self.num_leaves} ({self})")
        return _built(iter(leaves), self)

    def flatten_up_to(self, tree):
        """The parts of another tree that stand where leaves are here. ValueError where its nesting differs."""
        if self.type is None:
            return [tree]
        parts = self.parts_of(tree)
        return [leaf for child, part in zip(self.children_specs, parts) for leaf in child.flatten_up_to(part)]

    def parts_of(self, tree):
        """The parts of another tree in the order of those here. ValueError where the outermost containers differ."""
        return _parts_like(self, tree)

    def __repr__(self, indent=0):
        if self.type is None:
            return "*"
        inner = f",\n{' ' * (indent + 2)}".join(child.__repr__(indent + 2) for child in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inner}])"


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The description of a leaf."""

    def __init__(self):
        super().__init__(None, None, [])


_LEAF_SPEC = LeafSpec()


# Tuples for traced code, where such sets are not known.
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
_BUILTIN = (tuple, list, collections.namedtuple, collections.deque, *_DICTS)
STANDARD_DICT_TYPES, BUILTIN_TYPES = frozenset(_DICTS), frozenset(_BUILTIN)


def kind_of(tree):
    """By which class a tree would be taken apart; one that is not in SUPPORTED_NODES is that of a leaf."""
    kind = type(tree)
    return collections.namedtuple if is_namedtuple_class(kind) else kind


def _built(leaves, spec):
    if spec.type is None:
        return next(leaves)
    parts = [_built(leaves, child) for child in spec.children_specs]
    return SUPPORTED_NODES[spec.type].unflatten_fn(parts, spec.context)


def _parts_like(spec, tree):
    """The parts of a tree in the order of those of a nesting. ValueError if the outermost containers differ.

    Dicts of any kind match one another if they have the same keys, deques whatever their maxlen.
    """
    kind, expected = kind_of(tree), spec.type
    if expected not in _BUILTIN:
        if type(tree) is not expected:
            raise ValueError(f"Type mismatch; expected {expected!r}, but got {type(tree)!r}.")
    elif kind is not expected and not (kind in _DICTS and expected in _DICTS):
        raise ValueError(f"the nestings differ: {kind!r} stands where {expected!r} was")
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    parts = list(parts)
    if len(parts) != spec.num_children:
        raise ValueError(f"the nestings differ: a node has {len(parts)} parts where there were {spec.num_children}")
    if expected in _DICTS:
        keys = spec.context[1] if expected is collections.defaultdict else spec.context
        missing, extra = set(keys) - set(tree), set(tree) - set(keys)
        if missing or extra:
            raise ValueError(f"the nestings differ: keys {missing} are missing, keys {extra} are new")
        return [tree[key] for key in keys]
    if expected not in _BUILTIN and context != spec.context:
        raise ValueError(f"the nestings differ in what {expected!r} keeps beside its parts")
    if expected is collections.namedtuple and context != spec.context:
        raise ValueError(f"the nestings differ in {expected!r}: {context!r} stands where {spec.context!r} was")
    return parts


def treespec_leaf():
    """The description of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable=(), /):
    """The description of a tuple of what these describe; ValueError for anything else than descriptions."""
    parts = list(iterable)
    if not all(isinstance(part, TreeSpec) for part in parts):
        raise ValueError(f"A tuple of descriptions (TreeSpec) is made from descriptions, not from {parts!r}.")
    return TreeSpec(tuple, None, parts)


def treespec_dict(mapping=(), /, **kwargs):
    """The description of a dict of what these describe; ValueError for anything else than descriptions."""
    parts = dict(mapping, **kwargs)
    if not all(isinstance(part, TreeSpec) for part in parts.values()):
        raise ValueError(f"A dict of descriptions (TreeSpec) is made from descriptions, not from {parts!r}.")
    return TreeSpec(dict, list(parts), list(parts.values()))


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

    `flatten_fn(x)` gives (parts, context), `unflatten_fn(parts, context)` an instance, `flatten_with_keys_fn(x)`
    ([(key, part), ...], context) for paths. In texts the class has the name `serialized_type_name`, and its contexts
    go through `to_dumpable_context` and back through `from_dumpable_context` (both or none, else ValueError).
    """
    with _REGISTERING:
        if cls in SUPPORTED_NODES:
            raise ValueError(f"{cls} has been registered before")
        _enter(
            cls,
            flatten_fn,
            unflatten_fn,
            serialized_type_name,
            to_dumpable_context,
            from_dumpable_context,
            flatten_with_keys_fn,
        )


def _enter(cls, flatten_fn, unflatten_fn, name=None, to_dumpable=None, from_dumpable=None, with_keys=None):
    """Registers a class; what was said of it before is replaced, with a warning."""
    with _REGISTERING:
        if cls in SUPPORTED_NODES:
            warnings.warn(f"{cls} was registered as pytree node before; that is replaced.", stacklevel=3)
        _texts.register(cls, name, to_dumpable, from_dumpable)
        SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, with_keys)
        CONSTANT_NODES.discard(cls)


_private_register_pytree_node = _enter


def _register_pytree_node(cls, flatten_fn, unflatten_fn, to_str_fn=None, maybe_from_str_fn=None, **kwargs):
    """register_pytree_node as older programs call it: FutureWarning; a second registration replaces the first."""
    warnings.warn("`_register_pytree_node` is now called `register_pytree_node`.", FutureWarning, stacklevel=2)
    _enter(
        cls,
        flatten_fn,
        unflatten_fn,
        kwargs.pop("serialized_type_name", None),
        kwargs.pop("to_dumpable_context", None),
        kwargs.pop("from_dumpable_context", None),
        kwargs.pop("flatten_with_keys_fn", None),
    )
    if kwargs:
        raise TypeError(f"_register_pytree_node() got an unexpected keyword argument {next(iter(kwargs))!r}")


def _deregister_pytree_node(cls):
    """Instances of the class are leaves again; KeyError if they are."""
    with _REGISTERING:
        del SUPPORTED_NODES[cls]
        _texts.deregister(cls)
        CONSTANT_NODES.discard(cls)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Instances of a dataclass are nested by their fields from now on; a field that is None is part of the nesting.

    Other classes need `field_names`: attributes that are also arguments of the constructor. Of a dataclass they have to
    be all fields the constructor takes but for `drop_field_names`, which are left to their defaults. ValueError else.
    """
    from .tree_classes import dataclass_node

    _enter(*dataclass_node(cls, field_names, drop_field_names, serialized_type_name))


def register_constant(cls):
    """Instances of the class are containers of nothing from now on: part of the nesting, equal as they are equal.

    TypeError for a class that compares or hashes by identity.
    """
    from .tree_classes import constant_node

    node = constant_node(cls)
    _enter(*node)
    CONSTANT_NODES.add(cls)


def is_constant_class(cls):
    """Whether register_constant knows the class."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def _is_constant_holder(spec):
    return isinstance(spec.context, ConstantNode)


def _retrieve_constant(spec):
    assert _is_constant_holder(spec)
    return spec.context.value


def _register_namedtuple(cls, *, serialized_type_name):
    """Gives a named tuple class a name in texts."""
    _enter(
        cls,
        SUPPORTED_NODES[collections.namedtuple].flatten_fn,
        SUPPORTED_NODES[collections.namedtuple].unflatten_fn,
        serialized_type_name,
        _texts.namedtuple_to_dumpable,
        _texts.namedtuple_from_dumpable,
        SUPPORTED_NODES[collections.namedtuple].flatten_with_keys_fn,
    )


def is_namedtuple(obj):
    """Whether it is a class that is_namedtuple_class knows, or an instance of one."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj):
    """Whether the class of the object was made by collections.namedtuple or typing.NamedTuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple_class(cls):
    """Whether collections.namedtuple or typing.NamedTuple made the class, or one it is derived from."""
    if not isinstance(cls, type) or not issubclass(cls, tuple) or not isinstance(getattr(cls, "_fields", None), tuple):
        return False
    return all([type(name) is str for name in cls._fields]) and callable(getattr(cls, "_make", None))


def is_structseq(obj):
    """Whether it is a class like time.struct_time or torch.return_types.max, or an instance of one."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_instance(obj):
    """Whether the class of the object is like time.struct_time."""
    return is_structseq_class(type(obj))


def is_structseq_class(cls):
    """Whether the class is one that C code makes of named fields, like time.struct_time."""
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all([isinstance(getattr(cls, count, None), int) for count in counts])
    )


def _by_position(x):
    return [(SequenceKey(at), part) for at, part in enumerate(x)], None


def _by_key(x):
    return [(MappingKey(key), part) for key, part in x.items()], list(x)


def register_sequence(kind, name=None):
    """A tuple or list class that is made from its parts in a row."""
    _enter(kind, lambda x: (list(x), None), lambda parts, _: kind(parts), name, with_keys=_by_position)


def register_dict(kind, name=None):
    """A dict class that is made from pairs."""
    _enter(
        kind,
        lambda x: (list(x.values()), list(x)),
        lambda parts, keys: kind(zip(keys, parts)),
        name,
        with_keys=_by_key,
    )


register_sequence(tuple, "builtins.tuple")
register_sequence(list, "builtins.list")
# Its parts need not stay ints, so that it is put together as a tuple.
_enter(_C.Size, lambda x: (list(x), None), lambda parts, _: tuple(parts), "torch.Size", with_keys=_by_position)
for _each in filter(lambda x: isinstance(x, type), vars(_C.return_types).values()):
    register_sequence(_each)
register_dict(dict, "builtins.dict")
register_dict(collections.OrderedDict, "collections.OrderedDict")
_enter(
    collections.namedtuple,
    lambda x: (list(x), type(x)),
    lambda parts, cls: cls(*parts),
    "collections.namedtuple",
    _texts.namedtuple_to_dumpable,
    _texts.namedtuple_from_dumpable,
    lambda x: ([(GetAttrKey(name), part) for name, part in zip(x._fields, x)], type(x)),
)
_enter(
    collections.defaultdict,
    lambda x: (list(x.values()), [x.default_factory, list(x)]),
    lambda parts, context: collections.defaultdict(context[0], zip(context[1], parts)),
    "collections.defaultdict",
    _texts.defaultdict_to_dumpable,
    _texts.defaultdict_from_dumpable,
    lambda x: (_by_key(x)[0], [x.default_factory, list(x)]),
)
_enter(
    collections.deque,
    lambda x: (list(x), x.maxlen),
    lambda parts, size: collections.deque(parts, maxlen=size),
    "collections.deque",
    with_keys=lambda x: (_by_position(x)[0], x.maxlen),
)

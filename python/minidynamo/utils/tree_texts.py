"""Descriptions of nestings as text and back: treespec_dumps and treespec_loads of torch.utils._pytree.

The text is torch's: a JSON list of a protocol number and, for each container, its name, its context and its parts.
"""

import collections
import enum
import importlib
import json

PROTOCOL = 1
NO_NAME = "NO_SERIALIZED_TYPE_NAME_FOUND"
# How a class is named in texts, and what turns its contexts into what JSON knows, and back.
SerializeNodeDef = collections.namedtuple(
    "SerializeNodeDef", "typ serialized_type_name to_dumpable_context from_dumpable_context"
)
SUPPORTED_SERIALIZED_TYPES = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE = {}


def register(cls, name, to_dumpable, from_dumpable):
    """Notes how the class is written. ValueError if only one direction of its contexts is known."""
    if (to_dumpable is None) != (from_dumpable is None):
        raise ValueError(
            f"{cls}: to_dumpable_context and from_dumpable_context belong together; give both or none of them."
        )
    name = NO_NAME if name is None else name
    SUPPORTED_SERIALIZED_TYPES[cls] = SerializeNodeDef(cls, name, to_dumpable, from_dumpable)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def deregister(cls):
    """Forgets how the class is written."""
    node = SUPPORTED_SERIALIZED_TYPES.pop(cls)
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(node.serialized_type_name, None)


class EnumEncoder(json.JSONEncoder):
    """JSON with members of enumerations, by class and name."""

    def default(self, obj):
        if isinstance(obj, enum.Enum):
            kind = type(obj)
            return {"__enum__": True, "fqn": f"{kind.__module__}:{kind.__qualname__}", "name": obj.name}
        return super().default(obj)


def enum_object_hook(obj):
    """What EnumEncoder wrote, as the member again."""
    if not obj.get("__enum__"):
        return obj
    module, _, path = obj["fqn"].partition(":")
    found = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found[obj["name"]]


def namedtuple_to_dumpable(cls):
    """The name a named tuple class was registered by; NotImplementedError if it was not."""
    node = SUPPORTED_SERIALIZED_TYPES.get(cls)
    if node is None or node.serialized_type_name == NO_NAME:
        raise NotImplementedError(
            f"The named tuple class {cls} has no name in texts; `_register_namedtuple` gives it one."
        )
    return node.serialized_type_name


def namedtuple_from_dumpable(name):
    """The named tuple class of that name; NotImplementedError if there is none."""
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"No named tuple class is registered as {name!r}; see `_register_namedtuple`.")
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[name]


def defaultdict_to_dumpable(context):
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def defaultdict_from_dumpable(dumped):
    found = importlib.import_module(dumped["default_factory_module"])
    for name in dumped["default_factory_name"].split("."):
        found = getattr(found, name)
    return [found, dumped["dict_context"]]


def _as_json(spec):
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if node is None:
        raise NotImplementedError(f"{spec.type} is no registered container; it cannot be written.")
    if node.serialized_type_name == NO_NAME:
        raise NotImplementedError(
            f"{spec.type} was registered without a name for texts; give register_pytree_node a serialized_type_name."
        )
    if node.to_dumpable_context is not None:
        context = node.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, cls=EnumEncoder)
        except TypeError as error:
            raise TypeError(
                f"The context of {spec.type} is nothing JSON knows; give register_pytree_node a to_dumpable_context "
                "and a from_dumpable_context."
            ) from error
    parts = [_as_json(child) for child in spec.children_specs]
    return {"type": node.serialized_type_name, "context": context, "children_spec": parts}


def _from_json(read, made, leaf):
    if read["type"] is None and read["context"] is None and not read["children_spec"]:
        return leaf
    if read["type"] not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"No container is registered as {read['type']!r}; the text cannot be read.")
    kind = SERIALIZED_TYPE_TO_PYTHON_TYPE[read["type"]]
    node = SUPPORTED_SERIALIZED_TYPES[kind]
    if node.from_dumpable_context is not None:
        context = node.from_dumpable_context(read["context"])
    else:
        context = json.loads(read["context"], object_hook=enum_object_hook)
    return made(kind, context, [_from_json(part, made, leaf) for part in read["children_spec"]])


def _check_protocol(protocol):
    if protocol != PROTOCOL:
        raise ValueError(f"There is no protocol {protocol} of descriptions; known: [{PROTOCOL}]")


def dumps(spec, protocol=None):
    """The text of a description. NotImplementedError for a class without a name, TypeError for a context."""
    protocol = PROTOCOL if protocol is None else protocol
    _check_protocol(protocol)
    return json.dumps((protocol, _as_json(spec)), cls=EnumEncoder)


def loads(text, made, leaf):
    """`made(type, context, parts)` of what a text says, `leaf` for its leaves."""
    protocol, read = json.loads(text)
    _check_protocol(protocol)
    return _from_json(read, made, leaf)

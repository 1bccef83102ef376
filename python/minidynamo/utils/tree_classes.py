"""How instances of classes are taken apart that torch.utils._pytree nests by their fields, or not at all."""

import dataclasses

from .tree_keys import ConstantNode, GetAttrKey


def _checked_fields(cls, field_names, dropped):
    """The names of the fields that are parts; ValueError if they are not those the constructor takes."""
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(
                f"{cls} is no dataclass: which attributes its constructor takes has to be said (field_names)."
            )
        return list(field_names)
    taken = [field.name for field in dataclasses.fields(cls) if field.init and field.name not in dropped]
    if field_names is None:
        return taken
    missing, unexpected = set(taken) - set(field_names), set(field_names) - set(taken)
    said = [f"missing: {missing}"] if missing else []
    said += [f"not among them: {unexpected}"] if unexpected else []
    if said:
        raise ValueError(
            f"field_names are not the fields of {cls} that its constructor takes, without drop_field_names "
            f"({'; '.join(said)})."
        )
    return list(field_names)


def dataclass_node(cls, field_names, dropped, serialized_name):
    """What registers the class: (class, flatten, unflatten, name, None, None, flatten with keys)."""
    names = _checked_fields(cls, field_names, dropped or ())

    def flatten(x):
        there = [name for name in names if getattr(x, name) is not None]
        return [getattr(x, name) for name in there], [there, [name for name in names if getattr(x, name) is None]]

    def unflatten(parts, context):
        return cls(**dict(zip(context[0], parts)), **dict.fromkeys(context[1]))

    def flatten_with_keys(x):
        parts, context = flatten(x)
        return [(GetAttrKey(name), part) for name, part in zip(context[0], parts)], context

    return cls, flatten, unflatten, serialized_name, None, None, flatten_with_keys


def constant_node(cls):
    """What registers a class of constants, as dataclass_node. TypeError if it has no __eq__ and __hash__ of its own."""
    for name in ("__eq__", "__hash__"):
        if getattr(cls, name) in (getattr(object, name), None):
            raise TypeError(
                f"register_constant(cls): instances are compared as values, so {cls} needs its own `{name}`."
            )

    def flatten(x):
        return [], ConstantNode(x)

    return cls, flatten, lambda _, context: context.value, None, None, None, flatten

"""torch.nn.utils.stateless: a module called with other parameters and buffers than its own."""

from ..._absent import absent_names as _absent_names


def _places(module, named, tie_weights, strict):
    """[(dictionary, key, tensor)]: where each tensor of `named` goes, and under the other names of what it replaces."""
    own = {}
    for prefix, part in module.named_modules():
        for members in (part._parameters, part._buffers):
            own.update({f"{prefix}.{key}" if prefix else key: (members, key) for key in members})
    if strict and own.keys() != named.keys():
        unknown, missing = sorted(named.keys() - own.keys()), sorted(own.keys() - named.keys())
        raise RuntimeError(
            f"functional_call with strict=True: {type(module).__name__} has no tensors {unknown}, "
            f"and none are given for {missing}"
        )
    places = [(*own[name], tensor) for name, tensor in named.items() if name in own]
    if tie_weights:
        given = {}
        for members, key, tensor in places:
            if members[key] is not None and given.setdefault(id(members[key]), tensor) is not tensor:
                raise ValueError(f"functional_call: {key!r} and another name of the same tensor are given two tensors")
        others = [own[name] for name in own if name not in named]
        places += [(members, key, given[id(members[key])]) for members, key in others if id(members[key]) in given]
    return places


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with these tensors, {name: tensor}, in the places of its own; they go back afterwards.

    With `tie_weights` a tensor stands for all names of what it replaces: ValueError if two are given for one. With
    `strict` the names have to be those of the module, else RuntimeError; without it other names are passed over.
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    places = _places(module, parameters_and_buffers, tie_weights, strict)
    before = [members[key] for members, key, _ in places]
    for members, key, tensor in places:
        members[key] = tensor
    try:
        return module(*args, **({} if kwargs is None else kwargs))
    finally:
        for (members, key, _), own in zip(places, before):
            members[key] = own


__getattr__ = _absent_names(__name__)

"""Operators of torch.library inside vmap: by their rule, by leading dimensions, or one example after another.

A rule, given to register_vmap(), is `rule(info, in_dims, *args, **kwargs)` and returns (results, out_dims).
"""

from .. import _C
from ..library.gradients import mapped, tensors_in
from .functions import _WORDS, VmapInfo, _wrapped
from .vmap import as_examples


def call(operator, values):
    """The results of an operator for arguments by name, of which some differ from example to example."""
    level = max(n for t in tensors_in(list(values.values())) for n in _C._batch_levels(t))
    dims = {name: mapped(lambda leaf: _place(leaf, level), value) for name, value in values.items()}
    whole = {name: mapped(lambda leaf: _whole(leaf, level), value) for name, value in values.items()}
    size, randomness = _C._vmap_of_level(level)
    if operator.vmap is not None:
        positional = [p.name for p in operator.schema.parameters if not p.keyword_only]
        named = {p.name: whole[p.name] for p in operator.schema.parameters if p.keyword_only}
        info = VmapInfo(size, _WORDS[randomness])
        out, out_dims = operator.vmap(
            info, tuple([dims[n] for n in positional]), *[whole[n] for n in positional], **named
        )
        return _wrapped(out, out_dims, level)
    if operator.batches_leading:
        given = {name: mapped(lambda leaf: leaf, value) for name, value in whole.items()}
        for name, value in whole.items():
            if isinstance(value, _C.Tensor) and dims[name] is None:
                given[name] = value.expand(size, *value.shape)
        return mapped(lambda leaf: as_examples(leaf, 0, level), operator(**given))
    return _one_by_one(operator, whole, dims, size, level)


def _place(leaf, level):
    return 0 if isinstance(leaf, _C.Tensor) and level in _C._batch_levels(leaf) else None


def _whole(leaf, level):
    return leaf if _place(leaf, level) is None else _C._without_levels(leaf, (level,))


def _one_by_one(operator, whole, dims, size, level):
    written = [p.name for p in operator.schema.parameters if p.written]
    for name in written:
        if any(d is None for d in _leaves(dims[name])):
            raise RuntimeError(f"vmap: {operator.name} writes to {name}, which is the same for all examples")
    found = [operator(**{n: _pick(v, dims[n], i) for n, v in whole.items()}) for i in range(size)]
    if not operator.schema.returns:
        return None
    return _stacked(found, level)


def _leaves(value):
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, (list, tuple)) else [value]


def _pick(value, dims, i):
    """Example i of each tensor that has some."""
    if isinstance(value, (list, tuple)):
        return type(value)([_pick(v, d, i) for v, d in zip(value, dims)])
    return value if dims is None else value[i]


def _stacked(found, level):
    if isinstance(found[0], (list, tuple)):
        parts = [_stacked([each[k] for each in found], level) for k in range(len(found[0]))]
        return list(parts) if isinstance(found[0], list) else tuple(parts)
    return as_examples(_C.stack(found), 0, level) if isinstance(found[0], _C.Tensor) else found[0]

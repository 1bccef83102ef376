"""torch.view_copy and its kin: what a view shows, in memory of its own. One rule makes all of them."""

from . import _C
from ._absent import absent_names as _absent_names


def _copied(view):
    def copy(input, *args, out=None, **kwargs):
        found = view(input, *args, **kwargs)
        if isinstance(found, _C.Tensor):
            return found.clone(memory_format=_C.contiguous_format) if out is None else _into(out, found)
        if out is None:
            return tuple([part.clone(memory_format=_C.contiguous_format) for part in found])
        for each, part in zip(out, found):
            _into(each, part)
        return None

    return copy


def _into(out, value):
    return out.resize_(value.shape).copy_(value)


def _slice(input, dim=0, start=None, end=None, step=1):
    return input[(slice(None),) * (dim % input.dim()) + (slice(start, end, step),)]


VIEWS = {
    "alias": lambda input: input,
    "detach": lambda input: input.detach(),
    "expand": lambda input, size, implicit=False: input.expand(size),
    "slice": _slice,
    "unfold": lambda input, dimension, size, step: input.unfold(dimension, size, step),
    "view": lambda input, size=None, dtype=None: input.view(dtype if size is None else size),
    "split": lambda input, split_size, dim=0: input.split(split_size, dim),
    "split_with_sizes": lambda input, split_sizes, dim=0: input.split(list(split_sizes), dim),
    "unbind": lambda input, dim=0: input.unbind(dim),
}
for _name in "as_strided diagonal permute select squeeze t transpose unsqueeze view_as_complex view_as_real".split():
    VIEWS[_name] = getattr(_C, _name)
for _name, _view in VIEWS.items():
    _made = _copied(_view)
    _made.__name__ = _made.__qualname__ = f"{_name}_copy"
    _made.__doc__ = f"What {_name}() shows, in memory of its own."
    globals()[f"{_name}_copy"] = _C._overridable(_made)

__getattr__ = _absent_names(__name__)

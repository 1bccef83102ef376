"""Padding: constants, or what the input has at its borders."""

from .. import _C
from .arguments import in_format_of

_SPATIAL = {2: (2, 3), 4: (3, 4), 6: (4, 5)}  # length of `pad`: dimensions of the input, where borders are repeated


@_C._overridable
def pad(input, pad, mode="constant", value=None):
    """Adds pad[0] and pad[1] elements before and after the last dimension, pad[2] and pad[3] for the one before, ...

    A negative number takes away. What is added is `value` (0), or with `mode` "reflect" the elements on the other side
    of the border element, "replicate" the border element, "circular" the elements at the other end. These three are
    for the last 1, 2 or 3 dimensions of an input that has one or two more (NotImplementedError).
    """
    if len(pad) % 2 != 0:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > input.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.dim()}"
        )
    if mode != "constant":
        return _repeated(input, pad, mode, value)
    result = input
    for dim, before, after in _sides(input, pad):
        result = _constant(result, dim, before, after, 0 if value is None else value)
    result = result.clone() if result is input or not any(n > 0 for n in pad) else result
    return _C._as_one_call(in_format_of(input, result), "ConstantPadNd", input)


def _sides(input, pad):
    """(dimension, before, after), from the last dimension."""
    return [(input.dim() - 1 - i, pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]


def _inner(input, dim, before, after):
    """`input` without what negative numbers take away."""
    size = input.shape[dim]
    if size + before + after < 0:
        raise RuntimeError(
            f"The input size {size}, plus negative padding {before} and {after} resulted in a negative output size, "
            f"which is invalid. Check dimension {dim} of your input."
        )
    if before >= 0 and after >= 0:
        return input
    return input.narrow(dim, max(-before, 0), size + min(before, 0) + min(after, 0))


def _constant(input, dim, before, after, value):
    parts = [_inner(input, dim, before, after)]
    for amount, place in ((before, 0), (after, 1 + (before > 0))):
        if amount > 0:
            shape = list(input.shape)
            shape[dim] = amount
            parts.insert(place, _C.full(shape, value, dtype=input.dtype, device=input.device))
    return parts[0] if len(parts) == 1 else _C.cat(parts, dim)


def _repeated(input, pad, mode, value):
    if mode not in _BORDERS:
        raise NotImplementedError(
            f"pad: there is no mode {mode!r}; modes are 'constant', {', '.join(map(repr, _BORDERS))}"
        )
    if value is not None and value != 0:
        raise RuntimeError(f"pad: mode {mode!r} has no use for a value, got {value}")
    if input.dim() not in _SPATIAL.get(len(pad), ()):
        raise NotImplementedError(
            f"pad: mode {mode!r} pads the last 1, 2 or 3 dimensions of an input that has one or two more; got "
            f"{len(pad)} numbers for {input.dim()} dimensions"
        )
    result = input
    for dim, before, after in _sides(input, pad):
        parts = _BORDERS[mode](result, dim, before, after)
        result = _C.cat(parts, dim) if len(parts) > 1 else parts[0]
    result = result.clone() if result is input or not any(n > 0 for n in pad) else result
    if mode == "circular":  # written into an empty result, by parts
        return result.contiguous()
    name = "ReflectionPad" if mode == "reflect" else "ReplicationPad"
    return _C._as_one_call(in_format_of(input, result), f"{name}{len(pad) // 2}D", input)


def _check_border(input, dim, before, after, limit, mode):
    if max(before, after) > limit:
        raise RuntimeError(
            f"pad: mode {mode!r} can add no more than {limit} elements to dimension {dim} of size {input.shape[dim]} "
            f"at one end, got {before} and {after}"
        )


def _reflect(input, dim, before, after):
    size = input.shape[dim]
    _check_border(input, dim, before, after, size - 1, "reflect")
    parts = [input.narrow(dim, 1, before).flip(dim)] if before > 0 else []
    parts.append(_inner(input, dim, before, after))
    return [*parts, input.narrow(dim, size - 1 - after, after).flip(dim)] if after > 0 else parts


def _replicate(input, dim, before, after):
    size = input.shape[dim]
    if size == 0:
        raise RuntimeError(f"pad: dimension {dim} has no element to repeat")
    shape = list(input.shape)
    shape[dim] = before
    parts = [input.narrow(dim, 0, 1).expand(shape)] if before > 0 else []
    parts.append(_inner(input, dim, before, after))
    shape[dim] = after
    return [*parts, input.narrow(dim, size - 1, 1).expand(shape)] if after > 0 else parts


def _circular(input, dim, before, after):
    size = input.shape[dim]
    _check_border(input, dim, before, after, size, "circular")
    # Where one end is cut and the other grows, what grows is the other end of the cut input.
    inner = _inner(input, dim, before, after)
    kept = inner.shape[dim]
    parts = [inner.narrow(dim, kept - before, before)] if before > 0 else []
    parts.append(inner)
    return [*parts, inner.narrow(dim, 0, after)] if after > 0 else parts


_BORDERS = {"reflect": _reflect, "replicate": _replicate, "circular": _circular}

"""assert_close: whether tensors, numbers and containers of them agree within tolerances that depend on the dtype."""

import math
import sys
from collections.abc import Mapping, Sequence

from .. import _C
from ..autograd.grad_mode import no_grad

# dtype: (rtol, atol); 0 for all others.
TOLERANCES = {
    _C.float16: (1e-3, 1e-5),
    _C.bfloat16: (1.6e-2, 1e-5),
    _C.float32: (1.3e-6, 1e-5),
    _C.float64: (1e-7, 1e-7),
    _C.complex64: (1.3e-6, 1e-5),
    _C.complex128: (1e-7, 1e-7),
}
_OF_NUMBERS = {float: (1e-7, 1e-7), complex: (1e-7, 1e-7), int: (0.0, 0.0)}
_LEGACY = {_C.float16: (1e-3, 1e-3), _C.float32: (1e-4, 1e-5), _C.float64: (1e-5, 1e-8)}


class _Settings:
    """What assert_close() was asked for."""

    def __init__(self, rtol, atol, **others):
        if (rtol is None) != (atol is None):
            missing = "rtol" if rtol is None else "atol"
            raise ValueError(f"'rtol' and 'atol' have to be given both or not at all, but got no {missing}")
        if rtol is not None and (rtol < 0 or atol < 0):
            raise RuntimeError(f"assert_close: tolerances must not be negative, got rtol={rtol} and atol={atol}")
        self.rtol, self.atol = rtol, atol
        vars(self).update(others)

    def tolerances(self, defaults):
        """(rtol, atol): those given, or the larger ones of `defaults`."""
        if self.rtol is not None:
            return self.rtol, self.atol
        return max(rtol for rtol, _ in defaults), max(atol for _, atol in defaults)


class _Mismatch(Exception):
    """Two things that do not agree: the type of the error to raise, its text, and where they stand."""

    def __init__(self, text, place=(), kind=AssertionError):
        super().__init__(text)
        self.text, self.place, self.kind = text, place, kind

    def error(self, msg):
        """What assert_close() raises."""
        text = self.text
        if self.place:
            text += f"\n\nThat is item {''.join(f'[{part!r}]' for part in self.place)}"
        if self.kind is AssertionError and msg is not None:
            text = msg(text) if callable(msg) else msg
        return self.kind(text)


def _numpy():
    return sys.modules.get("numpy")


def _as_number(value):
    """Numbers of NumPy as those of Python."""
    numpy = _numpy()
    return value.item() if numpy is not None and isinstance(value, (numpy.number, numpy.bool_)) else value


def _is_array(value):
    return _numpy() is not None and isinstance(value, _numpy().ndarray)


def _is_related(actual, expected, settings):
    """Both tensors, or both arrays."""
    if not settings.allow_subclasses and type(actual) is not type(expected):
        return False
    both = isinstance(actual, _C.Tensor) and isinstance(expected, _C.Tensor)
    return both or (_is_array(actual) and _is_array(expected))


def _pairs(actual, expected, settings, place):
    """(compare, actual, expected, place) for all that stands in two containers; _Mismatch where their forms differ."""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        yield from _pairs_of_mappings(actual, expected, settings, place)
        return
    is_sequence = [isinstance(value, Sequence) and not isinstance(value, str) for value in (actual, expected)]
    if all(is_sequence):
        if len(actual) != len(expected):
            raise _Mismatch(f"The sequences have different lengths: {len(actual)} != {len(expected)}", place)
        for index, (mine, theirs) in enumerate(zip(actual, expected)):
            yield from _pairs(mine, theirs, settings, (*place, index))
        return
    yield _comparison(actual, expected, settings, place), actual, expected, place


def _pairs_of_mappings(actual, expected, settings, place):
    missing, additional = expected.keys() - actual.keys(), actual.keys() - expected.keys()
    if missing or additional:
        raise _Mismatch(
            "The mappings have different keys.\n"
            f"Missing in actual: {sorted(missing, key=repr)}\n"
            f"Missing in expected: {sorted(additional, key=repr)}",
            place,
        )
    for key in actual:
        yield from _pairs(actual[key], expected[key], settings, (*place, key))


def _comparison(actual, expected, settings, place):
    """The function that compares two values of this kind."""
    mine, theirs = _as_number(actual), _as_number(expected)
    if actual is None or expected is None:
        return _compare_none
    if isinstance(mine, bool) and isinstance(theirs, bool):
        return _compare_bools
    if isinstance(mine, (int, float, complex)) and isinstance(theirs, (int, float, complex)):
        return _compare_numbers
    if _is_related(actual, expected, settings):
        return _compare_tensors
    raise _Mismatch(f"assert_close: cannot compare {type(actual)} with {type(expected)}", place, TypeError)


def _compare_none(actual, expected, settings):
    if actual is not expected:
        raise _Mismatch(f"One is None: {actual} is not {expected}")


def _compare_bools(actual, expected, settings):
    if bool(actual) is not bool(expected):
        raise _Mismatch(f"The bools differ: {bool(actual)} is not {bool(expected)}")


def _compare_numbers(actual, expected, settings):
    actual, expected = _as_number(actual), _as_number(expected)
    if settings.check_dtype and type(actual) is not type(expected):
        raise _Mismatch(f"The types differ: {type(actual)} != {type(expected)}")
    rtol, atol = settings.tolerances([_OF_NUMBERS[type(value)] for value in (actual, expected)])
    _compare_scalars(actual, expected, rtol, atol, settings.equal_nan)


def _compare_scalars(actual, expected, rtol, atol, equal_nan):
    difference = abs(actual - expected)
    both_nan = actual != actual and expected != expected
    if actual == expected or (equal_nan and both_nan):
        return
    if not math.isinf(abs(expected)) and difference <= atol + rtol * abs(expected):
        return
    relative = difference / abs(expected) if expected != 0 else math.inf
    exact = rtol == atol == 0
    allowed = ("", "") if exact else (f" (up to {atol} allowed)", f" (up to {rtol} allowed)")
    raise _Mismatch(
        f"Scalars are not {'equal' if exact else 'close'}: {expected} was expected, got {actual}.\n\n"
        f"Absolute difference: {difference}{allowed[0]}\nRelative difference: {relative}{allowed[1]}"
    )


def _check_attributes(actual, expected, settings):
    def check(name, mine, theirs):
        if mine != theirs:
            raise _Mismatch(f"The attribute '{name}' differs: {mine} != {theirs}")

    check("shape", actual.shape, expected.shape)
    if settings.check_layout:
        check("layout", actual.layout, expected.layout)
    if settings.check_device:
        check("device", actual.device, expected.device)
    if settings.check_dtype:
        check("dtype", actual.dtype, expected.dtype)
    if settings.check_stride and not actual.is_sparse and not expected.is_sparse:
        check("stride()", actual.stride(), expected.stride())


@no_grad()
def _compare_tensors(actual, expected, settings):
    if _is_array(actual):
        actual, expected = _C.as_tensor(actual), _C.as_tensor(expected)
    _check_attributes(actual, expected, settings)
    if actual.is_meta or expected.is_meta:
        return  # no values
    rtol, atol = settings.tolerances([TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)])
    if actual.dtype != expected.dtype:
        dtype = _C.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(dtype), expected.to(dtype)
    if actual.is_sparse and expected.is_sparse:
        _compare_sparse(actual, expected, rtol, atol, settings.equal_nan)
        return
    _compare_values(actual.to_dense(), expected.to_dense(), rtol, atol, settings.equal_nan)


def _compare_sparse(actual, expected, rtol, atol, equal_nan):
    if actual.is_coalesced() != expected.is_coalesced():
        actual, expected = actual.coalesce(), expected.coalesce()
    if actual._nnz() != expected._nnz():
        raise _Mismatch(f"The sparse tensors have different numbers of entries: {actual._nnz()} != {expected._nnz()}")
    _compare_values(actual._indices(), expected._indices(), 0.0, 0.0, False, "Indices of sparse tensors")
    _compare_values(actual._values(), expected._values(), rtol, atol, equal_nan, "Values of sparse tensors")


def _compare_values(actual, expected, rtol, atol, equal_nan, name="Tensors"):
    close = _C.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if close.all():
        return
    if actual.dim() == 0:
        _compare_scalars(_plain(actual), _plain(expected), rtol, atol, equal_nan)
    wrong, count = int((~close).sum()), actual.numel()
    if not actual.is_floating_point() and not actual.is_complex():
        actual, expected = actual.long(), expected.long()
    difference = (actual - expected).abs().masked_fill(close, 0)
    relative = (difference / expected.abs()).masked_fill(close, 0)
    exact = rtol == atol == 0
    text = f"{name} are not {'equal' if exact else 'close'}.\n\n"
    text += f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})\n"
    for what, values, allowed in (("absolute", difference, atol), ("relative", relative, rtol)):
        at = int(values.flatten().argmax())
        text += f"Greatest {what} difference: {values.flatten()[at].item()} at index {_index(at, actual.shape)}"
        text += "\n" if exact else f" (up to {allowed} allowed)\n"
    raise _Mismatch(text.rstrip("\n"))


def _plain(tensor):
    value = tensor.item()
    return int(value) if isinstance(value, bool) else value


def _index(place, sizes):
    """The index of an element that is number `place` in row-major order."""
    index = []
    for size in reversed(sizes):
        index.append(place % size)
        place //= size
    return tuple(reversed(index))


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """AssertionError unless |actual - expected| <= atol + rtol * |expected| for all elements.

    Tensors, NumPy arrays, numbers, bools and None, and sequences and mappings of them. Tolerances depend on the dtype:
    (rtol, atol) of float16 (1e-3, 1e-5), bfloat16 (1.6e-2, 1e-5), float32 (1.3e-6, 1e-5), float64 (1e-7, 1e-7), of
    complex ones those of their parts, of others 0. Shapes are compared always, devices, dtypes, layouts and strides as
    the flags say. `msg`: a text to raise
    instead, or a function of the one there is. TypeError for what cannot be compared, ValueError for one tolerance
    without the other.
    """
    settings = _Settings(
        rtol,
        atol,
        allow_subclasses=allow_subclasses,
        equal_nan=equal_nan,
        check_device=check_device,
        check_dtype=check_dtype,
        check_layout=check_layout,
        check_stride=check_stride,
    )
    try:
        # All forms are compared before the first value.
        for compare, mine, theirs, place in list(_pairs(actual, expected, settings, ())):
            try:
                compare(mine, theirs, settings)
            except _Mismatch as found:
                found.place = place
                raise
    except _Mismatch as found:
        error = found.error(msg)
    else:
        return
    raise error


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """The older assert_close(): with wider tolerances, without a look at dtypes; it warns."""
    import warnings

    warnings.warn("torch.testing.assert_allclose() is torch.testing.assert_close() now", FutureWarning, stacklevel=2)
    actual = actual if isinstance(actual, _C.Tensor) else _C.tensor(actual)
    expected = expected if isinstance(expected, _C.Tensor) else actual.new_tensor(expected)
    if rtol is None and atol is None:
        defaults = [_LEGACY.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = max(r for r, _ in defaults), max(a for _, a in defaults)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)

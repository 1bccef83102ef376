"""Binding a call into frame slots: the same as CPython, or a refusal exactly where CPython raises."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minidynamo import _C

bind = _C._guards.bind


def plain(a, b):
    c = a
    return c, b, locals()


def defaults(a, b=2, c=3):
    return locals()


def everything(a, b=2, /, c=3, *rest, k, m=5, **others):
    return locals()


def only_keywords(*, k, m=1):
    return locals()


def packed(*rest, **others):
    return locals()


def positional_only(a, /, **others):
    return locals()


def captured_parameter(a, b=1):
    def inner():
        return a

    return {"a": a, "b": b}


def closure():
    n = 7

    def fn(a, *, k=n):
        assert n == 7
        return {"a": a, "k": k, "n": n}

    return fn


def wide(
    p0,
    p1,
    p2,
    p3,
    p4,
    p5,
    p6,
    p7,
    p8,
    p9,
    p10,
    p11,
    p12,
    p13,
    p14,
    p15,
    p16,
    p17,
    p18,
    p19,
    p20,
    p21,
    p22,
    p23,
    p24,
    p25=25,
    p26=26,
):
    return locals()


FUNCTIONS = [plain, defaults, everything, only_keywords, packed, positional_only, captured_parameter, closure(), wide]


def bound_names(fn, args, kwargs):
    """Names to values as bind() lays them out, or None."""
    slots = bind(fn, *args, **kwargs)
    if slots is None:
        return None
    code = fn.__code__
    assert len(slots) == len(set(code.co_varnames + code.co_cellvars + code.co_freevars))
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    found = dict(zip(code.co_varnames[:count], slots))
    # Locals and cells that are not parameters are unbound at entry; free slots hold the closure's cells.
    free = len(code.co_freevars)
    assert all(s is ... for s in slots[count : len(slots) - free])
    for name, cell, expected in zip(code.co_freevars, slots[len(slots) - free :], fn.__closure__ or ()):
        assert cell is expected
        found[name] = cell.cell_contents
    return found


def called(fn, args, kwargs):
    try:
        return (
            {k: v for k, v in fn(*args, **kwargs).items()}
            if fn is not plain
            else dict(zip("ab", fn(*args, **kwargs)[:2]))
        )
    except TypeError:
        return None


names = st.sampled_from(["a", "b", "c", "k", "m", "rest", "others", "zz", "p25"])


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(FUNCTIONS), st.lists(st.integers(), max_size=6), st.dictionaries(names, st.integers(), max_size=4)
)
def test_binding_agrees_with_cpython(fn, args, kwargs):
    assert bound_names(fn, args, kwargs) == called(fn, args, kwargs)


@pytest.mark.parametrize("count", [24, 25, 26, 27, 28])
def test_more_parameters_than_fit_inline(count):
    args = list(range(count))
    assert bound_names(wide, args, {}) == called(wide, args, {})


def test_changed_defaults_are_used():
    def fn(a, b=1, *, k=2):
        return locals()

    fn.__defaults__ = (5, 6)
    fn.__kwdefaults__ = {"k": 7}
    assert bound_names(fn, (), {}) == {"a": 5, "b": 6, "k": 7} == called(fn, (), {})
    fn.__kwdefaults__ = None
    assert bound_names(fn, (), {}) is None is called(fn, (), {})


def test_values_are_borrowed_not_leaked():
    import sys

    o = object()
    before = sys.getrefcount(o)
    for _ in range(10):
        bind(everything, o, o, k=o, zz=o)
        bind(everything, o, o, zz=o)
    assert sys.getrefcount(o) == before

"""Programs that contain every instruction of CPython between them (test_every_opcode.py runs them).

Not in the test module itself: pytest rewrites the assert statements of those.
"""

import asyncio
import sys

COUNT = 0


class Box:
    def __init__(self, v):
        self.v = v

    def double(self):
        return self.v * 2


class Child(Box):
    def double(self):
        return super().double() + 1


class Point:
    __match_args__ = ("a",)

    def __init__(self, a):
        self.a = a


class Manager:
    def __enter__(self):
        return 2

    def __exit__(self, *exc):
        return True


def numbers(a):
    sent = yield a
    yield sent


def delegated(a):
    yield from numbers(a)


def stack_and_locals(a):
    b = c = a + 1
    b, c = c, b
    b, c, d = c, b, a
    e, f = 1, d
    del e
    for i in (0, 1):
        last = i
    return b - c + f, last, -a, +a, ~b.bool(), not b.dim()


def cells(a):
    kept, gone = a, 1
    del gone

    def inner(y, scale=2, *, shift: int = 1):
        nonlocal kept
        kept = kept + y
        return kept * scale + shift

    if a.dim() > 5:
        gone = 3

    def other():
        return gone

    return inner(a), kept, other.__name__


def names(a):
    import math
    from math import floor

    global COUNT
    COUNT = floor(math.pi)
    return a + COUNT


def attributes(a):
    box = Box(a)
    box.v = box.v + 1
    box.w = 3
    del box.w
    return box.double(), Child(a).double(), hasattr(box, "w")


def displays(a, *args):
    items = [a, *args, 3]
    lower, *middle, upper = (1, 2, 3, 4)
    first, second = items[0], items[1:]
    named = {"a": 1, **{"b": 2}}
    more = {"k": lower, "l": upper}
    other = {a.dim(): 1, 2: 3}
    some, doubled, by_key = {1, *middle, len(args)}, {n * 2 for n in (1, 2)}, {n: n + 1 for n in (1, 2)}
    squares = [n * n for n in middle]
    constants = {1, 2, 3}
    items[0] = first * 2
    items[1:2] = [7, 8]
    del items[-1]
    return (
        items,
        named,
        more,
        other,
        sorted(some),
        sorted(doubled),
        by_key,
        squares,
        constants,
        second,
        a[0:2],
        a[0:3:2],
    )


def strings(a):
    n = a.shape[0]
    return f"{n}", f"{n!r:>4}", f"<{n:03d}{n!s}>", a + n


def called(*args, **kwargs):
    return args, kwargs


def calls(a):
    extra, named = (1, 2), {"k": 3}
    return called(a, k=1), called(*extra, a), called(a, *extra, z=5, **named), a.sum(dim=0)


def jumps(a, n=None):
    total = 0
    if n is None:
        total += 1
    if n is not None:
        total += 2
    while True:
        total += 1
        if total >= 4:
            break
    while total is not None and total < 6:
        total += 1
    m = 3
    while m is not None:
        m = None if m == 1 else m - 1
    while m is None:
        m = 2
    while not (total > 7):
        total += 1
    both = total > 3 and total or 7
    return a + both, total is None, 3 in (1, total), 2 not in (1, total), 1 < total <= 9


def raised(a):
    try:
        try:
            raise ValueError("one") from None
        except (TypeError, KeyError):
            return a
        finally:
            a = a + 1
    except ValueError as error:
        a = a * 2 if error.args == ("one",) else a
    assert a.dim() != 4, "four"  # one that fails ends the graph: GB0034
    return a


def managed(a):
    with Manager() as n:
        a = a * n
        raise KeyError(n)
    with Manager() as n:
        a = a * n
    return a


def matched(a, subjects):
    found = []
    for subject in subjects:
        match subject:
            case {"k": v}:
                found.append(v)
            case [first, *_]:
                found.append(first)
            case Point(v):
                found.append(v)
            case None:
                found.append(0)
    return a + len(found), found


def generated(a):
    g = delegated(a)
    first = next(g)
    return first, list(g), [y * 2 for y in (v for v in (a, first))], list(numbers(a))


def comprehended(a):
    b = 2
    pairs = [(b, n) for b in (1, 2) for n in (3,)]
    return a * b, pairs, (lambda v, /: v + b)(a)


PROGRAMS = [
    (stack_and_locals, ()),
    (cells, ()),
    (names, ()),
    (attributes, ()),
    (displays, (4, 5)),
    (strings, ()),
    (calls, ()),
    (jumps, ()),
    (raised, ()),
    (managed, ()),
    (matched, ([{"k": 1}, [2, 3], Point(4), None],)),
    (generated, ()),
    (comprehended, ()),
]

# --- What ends a graph


def class_statement(a):
    class Made(Box):
        extra = 2

    return Made(a).v * Made.extra


def grouped(a):
    try:
        raise ExceptionGroup("two", [ValueError(1), KeyError(2)])
    except* ValueError as group:
        a = a + len(group.exceptions)
    except* KeyError:
        a = a * 3
    return a


def forgotten(a):
    global COUNT
    COUNT = 2
    a = a * COUNT
    del COUNT
    return a + 1


async def numbers_later(a):
    for n in range(3):
        yield a + n


class Later:
    async def __aenter__(self):
        return 3

    async def __aexit__(self, *exc):
        return False


async def awaited(a):
    async with Later() as n:
        a = a * n
    async for v in numbers_later(a):
        a = a + v
    return [await asyncio.sleep(0, result=v) async for v in numbers_later(a)]


def asynchronous(a):
    return asyncio.run(awaited(a + 1))


MODULE = """
from math import *
limit: int = 3
total = 0
for n in range(limit):
    total = total + n
del n
class Named:
    total = total + 1
def outer(seen):
    class Inner:
        found = seen
    return Inner.found
result = a + total + Named.total + outer(2) + floor(pi)
"""
MODULE_CODE = compile(MODULE, "<module>", "exec")


def module(a):
    scope = {"a": a * 2}
    exec(MODULE_CODE, scope)
    return scope["result"] + 1


def generic(a):
    scope = {"a": a * 2}
    exec(GENERIC_CODE, scope)
    return scope["result"]


GENERIC = """
def outer(b):
    class Named[T: int]:
        size = b
        type Inner = list[int]
        def twice[V](self, v: V) -> V:
            return v + v
    type Alias = Named[int]
    return Named().twice(b) + Named.size
result = outer(a)
"""

ASYNC = ("GET_AWAITABLE", "GET_AITER", "GET_ANEXT", "BEFORE_ASYNC_WITH", "END_ASYNC_FOR", "ASYNC_GEN_WRAP")
NAMES = ("LOAD_NAME", "STORE_NAME", "DELETE_NAME", "SETUP_ANNOTATIONS", "IMPORT_STAR", "LOAD_CLASSDEREF")
ENDING = [
    (class_statement, ("LOAD_BUILD_CLASS",), {"GB0075"}),
    (forgotten, ("DELETE_GLOBAL",), {"GB0082"}),
    (grouped, ("CHECK_EG_MATCH", "PREP_RERAISE_STAR"), {"GB0082"}),
    (asynchronous, (*ASYNC, "CLEANUP_THROW"), {"GB0082"}),
    (module, (*NAMES, "LOAD_LOCALS"), {"GB0059"}),
]
if sys.version_info >= (3, 12):
    GENERIC_CODE = compile(GENERIC, "<generic>", "exec")
    ENDING.append((generic, ("LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS", "CALL_INTRINSIC_2"), {"GB0059"}))

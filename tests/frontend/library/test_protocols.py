"""Builtin functions and methods call back in CPython's order and use what a class of the program offers."""

import collections

import pytest

from .programs import check, check_expression, lines


class EQ:
    def __init__(s, v, seen):
        s.v = v
        s.seen = seen

    def __eq__(s, o):
        s.seen.append((s.v, o.v))
        return s.v == o.v


class LT:
    def __init__(s, v, seen):
        s.v = v
        s.seen = seen

    def __lt__(s, o):
        s.seen.append(("lt", s.v, o.v))
        return s.v < o.v

    def __gt__(s, o):
        s.seen.append(("gt", s.v, o.v))
        return s.v > o.v


class IX:
    def __index__(s):
        return 1


class LEN:
    def __len__(s):
        return 2

    def __getitem__(s, i):
        if i > 1:
            raise IndexError
        return i * 10


class MAP:
    def keys(s):
        return ["a", "b"]

    def __getitem__(s, k):
        return k * 2


class ITER:
    def __iter__(s):
        return iter([1, 2])


class BADITER:
    def __iter__(s):
        return 3


class REV(LEN):
    def __reversed__(s):
        return iter("r")


class RND:
    def __round__(s, n=None):
        return ("r", n)

    def __abs__(s):
        return "abs"

    def __divmod__(s, o):
        return ("dm", o)

    def __pow__(s, o, m=None):
        return ("pow", o, m)

    def __int__(s):
        return 5

    def __float__(s):
        return 2.5

    def __complex__(s):
        return 1j

    def __bytes__(s):
        return b"x"

    def __trunc__(s):
        return 7

    def __floor__(s):
        return 8

    def __ceil__(s):
        return 9

    def __format__(s, f):
        return "F" + f

    def __contains__(s, v):
        return v == 1

    def __length_hint__(s):
        return 3

    def __neg__(s):
        return "neg"

    def __invert__(s):
        return "inv"

    def __dir__(s):
        return ["z", "a"]


def map_lazy(x):
    seen = []
    for v in map(lambda a: seen.append(("m", a)) or a, (seen.append(("g", i)) or i for i in range(3))):
        seen.append(("v", v))
    return (x + 1, seen)


def filter_lazy(x):
    seen = []
    for v in filter(lambda a: seen.append(("m", a)) or a % 2, (seen.append(("g", i)) or i for i in range(4))):
        seen.append(("v", v))
    return (x + 1, seen)


def zip_stop(x):
    seen = []

    def g(n, k):
        for i in range(k):
            seen.append((n, i))
            yield i

    return (x + 1, list(zip(g("a", 3), g("b", 2))), seen)


def any_short(x):
    seen = []
    r = (any(seen.append(i) or i == 1 for i in range(4)), all(seen.append(i) or i < 1 for i in range(4)))
    return (x + 1, r, seen)


def sum_order(x):
    seen = []
    values = [seen.append(i) or i for i in range(3)]
    return (x + sum(seen.append(("s", i)) or i for i in values), seen)


def dict_update_lazy(x):
    d = {}
    seen = []

    def g():
        for i in range(3):
            seen.append((i, len(d)))
            yield (i, i)

    d.update(g())
    return (x + 1, d, seen)


def list_extend_self(x):
    seen = [1, 2]
    seen.extend(seen)
    seen += seen
    return (x + 1, seen)


def list_extend_gen(x):
    seen = [0]

    def g():
        for i in range(3):
            yield (i, len(seen))

    seen.extend(g())
    return (x + 1, seen)


def list_init_gen(x):
    seen = []

    def g():
        for i in range(3):
            seen.append(i)
            yield len(seen)

    return (x + 1, list(g()), tuple(g()), seen)


def sort_key_order(x):
    seen = []
    r = sorted([3, 1, 2], key=lambda v: seen.append(v) or -v)
    return (x + 1, r, seen)


def list_mut_iter(x):
    seen = [1, 2, 3]
    s = []
    for v in seen:
        s.append(v)
        if len(seen) < 6:
            seen.append(v * 10)
    return (x + 1, seen, s)


def extend_exc(x):
    seen = [0]

    def g():
        yield 1
        raise ValueError("x")

    try:
        seen.extend(g())
    except ValueError as e:
        seen.append(str(e))
    return (x + 1, seen)


def slice_assign_exc(x):
    seen = [0, 5]

    def g():
        yield 1
        raise ValueError("x")

    try:
        seen[0:1] = g()
    except ValueError as e:
        seen.append(str(e))
    return (x + 1, seen)


def set_update_exc(x):
    seen = {0}

    def g():
        yield 1
        raise ValueError("x")

    try:
        seen.update(g())
    except ValueError as e:
        seen.add(str(e))
    return (x + 1, seen)


def dict_update_exc(x):
    seen = {0: 1}

    def g():
        yield (1, 2)
        raise ValueError("x")

    try:
        seen.update(g())
    except ValueError as e:
        seen["e"] = str(e)
    return (x + 1, seen)


def deque_extend_exc(x):
    seen = collections.deque([0])

    def g():
        yield 1
        raise ValueError("x")

    try:
        seen.extend(g())
    except ValueError as e:
        seen.append(str(e))
    return (x + 1, seen)


def join_gen_exc(x):
    seen = []
    try:
        ",".join(seen.append(i) or str(i // (2 - i)) for i in range(4))
    except ZeroDivisionError:
        seen.append("z")
    return (x + 1, seen)


def eq_user(x):
    seen = []
    a, b = (EQ(1, seen), EQ(2, seen))
    return (x + 1, [a, b].index(b), [a, b].count(a), b in (a, b), [a] == [b], seen)


def max_user(x):
    seen = []
    m = max([LT(1, seen), LT(3, seen), LT(2, seen)])
    n = min([LT(1, seen), LT(3, seen), LT(2, seen)])
    return (x + 1, m.v, n.v, seen)


@pytest.mark.parametrize(
    "program",
    [
        map_lazy,
        filter_lazy,
        zip_stop,
        any_short,
        sum_order,
        dict_update_lazy,
        list_extend_self,
        list_extend_gen,
        list_init_gen,
        sort_key_order,
        list_mut_iter,
        extend_exc,
        slice_assign_exc,
        set_update_exc,
        dict_update_exc,
        deque_extend_exc,
        join_gen_exc,
        eq_user,
        max_user,
    ],
)
def test_order(program):
    check(program)


EXPRESSIONS = r"""
    [1,2,3][IX()]
    (1,2,3)[IX()]
    range(IX())
    [1]*IX()
    list(LEN())
    reversed(LEN()).__next__()
    list(reversed(LEN()))
    list(reversed(REV()))
    iter(LEN()).__next__()
    20 in LEN()
    dict(MAP())
    {}.update(MAP())
    list(ITER())
    tuple(ITER())
    [*ITER()]
    set(ITER())
    sum(ITER())
    max(ITER())
    sorted(ITER())
    list(zip(ITER(),LEN()))
    dict.fromkeys(ITER())
    "".join(str(v) for v in ITER())
    a if (a:=list(enumerate(ITER()))) else 0
    round(RND())
    round(RND(),2)
    abs(RND())
    divmod(RND(),3)
    pow(RND(),2)
    int(RND())
    float(RND())
    format(RND(),"x")
    f"{RND():y}"
    1 in RND()
    -RND()
    ~RND()
    len(LEN())
    bool(LEN())
    len(ITER())
    iter(3)
    operator.index(IX())
    any(ITER())
    all(LEN())
    list(map(lambda v:v+1,ITER()))
    list(filter(None,LEN()))
    min(LEN(),default=3)
    list(itertools.chain(ITER(),LEN()))
    list(itertools.product(ITER(),repeat=2))
    collections.deque(ITER())
    frozenset(ITER())
    [1,2].__contains__(IX())
    isinstance(IX(),collections.abc.Iterable)
    "%s"%IX
    str(IX)
    divmod(3,RND())
"""


@pytest.mark.parametrize("expression", lines(EXPRESSIONS))
def test_expression(expression):
    check_expression(globals(), "pass", expression)

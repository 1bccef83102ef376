"""The language: each program runs plain and compiled; results, state, output, graphs and breaks are compared."""

import collections
import contextlib
import enum
import functools
import math

import pytest

import minidynamo as torch
from frontend.differential import same

SCALE = 3


def x():
    return torch.tensor([1.0, 2.0, 3.0])


def one():
    return (x(),)


class Point:
    kind = "point"

    def __init__(self, v, w=2):
        self.v = v
        self.w = w

    @property
    def doubled(self):
        return self.v * 2

    @doubled.setter
    def doubled(self, value):
        self.v = value / 2

    def shifted(self, by, *more, sign=1, **named):
        return self.v + sign * by + len(more) + named.get("z", 0)

    @classmethod
    def make(cls, v):
        return cls(v, w=5)

    @staticmethod
    def twice(v):
        return v + v

    def __add__(self, other):
        return Point(self.v + other, self.w)

    def __radd__(self, other):
        return Point(other + self.v, -self.w)

    def __getitem__(self, k):
        return self.v[k]

    def __len__(self):
        return 3

    def __contains__(self, k):
        return k == self.w

    def __call__(self, v):
        return self.v * v


class Deep(Point):
    def shifted(self, by, **named):
        return super().shifted(by, **named) * 10


Pair = collections.namedtuple("Pair", "first second", defaults=[7])


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def test_straight_line():
    same(lambda a: a * 2 + 1, one, frames=1, ops=2, breaks=[])


def test_for_and_while():
    def f(a):
        total = 0
        for i in range(4):
            if i == 2:
                continue
            total = total + a * i
        else:
            total = total + 1
        n = 3
        while n:
            n -= 1
            if n == 1:
                break
            total = total - n
        return total, n

    same(f, one, frames=1, breaks=[])


def test_call_forms():
    def callee(a, /, b, c=3, *rest, d, e=5, **named):
        return a * b + c + sum(rest) + d + e + sum(named.values())

    def f(a):
        extra = {"d": 4, "q": 1}
        return callee(a, 2, d=1), callee(a, 2, 3, 4, 5, **extra), callee(*[a, 2], **{"d": 3, "e": 1})

    same(f, one, frames=1, breaks=[])


@pytest.mark.parametrize("bad", [{"d": 1}, {"a": 1, "b": 2, "d": 1}, {"zz": 1, "b": 1, "d": 1}])
def test_wrong_call_raises_as_plain(bad):
    def callee(a, /, b, *, d):
        return a

    same(lambda v: callee(v, **bad), one)


def test_closures_and_nonlocal():
    def f(a):
        count = 0

        def add(k):
            nonlocal a, count
            count += 1
            a = a + k
            return lambda: a * count

        late = add(1)
        add(2)
        return a, count, late()

    same(f, one, frames=1, breaks=[])


def test_returned_closure_keeps_its_cells():
    def f(a):
        b = a + 1

        def inner(k=4):
            return b * k

        return inner

    compiled = torch.compile(f, backend="eager")
    assert compiled(x())(2).tolist() == [4.0, 6.0, 8.0]
    assert compiled(x())().tolist() == [8.0, 12.0, 16.0]


def test_globals_are_written():
    def f(a):
        global SCALE
        SCALE = SCALE + 1
        return a * SCALE

    global SCALE
    before = SCALE
    try:
        plain = f(x()).tolist()
        SCALE = before
        compiled = torch.compile(f, backend="eager")
        assert compiled(x()).tolist() == plain
        assert SCALE == before + 1
        assert compiled(x()).tolist() == (x() * (before + 2)).tolist()
    finally:
        SCALE = before


def test_containers():
    def f(a):
        d = {"k": a, 1: [a, (a,)]}
        d["z"] = d.pop("k") + 1
        d.setdefault("s", []).append(3)
        items = [1, 2, *[3, 4]]
        items.insert(1, a)
        items.reverse()
        del items[0]
        s = {1, 2} | {3}
        s.discard(2)
        first, *middle, last = items
        return d, items, s, first, middle, last, items[1:], items[::-1], {**d, "q": 1}, (1, *items)

    same(f, one, frames=1, breaks=[])


def test_identity_and_aliasing_survive():
    def f(a, items):
        items.append(items[0])
        b = [a]
        return b, b, a, items, (b, [b])

    same(f, lambda: (x(), [[1], 2]), breaks=[])


def test_mutated_arguments():
    def f(items, table, group, p, a):
        items.append(a + 1)
        items[0] = 5
        table["new"] = a * 2
        del table["old"]
        group.add(9)
        p.v = p.v + a
        p.fresh = "yes"
        p.doubled = p.doubled + 2
        del p.w
        return len(items), len(table), len(group)

    same(f, lambda: ([1, 2], {"old": 1, "kept": x()}, {1, 2}, Point(x()), x()), frames=1, breaks=[])


def test_objects_and_methods():
    def f(p, a):
        q = Point.make(a)
        r = p + 1
        s = 2 + q
        return (
            p.shifted(1, 2, sign=-1, z=4),
            q.w,
            r.v,
            s.w,
            Point.twice(a),
            p[0],
            len(p),
            2 in p,
            p(a),
            p.kind,
            hasattr(p, "nothing"),
            getattr(p, "nothing", 4),
            isinstance(p, Point),
            type(q) is Point,
        )

    same(f, lambda: (Point(x()), x()), frames=1, breaks=[])


def test_super_and_new_objects_escape():
    def f(a):
        d = Deep(a)
        d.other = [d.w]
        return d.shifted(1), d

    same(f, one, frames=1, breaks=[])


def test_named_tuples_and_enums():
    def f(p, c, a):
        q = Pair(a, second=2)._replace(first=a + 1)
        return q, p.second, p[0], Pair(1), c is Color.RED, c.value if c == Color.BLUE else c.name

    same(f, lambda: (Pair(1, 2), Color.RED, x()), frames=1, breaks=[])


def test_comprehensions_and_builtins():
    def f(a):
        return (
            [a + i for i in range(3) if i],
            {k: a * k for k in (1, 2)},
            {k % 2 for k in range(5)},
            sum(a * k for k in range(3)),
            list(zip([1, 2], "ab")),
            list(enumerate([4, 5], 1)),
            list(map(lambda v: v + 1, [1, 2])),
            list(filter(None, [0, 1])),
            sorted([3, 1, 2], key=lambda v: -v),
            max([1, 5, 3]),
            min(2, 1, key=lambda v: -v),
            any([0, 1]),
            all([]),
            abs(-2),
            divmod(7, 2),
            round(2.567, 1),
            list(reversed([1, 2])),
            functools.reduce(lambda p, q: p * q, [1, 2, 3]),
            math.sqrt(4.0),
        )

    same(f, one, frames=1, breaks=[])


def test_strings():
    def f(a):
        name = "n"
        return (
            f"{name!r}:{3.14159:.2f}|{a.shape[0]:>4}|{'x' * 3}",
            "a,b".split(","),
            "-".join(str(i) for i in range(3)),
            "%d" % 4,  # noqa: UP031,
        )

    same(lambda a: (f(a), a + 1), one, frames=1, breaks=[])


@pytest.mark.parametrize("given", ["é", 3, ["a"]], ids=["text", "int", "list"])
def test_text_methods_must_return_text(given):
    class Odd:
        def __str__(self):
            return given if given != ["a"] else [given]

        __repr__ = __str__

        def __format__(self, spec):
            return given

    class NoFormat:
        __repr__ = Odd.__repr__

    def written(a, odd):
        return a + 1, f"{odd}{1}"

    def converted(a, odd):
        return a + 1, f"{odd!s}", f"{odd!r}", f"{odd!a}", f"{ValueError('é')!a}"

    def called(a, odd):
        return a + 1, repr(odd)

    for f in (written, converted, called):
        for cls in (Odd, NoFormat):
            same(f, lambda cls=cls: (x(), cls()), breaks=[] if given == "é" else ["GB0088"])


def test_exceptions_handled_while_tracing():
    def f(a, key):
        log = []
        try:
            try:
                log.append({"k": 1}[key])
            except KeyError as e:
                log.append(str(e))
                raise ValueError("outer") from e
            else:
                log.append("else")
            finally:
                log.append("finally")
        except ValueError as e:
            log.append((type(e).__name__, e.args))
        return a + len(log), log

    same(f, lambda: (x(), "k"), breaks=[])
    same(f, lambda: (x(), "missing"), breaks=[])


def test_exception_leaves_the_function():
    def inner(a, n):
        if n > 1:
            raise ValueError(f"bad {n}")
        return a + n

    def f(a):
        b = a * 2
        return inner(b, 5)

    same(f, one, breaks=["GB0088"])


def test_with_statements():
    class Log:
        def __init__(self, log, swallow):
            self.log, self.swallow = log, swallow

        def __enter__(self):
            self.log.append("in")
            return self

        def __exit__(self, kind, error, trace):
            self.log.append(kind.__name__ if kind else None)
            return self.swallow

    def f(a):
        log = []
        with Log(log, True) as one, contextlib.nullcontext(4) as four:
            log.append(one.swallow)
            a = a + four
            raise KeyError("k")
        with torch.no_grad():
            a = a * 2
        return a, log, torch.is_grad_enabled()

    same(f, one, frames=1, breaks=[])


@contextlib.contextmanager
def tagged(log):
    log.append("enter")
    try:
        yield 3
    finally:
        log.append("exit")


def test_generator_context_manager():
    def f(a):
        log = []
        with tagged(log) as n:
            a = a * n
        return a, log

    same(f, one)


def test_generators():
    def numbers(a):
        got = yield a
        yield got
        yield from [a * 2, 7]
        return 5

    def f(a):
        g = numbers(a)
        first = next(g)
        second = g.send(4)
        return first, second, list(g), next(iter([]), "none")

    same(f, one, frames=1, breaks=[])


def test_partial_and_lambdas_as_values():
    def f(a):
        add = functools.partial(lambda p, q, r=0: p + q + r, 1, r=2)
        table = {"f": add, "g": lambda v: v * 3}
        return table["f"](a), table["g"](a)

    same(f, one, frames=1, breaks=[])


def test_in_place_and_views():
    def f(a):
        b = a[1:]
        b += 10
        a[0] = 7
        a.mul_(2)
        c = a.view(3, 1)
        c.add_(1)
        return a, b, c, a is a[...]

    same(f, one, frames=1)


def test_two_arguments_that_share_memory():
    def f(a, b):
        a.add_(1)
        return a + b

    def aliased():
        base = torch.arange(6).float()
        return base[:4], base[2:]

    same(f, aliased)
    same(f, lambda: (lambda t: (t, t))(x()))

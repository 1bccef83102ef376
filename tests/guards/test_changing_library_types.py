"""State that changes between calls in objects of library types."""

import abc
import collections
import dataclasses
import functools

import minidynamo as torch
from guards.changing import agrees


def x():
    return torch.tensor([1.0, 2.0])


def test_hasattr_on_class():
    def program(call):
        class C:
            number = 1

        def g():
            pass

        g.flag = 1

        def f(x):
            return (
                x + 1,
                hasattr(C, "number"),
                hasattr(C, "nope"),
                hasattr(g, "flag"),
                hasattr(g, "nope"),
                hasattr(C(), "number"),
                hasattr([], "append"),
                hasattr(3, "real"),
                hasattr(len, "__name__"),
            )

        call(f, x())
        C.nope = 1
        g.nope = 2
        call(f, x())
        del g.flag
        call(f, x())

    agrees(program)


def test_dataclass_stuff():
    def program(call):
        @dataclasses.dataclass
        class D:
            a: float = 1.0
            b: list = dataclasses.field(default_factory=list)

            def total(self):
                return self.a + len(self.b)

        def f(x, d):
            e = D(2.0)
            d.b.append(1)
            return x * d.total() + e.total(), e, d == e

        d = D()
        for _ in range(3):
            call(f, x(), d)
        D.total = lambda self: 7
        call(f, x(), d)

    agrees(program)


def test_namedtuple_stuff():
    P = collections.namedtuple("P", "a b")

    class Q(P):
        def s(self):
            return self.a + self.b

    def program(call):
        def f(x, p):
            return x * p.a, p._replace(a=5), P(1, 2)

        def g(x, p):
            return x * p.s()

        call(f, x(), P(1, 2))
        call(f, x(), P(1, 3))
        call(f, x(), P(2, 3))
        call(g, x(), Q(1, 2))
        old = Q.s
        Q.s = lambda self: 9
        call(g, x(), Q(1, 2))
        Q.s = old

    agrees(program)


def test_partials():
    def program(call):
        def g(x, a, k=1):
            return x * a + k

        def f(x, p):
            return p(x)

        for p in (
            functools.partial(g, a=2),
            functools.partial(g, a=3),
            functools.partial(g, a=3, k=5),
            functools.partial(g, k=5, a=3),
        ):
            call(f, x(), p)
        p = functools.partial(g, a=2)

        def h(x):
            return p(x)

        call(h, x())
        p.keywords["a"] = 9
        call(h, x())

    agrees(program)


def test_bound_methods():
    def program(call):
        class C:
            def __init__(s, v):
                s.v = v

            def m(s, x):
                return x * s.v

        def f(x, m):
            return m(x)

        a, b = C(1), C(2)
        for m in (a.m, b.m, a.m):
            call(f, x(), m)
        a.v = 5
        call(f, x(), a.m)
        C.m = lambda s, x: x - s.v
        call(f, x(), a.m)
        call(f, x(), m)

    agrees(program)


def test_abc_register():
    def program(call):
        class A(abc.ABC):  # noqa: B024
            pass

        class B:
            pass

        b = B()

        def f(x):
            return x + 1 if isinstance(b, A) else x - 1

        call(f, x())
        call(f, x())
        A.register(B)
        call(f, x())

    agrees(program)


def test_property_setter():
    def program(call):
        class C:
            def __init__(s):
                s._v = 1

            @property
            def v(s):
                return s._v

            @v.setter
            def v(s, n):
                s._v = n * 2

        def f(x, o):
            o.v = 3
            return x * o.v

        o = C()
        call(f, x(), o)
        C.v = property(lambda s: 4, lambda s, n: None)
        call(f, x(), o)
        del C.v
        call(f, x(), o)

    agrees(program)


def test_del_attr():
    def program(call):
        class C:
            v = 1

        def f(x, o):
            try:
                del o.v
            except AttributeError:
                return x - 1, o.v
            return x + 1, o.v

        o = C()
        call(f, x(), o)
        o.v = 5
        call(f, x(), o)
        call(f, x(), o)
        o.v = 7
        call(f, x(), o)

    agrees(program)


def test_slots_class():
    def program(call):
        class C:
            __slots__ = ("a", "b")

        def f(x, o):
            return (x * o.a if hasattr(o, "a") else x), hasattr(o, "b")

        o = C()
        call(f, x(), o)
        o.a = 2
        call(f, x(), o)
        o.b = 2
        call(f, x(), o)
        del o.a
        call(f, x(), o)

    agrees(program)


def test_weird_keys():
    class K:
        def __hash__(s):
            return 1

        def __eq__(s, o):
            return True

    def program(call):
        def f(x, d):
            return x + 1, len(d), 1 in d

        call(f, x(), {K(): 1})
        call(f, x(), {1: 2})
        call(f, x(), {K(): 1, 2: 3})

    agrees(program)


def test_ordered_default_counter():
    def program(call):
        def f(x, d):
            return x + 1, list(d.items()), d.get("a"), len(d)

        o = collections.OrderedDict(a=1, b=2)
        call(f, x(), o)
        o.move_to_end("a")
        call(f, x(), o)
        call(f, x(), collections.Counter("abca"))
        call(f, x(), collections.defaultdict(list, a=[1]))

        def g(x, d):
            d["new"].append(1)
            return x + 1

        d = collections.defaultdict(list)
        call(g, x(), d)
        call(g, x(), d)

    agrees(program)


def test_deque_arg():
    def program(call):
        d = collections.deque([1, 2])

        def f(x):
            return x * d[0], len(d)

        call(f, x())
        d.appendleft(5)
        call(f, x())
        d.clear()
        call(f, x())

    agrees(program)


def test_list_subclass():
    class L(list):
        extra = 1

    def program(call):
        def f(x, values):
            values.append(3)
            return x * len(values) * values.extra

        values = L([1])
        call(f, x(), values)
        call(f, x(), values)
        values.extra = 5
        call(f, x(), values)

    agrees(program)


def test_generator_state():
    def program(call):
        def gen():
            yield 1
            yield 2
            yield 3

        g = gen()

        def f(x):
            return x * next(g)

        call(f, x())
        call(f, x())
        call(f, x())
        call(f, x())
        it = iter([1, 2, 3])

        def h(x):
            return x * next(it)

        call(h, x())
        call(h, x())
        call(h, x())
        call(h, x())

    agrees(program)


def test_global_counter():
    def program(call):
        scope = {"n": 0, "log": []}
        exec("def f(x):\n    global n\n    n += 1\n    log.append(n)\n    return x*n, list(log)", scope)
        for _ in range(4):
            call(scope["f"], x())
        scope["log"].clear()
        scope["n"] = 1.5
        call(scope["f"], x())

    agrees(program)


def test_nonlocal_counter():
    def program(call):
        n = 0

        def f(x):
            nonlocal n
            n += 1
            return x * n

        def reset(v):
            nonlocal n
            n = v

        call(f, x())
        call(f, x())
        reset(1.5)
        call(f, x())
        reset(True)
        call(f, x())

    agrees(program)


def test_nested_mutation():
    def program(call):
        def f(x, o):
            o["a"]["b"].append(o["c"])
            o["c"] = o["a"]["b"]
            return x * len(o["c"])

        o = {"a": {"b": [1]}, "c": []}
        for _ in range(3):
            call(f, x(), o)

    agrees(program)


def test_self_containing():
    def program(call):
        def f(x, values):
            values.append(values)
            return x * len(values), values[-1] is values

        values = []
        call(f, x(), values)
        call(f, x(), values)
        a = []
        a.append(a)
        call(f, x(), a)

    agrees(program)


def test_class_counter():
    def program(call):
        class C:
            count = 0

            def __init__(s):
                C.count += 1

        def f(x):
            C()
            return x * C.count

        for _ in range(3):
            call(f, x())

        class D:
            total = 0

        def g(x):
            D.total = D.total + 1
            return x * D.total

        for _ in range(3):
            call(g, x())

    agrees(program)


def test_function_attr_write():
    def program(call):
        def g():
            pass

        g.n = 0

        def f(x):
            g.n += 1
            return x * g.n

        for _ in range(3):
            call(f, x())

    agrees(program)

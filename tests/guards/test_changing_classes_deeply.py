"""Inheritance, special methods and shared state, changed between calls."""

import dataclasses
import functools
import gc
import weakref

import minidynamo as torch
from guards.changing import agrees


def x():
    return torch.tensor([1.0, 2.0])


def test_super_attrs():
    def program(call):
        class A:
            v = 3

            @property
            def p(s):
                return s.q

            @classmethod
            def c(k):
                return k.v

            @staticmethod
            def s():
                return 5

        class B(A):
            q = 2

            def go(s):
                return super().v, super().p, super().c(), super().s()

        def f(x):
            a, b, c, d = B().go()
            return x * a + b * c - d

        call(f, x())
        A.v = 9
        call(f, x())
        B.v = 4
        call(f, x())
        A.s = staticmethod(lambda: 50)
        call(f, x())
        B.q = 8
        call(f, x())

    agrees(program)


def test_wrapper_decorators():
    def program(call):
        def deco(fn):
            @functools.wraps(fn)
            def w(*a, **k):
                return fn(*a, **k) * 2

            return w

        @deco
        def g(x):
            return x + 1

        def f(x):
            return g(x), g.__name__, g.__wrapped__(x)

        call(f, x())
        g.__closure__[0].cell_contents = lambda x: x - 1
        call(f, x())
        g.__wrapped__ = lambda x: x * 100
        call(f, x())

    agrees(program)


def test_object_with_dict_swap():
    def program(call):
        class C:
            pass

        o = C()
        o.a = 1

        def f(x):
            return x * o.a

        call(f, x())
        o.__dict__ = {"a": 5}
        call(f, x())
        o.__dict__["a"] = 6
        call(f, x())
        o.__dict__ = {}
        C.a = 7
        call(f, x())
        p = C()
        vars(p).update(a=2)

        def g(x, o):
            o.a = o.a + 1
            return x * o.a

        call(g, x(), p)
        call(g, x(), p)
        p.__dict__ = {"a": 9}
        call(g, x(), p)

    agrees(program)


def test_two_objects_one_dict():
    def program(call):
        class C:
            pass

        def f(x, a, b):
            a.v = 5
            return x * b.v

        a, b = C(), C()
        a.v = b.v = 1
        call(f, x(), a, b)
        a, b = C(), C()
        a.v = 1
        b.__dict__ = a.__dict__
        call(f, x(), a, b)

    agrees(program)

    def program2(call):
        class C:
            pass

        def f(x, a, b):
            a.v = 5
            return x * b.v

        a, b = C(), C()
        a.v = 1
        b.__dict__ = a.__dict__
        call(f, x(), a, b)

    agrees(program2)


def test_effects_and_exceptions():
    def program(call):
        def f(x, values):
            values.append(1)
            if len(values) > 2:
                raise ValueError(len(values))
            return x * len(values)

        values = []
        for _ in range(4):
            call(f, x(), values)

        def g(x, values):
            values.append(1)
            y = x.reshape(3)
            return y

        values = []
        call(g, x(), values)
        call(g, torch.ones(3), values)

    agrees(program)


def test_iter_exhaust():
    def program(call):
        def f(x, it):
            for v in it:
                x = x * v
            return x

        for it in ([1, 2], (1, 2), range(1, 3), {1: 0, 2: 0}, iter([1, 2]), map(abs, [1, 2]), (i for i in (1, 2))):
            call(f, x(), it)

    agrees(program)


def test_fstrings_format():
    def program(call):
        class C:
            def __str__(s):
                return "s"

        o = C()

        def f(x):
            return x + 1, f"{o}", str(o), f"{3}"

        call(f, x())
        C.__str__ = lambda s: "t"
        call(f, x())
        C.__format__ = lambda s, q: "q"
        call(f, x())
        del C.__str__
        C.__repr__ = lambda s: "r"
        del C.__format__
        call(f, x())

    agrees(program)


def test_operators_added():
    def program(call):
        class A:
            def __add__(s, o):
                return 1

        class B(A):
            pass

        a, b = A(), B()

        def f(x):
            return x * (a + b), a == b, a != b

        call(f, x())
        B.__radd__ = lambda s, o: 2
        call(f, x())
        A.__add__ = lambda s, o: NotImplemented
        call(f, x())
        A.__eq__ = lambda s, o: True
        call(f, x())
        A.__ne__ = lambda s, o: 5
        call(f, x())

        class D:
            v = 1

            def __iadd__(s, o):
                s.v += o
                return s

        d = D()

        def g(x):
            e = d
            e += 1
            return x * e.v

        call(g, x())
        call(g, x())
        del D.__iadd__
        D.__add__ = lambda s, o: D()
        call(g, x())

    agrees(program)


def test_hash_eq_class():
    def program(call):
        @dataclasses.dataclass(frozen=True)
        class K:
            a: int

        def f(x, d, k):
            return x + 1, d.get(k), k in d

        call(f, x(), {K(1): 2}, K(1))
        call(f, x(), {K(2): 2}, K(1))

        def g(x, d):
            return x * d["a"]

        call(g, x(), {"a": 1, K(1): 3})
        call(g, x(), {"a": 2})

    agrees(program)


def test_code_identity():
    def program(call):
        def a(x):
            return x + 1

        def b(x):
            return x + 2

        def f(x, g):
            return g(x), g is a

        call(f, x(), a)
        call(f, x(), b)
        a.__code__, b.__code__ = b.__code__, a.__code__
        call(f, x(), a)
        call(f, x(), b)

    agrees(program)


def test_weakrefs():
    def program(call):
        class C:
            v = 1

        def f(x, r):
            o = r()
            return x - 1 if o is None else x * o.v

        o = C()
        r = weakref.ref(o)
        call(f, x(), r)
        C.v = 3
        call(f, x(), r)
        del o
        gc.collect()
        call(f, x(), r)

    agrees(program)


def test_big_effects():
    def program(call):
        def f(x, ls):
            for values in ls:
                values.append(1)
            return x * sum(len(values) for values in ls)

        call(f, x(), [[] for _ in range(30)])
        ls = [[] for _ in range(30)]
        ls[29] = ls[3]
        call(f, x(), ls)
        call(f, x(), [[] for _ in range(30)])

    agrees(program)


def test_dict_keys_change_type():
    def program(call):
        def f(x, d):
            for k in d:
                x = x * 2 if k is True else x + 1 if isinstance(k, float) else x - 1
            return x, list(d.items())

        for d in ({1: 1}, {True: 1}, {1.0: 1}, {"1": 1}, {None: 1}):
            call(f, x(), d)

        def g(x, d):
            d[1] = "new"
            return x + 1, list(d.items()), len(d)

        for d in ({1: 1}, {True: 1}, {1.0: 1}, {2: 1}):
            call(g, x(), dict(d))

    agrees(program)


def test_set_of_mixed():
    def program(call):
        def f(x, s):
            return x + 1, 1 in s, len(s), sorted(map(str, s)), list(s)

        for s in ({1}, {True}, {1.0}, {1, 2}, {"a"}, frozenset({1}), frozenset({True})):
            call(f, x(), s)

        def g(x, s):
            s.add(1)
            s.discard(5)
            return x + len(s)

        for s in ({1}, {True}, {2}, {5}):
            call(g, x(), set(s))

    agrees(program)

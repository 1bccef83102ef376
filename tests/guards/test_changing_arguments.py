"""Arguments of many kinds, changed between calls or by what is called at a break."""

import enum
import functools

import minidynamo as torch
from guards.changing import agrees


def x():
    return torch.tensor([1.0, 2.0])


def test_breaks_and_aliases():
    def program(call):
        def f(x, a, b):
            a.append(1)
            print(len(a))
            b.append(2)
            return x * len(a) * len(b)

        call(f, x(), [], [])
        values = []
        call(f, x(), values, values)
        call(f, x(), [], [])

    agrees(program)


def test_callee_changes_state():
    def program(call):
        scope = {"n": 1}
        exec(
            "import minidynamo as torch\n"
            "def bump():\n"
            "    global n\n"
            "    print('x')\n"
            "    n += 1\n"
            "def f(x):\n"
            "    a = x*n\n"
            "    bump()\n"
            "    return a + n",
            scope,
        )
        for _ in range(3):
            call(scope["f"], x())

    agrees(program)


def test_callee_changes_class():
    def program(call):
        class C:
            v = 1

        def change():
            print("c")
            C.v += 1

        def f(x):
            o = C()
            y = x * o.v
            change()
            return y * o.v * C().v

        for _ in range(3):
            call(f, x())

    agrees(program)


def test_missing_globals():
    def program(call):
        scope = {}
        exec(
            "def f(x):\n"
            "    try:\n"
            "        return x*missing\n"
            "    except NameError as e:\n"
            "        return x-1, str(e)\n"
            "def g(x):\n"
            "    try:\n"
            "        present\n"
            "        return x+1\n"
            "    except NameError:\n"
            "        return x-1",
            scope,
        )
        call(scope["f"], x())
        scope["missing"] = 3
        call(scope["f"], x())
        del scope["missing"]
        call(scope["f"], x())
        scope["present"] = [1]
        call(scope["g"], x())
        del scope["present"]
        call(scope["g"], x())
        scope["present"] = 2
        call(scope["g"], x())

    agrees(program)


def test_kwargs_order():
    def program(call):
        def f(x, *a, **k):
            for n, v in k.items():
                x = x * v if n == "a" else x + v
            return x * len(a), list(k)

        call(f, x(), a=2, b=3)
        call(f, x(), b=3, a=2)
        call(f, x(), 1, 2, a=2, b=3)
        call(f, x(), 1)

    agrees(program)


def test_lru_and_cached():
    def program(call):
        @functools.lru_cache
        def g(n):
            return n * 2

        class C:
            n = 3

            @functools.cached_property
            def p(s):
                return s.n * 2

        o = C()

        def f(x):
            return x * g(2) * o.p

        call(f, x())
        call(f, x())
        o.n = 10
        call(f, x())
        del o.p
        call(f, x())

    agrees(program)


def test_int_enums():
    def program(call):
        class E(enum.IntEnum):
            A = 1
            B = 2

        class F(enum.Flag):
            A = 1
            B = 2

        def f(x, e):
            return x * e, e + 1, e == 1, e is E.A

        for e in (E.A, E.B, 1, True):
            call(f, x(), e)

        def g(x, e):
            return x + 1, e | F.A, bool(e & F.B)

        for e in (F.A, F.B, F.A | F.B):
            call(g, x(), e)

    agrees(program)


def test_scalar_subclasses():
    class Int(int):
        pass

    class S(str):
        pass

    class Fl(float):
        pass

    def program(call):
        def f(x, v):
            return x * v, type(v).__name__, v == 1

        for v in (1, Int(1), Int(2), 1.0, Fl(1), Fl(2)):
            call(f, x(), v)

        def g(x, v):
            return x + 1, v == "a", v + "b", len(v), type(v).__name__

        for v in ("a", S("a"), S("b")):
            call(g, x(), v)

    agrees(program)


def test_numpy_things():
    import numpy as np

    def program(call):
        a = np.array([1.0, 2.0])

        def f(x, v):
            return x + 1, float(v.sum())

        call(f, x(), a)
        a[0] = 5
        call(f, x(), a)

        def g(x, v):
            return x * float(v)

        for v in (np.float64(2.0), np.float64(3.0), np.float32(3.0), np.int64(3)):
            call(g, x(), v)

    agrees(program)


def test_tensor_meta():
    def program(call):
        def f(a, b):
            return a * b, a.shape, a.stride(), a.dtype, a.is_contiguous()

        base = torch.arange(12.0)
        for a in (base[:4], base[4:8], base[::3], base[:4].clone(), base[:4].double()):
            call(f, a, torch.ones(4))

        def g(a, b):
            a.add_(1)
            return b * 2

        call(g, base[:4], base[4:8])
        call(g, base[:4], base[2:6])
        call(g, base[:4], base[:4])
        t = torch.ones(4)
        call(g, t, t)
        call(g, torch.ones(4), torch.ones(4))
        call(g, base[:4], base[1:5])
        call(g, base[4:8], base[6:10])

    agrees(program)


def test_tensors_in_lists():
    def program(call):
        def f(values):
            values[0].mul_(2)
            values.append(values[0] + values[1])
            return values[1] * 1

        a, b = torch.ones(2), torch.ones(2)
        call(f, [a, b])
        call(f, [a, a])
        call(f, [a, b, b])
        call(f, [b, a[:]])

    agrees(program)


def test_class_getitem():
    def program(call):
        class M(type):
            def __getitem__(c, i):
                return i * 2

            def __len__(c):
                return 3

            def __iter__(c):
                return iter([1, 2])

            def __contains__(c, v):
                return True

            def __getattr__(c, n):
                return 7

        class C(metaclass=M):
            pass

        class D:
            def __class_getitem__(c, i):
                return i + 1

        def f(x):
            return x * C[2], len(C), list(C), 5 in C, C.anything

        def g(x):
            return x * D[2]

        call(f, x())
        call(g, x())
        M.__getitem__ = lambda c, i: 9
        D.__class_getitem__ = classmethod(lambda c, i: 50)
        call(f, x())
        call(g, x())

    agrees(program)


def test_default_mutables():
    def program(call):
        def f(x, acc=[]):  # noqa: B006
            acc.append(1)
            return x * len(acc), acc

        for _ in range(3):
            call(f, x())

        def g(x, acc={"n": 0}):  # noqa: B006
            acc["n"] += 1
            return x * acc["n"]

        for _ in range(3):
            call(g, x())

        def h(x):
            return f(x)[0] + g(x)

        for _ in range(3):
            call(h, x())

    agrees(program)


def test_multiple_inheritance():
    def program(call):
        class A:
            def m(s):
                return 1

        class B:
            def m(s):
                return 2

        class C(A, B):
            def m(s):
                return super().m() + super(A, s).m()

        def f(x):
            return x * C().m()

        call(f, x())
        B.m = lambda s: 10
        call(f, x())
        A.m = lambda s: 100
        call(f, x())
        del A.m
        call(f, x())
        o = C()

        def g(x):
            return x * o.m()

        call(g, x())
        A.m = lambda s: 1000
        call(g, x())

    agrees(program)

"""State that changes between calls behind the protocols of user classes."""

import sys
import types

import minidynamo as torch
from guards.changing import agrees


def x():
    return torch.tensor([1.0, 2.0])


def test_id_func():
    def program(call):
        def f(x, o):
            return x + 1, id(o) == id(o)

        call(f, x(), [1])
        call(f, x(), [1])

        def g(x, o, p):
            return x + 1, id(o) == id(p)

        values = []
        call(g, x(), values, [])
        call(g, x(), values, values)

    agrees(program)


def test_dict_view_args():
    def program(call):
        d = {"a": 1}

        def f(x, v):
            return x + 1, list(v), "a" in v

        call(f, x(), d.keys())
        d["b"] = 2
        call(f, x(), d.keys())
        call(f, x(), d.values())
        call(f, x(), d.items())

    agrees(program)


def test_list_aliasing_self_attr():
    def program(call):
        class M:
            def __init__(s):
                s.buf = [1]
                s.alias = s.buf
                s.other = [1]

        def f(x, m):
            m.buf.append(2)
            return x * len(m.alias) * len(m.other)

        m = M()
        call(f, x(), m)
        m.other = m.buf
        call(f, x(), m)
        m.alias = [9]
        call(f, x(), m)

    agrees(program)


def test_tensors_attr():
    def program(call):
        t = torch.ones(2)
        t.tag = 3

        def f(x):
            return x * t.tag, hasattr(t, "more")

        call(f, x())
        t.tag = 4
        call(f, x())
        t.more = 1
        call(f, x())

        def g(x, a):
            return x.grad is None, a.requires_grad, x + 1

        call(g, x(), t)
        call(g, x(), t)

    agrees(program)


def test_tensor_rebinding_class_attr():
    def program(call):
        class C:
            w = torch.ones(2)

        def f(x):
            return x * C.w, C().w

        call(f, x())
        C.w = torch.ones(2) * 3
        call(f, x())
        C.w = torch.ones(2, 2)
        call(f, x())

    agrees(program)


def test_getattr_hook_state():
    def program(call):
        class C:
            def __init__(s):
                s.d = {"a": 1}

            def __getattr__(s, n):
                try:
                    return s.d[n]
                except KeyError:
                    raise AttributeError(n) from None

        o = C()

        def f(x):
            return x * o.a, hasattr(o, "b")

        call(f, x())
        o.d["a"] = 5
        call(f, x())
        o.d["b"] = 5
        call(f, x())
        o.a = 9
        call(f, x())
        C.__getattr__ = lambda s, n: 77
        call(f, x())
        del o.a
        call(f, x())

    agrees(program)


def test_eq_hash_objects_in_dict():
    class K:
        pass

    def program(call):
        def f(x, d, k):
            return x + 1 if k in d else x - 1, d.get(k)

        a, b = K(), K()
        call(f, x(), {a: 1}, a)
        call(f, x(), {a: 1}, b)
        call(f, x(), {a: 1, b: 2}, b)

        def g(x, a, b):
            d = {a: 1, b: 2}
            return x + 1, len(d), len({a, b})

        call(g, x(), a, b)
        call(g, x(), a, a)
        call(g, x(), b, a)

    agrees(program)


def test_const_in_container():
    def program(call):
        def f(x, values, v):
            return x + 1, v in values, values.index(v) if v in values else -1, values.count(v), values == [v]

        nan = float("nan")
        for values, v in (
            ([1, 2], 1),
            ([1, 2], True),
            ([1.0, 2], 1),
            ([nan], nan),
            ([nan], float("nan")),
            ([0.0], -0.0),
        ):
            call(f, x(), values, v)

    agrees(program)


def test_str_identity_return():
    def program(call):
        def f(x, d):
            return x + 1, d["s"], {"k": d["s"]}, f"{d['s']}"

        call(f, x(), {"s": "a b"})
        call(f, x(), {"s": "c d"})

    agrees(program)


def test_none_vs_missing():
    def program(call):
        def f(x, d):
            v = d.get("a")
            return x + 1 if v is None else x * v, "a" in d

        for d in ({}, {"a": None}, {"a": 2}, {"a": None}, {}):
            call(f, x(), d)

    agrees(program)


def test_swap_effects():
    def program(call):
        def f(x, a, b):
            a[0], b[0] = b[0], a[0]
            a, b = b, a
            a.append(1)
            return x + a[0] - b[0]

        call(f, x(), [1], [2])
        values = [3]
        call(f, x(), values, values)

    agrees(program)


def test_exception_class_changes():
    def program(call):
        class E(Exception):
            code = 1

            def text(s):
                return s.code

        def f(x):
            try:
                raise E("a")
            except E as e:
                return x * e.text() * e.code

        call(f, x())
        E.code = 2
        call(f, x())
        E.text = lambda s: 9
        call(f, x())

    agrees(program)


def test_context_manager_class():
    def program(call):
        class M:
            v = 2

            def __enter__(s):
                return s.v

            def __exit__(s, *a):
                return False

        def f(x):
            with M() as v:
                x = x * v
            return x

        call(f, x())
        M.v = 3
        call(f, x())
        M.__enter__ = lambda s: 10
        call(f, x())
        M.__exit__ = lambda s, *a: True
        call(f, x())

    agrees(program)


def test_callable_object():
    def program(call):
        class M:
            def __call__(s, x):
                return x * 2

        o = M()

        def f(x):
            return o(x), callable(o), callable(M)

        call(f, x())
        M.__call__ = lambda s, x: x * 5
        call(f, x())
        del M.__call__
        call(f, x())

    agrees(program)


def test_iteration_protocol():
    def program(call):
        class M:
            def __init__(s):
                s.values = [1, 2]

            def __iter__(s):
                return iter(s.values)

            def __len__(s):
                return len(s.values)

            def __getitem__(s, i):
                return s.values[i]

            def __contains__(s, v):
                return v in s.values

        o = M()

        def f(x):
            for v in o:
                x = x * v
            return x, len(o), o[0], 5 in o, list(o)

        call(f, x())
        o.values.append(5)
        call(f, x())
        M.__iter__ = lambda s: iter([9])
        call(f, x())
        del M.__iter__
        call(f, x())
        del M.__contains__
        call(f, x())

    agrees(program)


def test_module_replaced():
    def program(call):
        m = types.ModuleType("swapme")
        m.v = 1
        sys.modules["swapme"] = m

        def f(x):
            import swapme

            return x * swapme.v

        call(f, x())
        m.v = 2
        call(f, x())
        n = types.ModuleType("swapme")
        n.v = 7
        sys.modules["swapme"] = n
        call(f, x())
        del sys.modules["swapme"]

    agrees(program)


def test_from_import():
    def program(call):
        m = types.ModuleType("swapme")
        m.v = 1
        sys.modules["swapme"] = m

        def f(x):
            from swapme import v

            return x * v

        call(f, x())
        m.v = 2
        call(f, x())
        del m.v
        call(f, x())
        del sys.modules["swapme"]

    agrees(program)


def test_inst_dict_live():
    def program(call):
        class C:
            def __init__(s):
                s.a = 1

        def f(x):
            o = C()
            o.__dict__["b"] = 5
            vars(o).update(c=6)
            return x * o.b * o.c, o

        call(f, x())

        def g(x, o):
            o.__dict__["b"] = 5
            return x * o.b, dict(vars(o))

        call(g, x(), C())

    agrees(program)


def test_long_str_keys():
    def program(call):
        def f(x, d):
            return x * d["".join(["k", "ey"])]

        call(f, x(), {"key": 2})
        call(f, x(), {"key": 3})

    agrees(program)


def test_closures_swapped():
    def program(call):
        def mk(n):
            def g(x):
                return x * n

            return g

        def f(x, g):
            return g(x)

        for n in (1, 2, 1.0, True):
            call(f, x(), mk(n))
        cell_a = mk(1)

        def h(x):
            return cell_a(x)

        call(h, x())
        cell_a.__closure__[0].cell_contents = 9
        call(h, x())
        del cell_a.__closure__[0].cell_contents
        call(h, x())

    agrees(program)


def test_two_funcs_one_code():
    def program(call):
        def mk(d):
            def f(x, a=d, *, k=d):
                return x * len(a) + len(k)

            return f

        a, b = mk([1]), mk([1, 2])
        for f in (a, b, a, b):
            call(f, x())
        a.__defaults__[0].append(5)
        call(a, x())
        call(b, x())

        def outer(x):
            return a(x) + b(x)

        call(outer, x())
        b.__kwdefaults__["k"].append(1)
        call(outer, x())
        a.__defaults__ = b.__defaults__
        call(outer, x())

    agrees(program)

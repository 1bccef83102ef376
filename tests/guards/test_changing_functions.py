"""Functions, closures, globals, builtins and modules may change between two calls."""

import sys
import types

import minidynamo as torch
from guards.changing import agrees


def x():
    return torch.tensor([1.0, 2.0])


def test_function_parts():
    def program(call):
        def g(x, a=1, *, k=2):
            return x * a + k

        def other(x, a=1, *, k=2):
            return x * a - k

        def f(x):
            return g(x)

        for change in (
            lambda: None,
            lambda: setattr(g, "__defaults__", (5,)),
            lambda: setattr(g, "__kwdefaults__", {"k": 7}),
            lambda: setattr(g, "__code__", other.__code__),
            lambda: setattr(g, "__defaults__", (3, 5)),
            lambda: setattr(g, "__defaults__", None),
            lambda: setattr(g, "__defaults__", (1,)),
            lambda: setattr(g, "__kwdefaults__", None),
        ):
            change()
            call(f, x())
            call(f, x())

    agrees(program)


def test_tensor_defaults_shift():
    def program(call):
        one, two, three = torch.tensor(1.0), torch.tensor(2.0), torch.tensor(3.0)

        def g(x, a, b=one):
            return x * a + b

        def f(x, a):
            return g(x, a)

        call(f, x(), torch.tensor(5.0))
        g.__defaults__ = (two, three)
        call(f, x(), torch.tensor(5.0))

    agrees(program, 2)


def test_method_parts():
    def program(call):
        class C:
            def m(self, x, a=1):
                return x * a

        o = C()

        def f(x):
            return o.m(x) + C().m(x)

        def other(self, x, a=1):
            return x - a

        for change in (
            lambda: None,
            lambda: setattr(C.m, "__defaults__", (4,)),
            lambda: setattr(C.m, "__code__", other.__code__),
        ):
            change()
            call(f, x())
            call(f, x())

    agrees(program, 3)


def test_closures():
    def program(call):
        n, table = 1, {"a": 1}

        def g(x):
            return x * n + table["a"]

        def f(x):
            return g(x)

        def change_n(v):
            nonlocal n
            n = v

        def change_table():
            nonlocal table
            table = {"a": 9}

        for change in (
            lambda: None,
            lambda: change_n(2),
            lambda: change_n(2.0),
            lambda: change_n(True),
            lambda: table.update(a=4),
            change_table,
        ):
            change()
            call(f, x())
            call(f, x())

    agrees(program, 5)  # the int in `table` is a symbol from its second value on


def test_closure_of_a_method_of_a_new_object():
    def program(call):
        n = 1

        class C:
            def m(self, x):
                return x * n

            @property
            def p(self):
                return n

            @staticmethod
            def s(x):
                return x + n

        def change(v):
            nonlocal n
            n = v

        def f(x):
            o = C()
            return o.m(x) + o.p + o.s(x)

        call(f, x())
        change(4)
        call(f, x())
        call(f, x())

    agrees(program, 2)


def test_empty_cell_is_filled():
    def program(call):
        def outer():
            def f(x):
                try:
                    return x * late
                except NameError:
                    return x - 1

            def fill(v):
                nonlocal late
                late = v

            if False:
                late = 0
            return f, fill

        f, fill = outer()
        call(f, x())
        fill(3)
        call(f, x())

    agrees(program)


def test_functions_swapped():
    def program(call):
        scope = {}
        exec(
            "def double(x):\n    return x * 2\n"
            "def half(x):\n    return x / 2\n"
            "def f(x):\n    return double(x) - half(x)\n",
            scope,
        )
        call(scope["f"], x())
        scope["double"], scope["half"] = scope["half"], scope["double"]
        call(scope["f"], x())
        call(scope["f"], x())
        scope["double"] = torch.sin
        call(scope["f"], x())
        scope["double"] = type("K", (), {"__call__": lambda self, x: x * 9})()
        call(scope["f"], x())
        del scope["double"]
        call(scope["f"], x())

    agrees(program)


def test_function_names_and_attributes():
    def program(call):
        def g():
            "doc"

        g.flag = 3

        def f(x):
            return x * g.flag, g.__name__, g.__doc__, g.__qualname__, g.__module__

        call(f, x())
        call(f, x())
        g.flag = 4
        call(f, x())
        g.__name__ = "h"
        call(f, x())
        g.__doc__ = None
        call(f, x())
        g.__qualname__ = "Q.h"
        call(f, x())
        g.__module__ = "m"
        call(f, x())
        call(f, x())

    agrees(program, 6)


def test_globals():
    def program(call):
        scope = {"n": 1}
        exec("def f(x):\n    return x * n + len([1, 2])", scope)
        f = scope["f"]
        for change in (
            lambda: None,
            lambda: scope.update(n=2),
            lambda: scope.update(n=2.0),
            lambda: scope.update(len=lambda v: 77),
            lambda: scope.pop("len"),
            lambda: scope.pop("n"),
            lambda: scope.update(n=5),
        ):
            change()
            call(f, x())
            call(f, x())

    agrees(program)


def test_one_code_over_two_scopes():
    def program(call):
        def g(x):
            return x * n  # noqa: F821

        one, two = types.FunctionType(g.__code__, {"n": 1}), types.FunctionType(g.__code__, {"n": 2})
        for f in (one, two, one, two):
            call(f, x())

    agrees(program)


def test_custom_builtins():
    def program(call):
        scope = {"__builtins__": {"len": lambda v: 5}}
        exec("def inner():\n    return len([1])\ndef f(x):\n    return x * len([1]) + inner()", scope)
        call(scope["f"], x())
        call(scope["f"], x())

        outer = {"inner": scope["inner"], "__builtins__": {"len": lambda v: 50}}
        exec("def f(x):\n    return x * len([1]) + inner()", outer)
        call(outer["f"], x())
        scope["__builtins__"]["len"] = lambda v: 6
        call(outer["f"], x())
        call(scope["f"], x())

    agrees(program)


def test_globals_of_a_dict_subclass():
    class Scope(dict):
        def __getitem__(self, name):
            return dict.__getitem__(self, name) if name in self else 42

        def __missing__(self, name):
            return 42

    def program(call):
        scope = Scope()
        exec("def f(x):\n    return x * (never_set if True else 0)", scope)
        call(scope.get("f"), x())

    agrees(program)


def test_module_attributes():
    def program(call):
        m = types.ModuleType("m")
        m.n = 1
        m.sub = types.ModuleType("m.sub")
        m.sub.k = 1

        def f(x):
            return x * m.n + m.sub.k, hasattr(m, "extra"), getattr(m, "late", 0)

        other = types.ModuleType("m.sub")
        other.k = 8
        for change in (
            lambda: None,
            lambda: setattr(m, "n", 2),
            lambda: setattr(m.sub, "k", 3),
            lambda: setattr(m, "sub", other),
            lambda: setattr(m, "extra", 1),
            lambda: setattr(m, "late", 4),
            lambda: delattr(m, "late"),
            lambda: setattr(m, "__getattr__", lambda name: 55),
        ):
            change()
            call(f, x())
            call(f, x())

    agrees(program)


def test_global_written_and_read_through_the_module():
    def program(call):
        m = types.ModuleType("written_module")
        sys.modules["written_module"] = m
        exec(
            "import sys\nn = 1\nme = sys.modules['written_module']\n"
            "def f(x):\n    global n\n    n = n + 1\n    return x * me.n\n",
            vars(m),
        )
        call(m.f, x())
        call(m.f, x())
        del sys.modules["written_module"]

    agrees(program)

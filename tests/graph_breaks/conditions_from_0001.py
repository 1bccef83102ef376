"""Programs for codes GB0001 to GB0013: see conditions.py."""

# fmt: off
import abc
import datetime
import decimal
import functools
import linecache
import math
import operator
import os
import re
import sys
import threading
import time

import minidynamo as torch
from graph_breaks.conditions import lister


CASES = []
case = lister(CASES)


# --- GB0001
class Sub1(torch.Tensor): pass

@case("GB0001")
def as_sub_tensor(compile):
    @compile
    def f(x): return x.as_subclass(torch.Tensor) + 1
    return f(torch.ones(2))

@case("GB0001")
def as_sub_type(compile):
    def g(a, b): return a.as_subclass(type(b))
    @compile
    def f(x, y): return g(x + 1, y).sum()
    return f(torch.ones(2), torch.ones(2).as_subclass(Sub1)).as_subclass(torch.Tensor)

@case("GB0001")
def as_sub_parameter(compile):
    @compile
    def f(x): return torch.Tensor.as_subclass(x, cls=torch.nn.Parameter) + 1
    return f(torch.ones(2))

@case("")
def as_sub_ok(compile):
    @compile
    def f(x): return x.as_subclass(Sub1) + 1
    return f(torch.ones(2)).as_subclass(torch.Tensor)


# --- GB0002

@case("GB0002")
def assert_sym(compile):
    @compile(dynamic=True)
    def f(x):
        assert x.shape[0] > 5; return x + 1
    return f(torch.ones(3))

@case("GB0002")
def assert_sym_deep(compile):
    def g(n): assert n % 2 == 0, "odd"
    class A:
        def check(self, t): g(t.size(0))
    @compile(dynamic=True)
    def f(x):
        A().check(x); return x + 1
    return f(torch.ones(3))

@case("GB0002")
def assert_sym_msg(compile):
    @compile(dynamic=True)
    def f(x, y):
        assert x.shape[0] == y.shape[1], f"sizes {x.shape} {y.shape}"
        return x.sum() + y.sum()
    return f(torch.ones(3), torch.ones(2, 5))

@case("GB0002")
def assert_sym_int(compile):
    @compile(dynamic=True)
    def f(x, n):
        assert n < 3
        return x + n
    return f(torch.ones(3), 7)

@case("")
def assert_sym_ok(compile):
    @compile(dynamic=True)
    def f(x):
        assert x.shape[0] > 2, "n"; return x + 1
    return f(torch.ones(3))


# --- GB0003

@case("GB0003")
def gen_top(compile):
    @compile
    def f(x):
        yield x + 1
        yield x * 2
    return list(f(torch.ones(2)))

@case("GB0003")
def gen_method(compile):
    class A:
        def rows(self, x):
            for r in x: yield r * 2
    return list(compile(A().rows)(torch.ones(2)))

@case("GB0003")
def gen_forward(compile):
    class M(torch.nn.Module):
        def forward(self, x):
            yield from (x, x + 1)
    return list(compile(M())(torch.ones(2)))

@case("GB0003")
def gen_lambda(compile):
    f = compile(lambda x: (yield x * 3))
    return list(f(torch.ones(2)))

@case("")
def gen_inside(compile):
    def g(x): yield x + 1
    @compile
    def f(x): return sum(g(x))
    return f(torch.ones(2))


# --- GB0004
class Strange4(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.note = 3
    def __getattribute__(self, n): return super().__getattribute__(n)
    def forward(self, x):
        super().__delattr__("note"); return x + 1

@case("GB0004")
def del_super_mod(compile):
    m = Strange4()
    @compile
    def f(x): return Strange4.forward(m, x)
    return f(torch.ones(2)), hasattr(m, "note")

@case("")
def del_super_ok(compile):
    class A:
        def __init__(self): self.v = 1
        def drop(self): super().__delattr__("v")
    a = A()
    @compile
    def f(x):
        a.drop(); return x + 1
    return f(torch.ones(2)), hasattr(a, "v")


# --- GB0005

@case("GB0005")
def str_date(compile):
    d = datetime.date(2020, 1, 2)
    @compile
    def f(x): return x + len(str(d))
    return f(torch.ones(2))
class Money(decimal.Decimal): pass

@case("GB0005")
def str_decimal_sub(compile):
    m = Money("1.5")
    def g(v): return str(v)
    @compile
    def f(x, m): return x + len(g(m))
    return f(torch.ones(2), m)

@case("GB0005")
def str_timedelta_map(compile):
    @compile
    def f(x, d): return x + len([str(k) for k in d][0])
    return f(torch.ones(2), [datetime.timedelta(3)])

@case("")
def str_py(compile):
    class A:
        def __str__(self): return "abc"
    @compile
    def f(x): return x + len(str(A()))
    return f(torch.ones(2))


# --- GB0006
class Base6:
    scale = functools.partial(operator.mul, 3)
class Child6(Base6):
    def scale2(self, x): return super().scale(x)

@case("GB0006" if sys.version_info < (3, 13) else "GB0147")  # partial has a __get__ from 3.13 on
def super_partial(compile):
    c = Child6()
    @compile
    def f(x): return c.scale2(x)
    return f(torch.ones(2))
class Callable6:
    def __call__(self, x): return x * 2
class M6(torch.nn.Module):
    act = Callable6()
class N6(M6):
    def forward(self, x): return super().act(x)

@case("GB0006")
def super_callable_module(compile): return compile(N6())(torch.ones(2))
class B6:
    kinds = {"a": 1}
    typ = int
class C6(B6):
    def t(self): return super().typ("3")

@case("GB0006")
def super_class_attr(compile):
    c = C6()
    @compile
    def f(x): return x + [c.t() for _ in range(1)][0]
    return f(torch.ones(2))
class D6(Base6):
    @classmethod
    def go(cls, x): return super().scale(x)

@case("GB0006")
def super_cls(compile):
    @compile
    def f(x): return (lambda y: D6.go(y))(x)
    return f(torch.ones(2))
class E6:
    def go(self, x): return x * 2
    @staticmethod
    def st(x): return x + 1
class F6(E6):
    def go(self, x): return super().go(super().st(x))

@case("")
def super_ok(compile):
    c = F6()
    @compile
    def f(x): return c.go(x)
    return f(torch.ones(2))


# --- GB0007

@case("GB0007")
def c_function(compile):
    @compile
    def f(x): return x + (threading.get_ident() > 0)
    return f(torch.ones(2))
class Timer:
    def now(self, clock=time.perf_counter): return clock() > 0

@case("GB0007")
def c_function_deep(compile):
    t = Timer()
    def inner(x): return x * t.now()
    @compile
    def f(x): return (lambda y: inner(y))(x + 1)
    return f(torch.ones(2))

@case("GB0007")
def c_function_module_attr(compile):
    @compile
    def f(x):
        a = sys.getsizeof([]) > 0
        return x + a
    return f(torch.ones(2))

@case("GB0007")
def c_os_getpid_comp(compile):
    @compile
    def f(x): return [x + (os.getpid() > 0) for _ in range(1)][0]
    return f(torch.ones(2))
    g = functools.partial(os.getenv, "NO_SUCH_VARIABLE_X")
    h = functools.partial(sys.intern, "abc")
    @compile
    def f(x): return x + len(h())
    return f(torch.ones(2))

@case("GB0007")
def c_json_dumps(compile):
    @compile
    def f(x):
        y = x + 1
        time.sleep(0)
        return y * 2
    return f(torch.ones(2))

@case("")
def c_math_ok(compile):
    @compile
    def f(x): return x + math.sqrt(4) + math.floor(2.5)
    return f(torch.ones(2))

@case("GB0007")
def c_map(compile):
    @compile
    def f(x):
        y = list(map(sys.getrefcount, [object()]))
        return x + (y[0] > 0)
    return f(torch.ones(2))


# --- GB0008
class Text(str): pass

@case("GB0008")
def borrowed_method(compile):
    class Path(str):
        get = linecache.getlines
    @compile
    def f(x, p): return x + len(p.get())
    return f(torch.ones(2), Path("/nonexistent"))

@case("GB0008")
def borrowed_re(compile):
    class Pat(str):
        escape = re.escape
    @compile
    def f(x):
        def g(p): return len(p.escape())
        return x + g(Pat("a.b"))
    return f(torch.ones(2))


# --- GB0010

@case("GB0010")
def del_twice(compile):
    class A: pass
    a = A(); a.v = 1
    @compile
    def f(x):
        del a.v
        del a.v
        return x
    return f(torch.ones(2))

@case("GB0010")
def del_twice_deep(compile):
    class M(torch.nn.Module):
        def __init__(self): super().__init__(); self.k = 1
        def drop(self): del self.k
        def forward(self, x):
            self.drop(); x = x + 1; self.drop(); return x
    return compile(M())(torch.ones(2))

@case("GB0010")
def delattr_twice(compile):
    class A: pass
    def g(a): delattr(a, "v")
    a = A(); a.v = 1
    @compile
    def f(x, a):
        for _ in range(2): g(a)
        return x
    return f(torch.ones(2), a)

@case("")
def del_once(compile):
    class A: pass
    a = A(); a.v = 1
    @compile
    def f(x):
        del a.v
        a.v = 3
        del a.v
        return x
    return f(torch.ones(2)), hasattr(a, "v")


# --- GB0011

@case("GB0011")
def unbound(compile):
    @compile
    def f(x):
        if x.dim() == 7: y = 1
        return x + y
    return f(torch.ones(2))

@case("GB0011")
def unbound_deep(compile):
    def g(n):
        for k in range(n): z = k
        return z
    class A:
        def go(self, x): return x + g(0)
    @compile
    def f(x): return A().go(x)
    return f(torch.ones(2))

@case("GB0011")
def unbound_del(compile):
    @compile
    def f(x):
        y = x + 1
        del y
        return y
    return f(torch.ones(2))

@case("GB0011")
def unbound_except(compile):
    @compile
    def f(x):
        try: raise ValueError
        except ValueError as e: pass
        return x + len(str(e))
    return f(torch.ones(2))


# --- GB0013

@case("GB0013")
def handle_closure(compile):
    w = torch.ones(2, requires_grad=True)
    h = w.register_hook(lambda g: g * 2)
    @compile
    def f(x):
        y = x * w
        h.remove()
        return y
    f(torch.ones(2)).sum().backward()
    return w.grad

@case("GB0013")
def handle_module(compile):
    class M(torch.nn.Module):
        def __init__(self):
            super().__init__(); self.lin = torch.nn.Linear(2, 2, bias=False)
            torch.nn.init.ones_(self.lin.weight)
            self.handle = self.lin.register_forward_hook(lambda m, i, o: o * 2)
        def forward(self, x):
            x = self.lin(x)
            self.stop(); return x
        def stop(self): self.handle.remove()
    m = M(); c = compile(m)
    return c(torch.ones(2)).tolist(), m(torch.ones(2)).tolist()

@case("GB0013")
def handle_arg(compile):
    w = torch.ones(2, requires_grad=True)
    h = w.register_hook(lambda g: g * 2)
    @compile
    def f(x, hs):
        for h in hs: h.remove()
        return x * 2
    r = f(torch.ones(2), [h]); w.sum().backward()
    return r, w.grad

@case("GB0013")
def handle_read(compile):
    m = torch.nn.Linear(2, 2)
    h = m.register_forward_pre_hook(lambda m, i: None)
    @compile
    def f(x): return x + (h.id >= 0)
    return f(torch.ones(2))

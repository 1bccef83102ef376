"""Programs for codes GB0054 to GB0062: see conditions.py."""

# fmt: off
import abc
import enum
import os

import minidynamo as torch
from graph_breaks.conditions import lister


CASES = []
case = lister(CASES)


# --- GB0054
class Col(enum.Enum): A = 1; B = 2

@case("GB0054")
def enum_bad(compile):
    @compile
    def f(x): return x + Col(7).value
    return f(torch.ones(2))

@case("GB0054")
def enum_tensor(compile):
    @compile
    def f(x, n): return x + Col(n).value
    return f(torch.ones(2), torch.tensor(7))

@case("GB0054")
def enum_deep(compile):
    class I(enum.IntEnum): P = 1
    class A:
        def go(self, v): return I(v)
    @compile
    def f(x): return x + [A().go(v) for v in (9,)][0]
    return f(torch.ones(2))

@case("GB0054")
def enum_str(compile):
    class S(str, enum.Enum): P = "p"
    @compile
    def f(x): return x + len(S("z").value)
    return f(torch.ones(2))

@case("")
def enum_ok(compile):
    @compile
    def f(x): return x + Col(2).value
    return f(torch.ones(2))


# --- GB0055
@torch._dynamo.allow_in_graph
def aig(x, o=None): return x * 2
class UO: pass

@case("GB0055")
def aig_obj(compile):
    @compile
    def f(x, o): return aig(x, o)
    return f(torch.ones(2), UO())

@case("GB0055")
def aig_kw_deep(compile):
    def g(x): return aig(x, o=UO())
    class A:
        def go(self, x): return g(x)
    @compile
    def f(x): return A().go(x)
    return f(torch.ones(2))

@case("GB0055")
def aig_list(compile):
    @compile
    def f(x, o): return aig(x, [1, o])
    return f(torch.ones(2), UO())

@case("")
def aig_ok(compile):
    @compile
    def f(x): return aig(x, [1, (2.0, None)])
    return f(torch.ones(2))


# --- GB0056 58

@case("GB0056")
def data_set(compile):
    @compile
    def f(x):
        y = x + 1
        y.data = x * 3
        return y
    return f(torch.ones(2))

@case("GB0056")
def data_set_deep(compile):
    def g(t, v): setattr(t, "data", v)
    @compile
    def f(x):
        ys = [x * 2]
        for y in ys: g(y, torch.zeros(2))
        return ys[0]
    return f(torch.ones(2))

@case("GB0058")
def set_hooks(compile):
    @compile
    def f(x):
        y = x + 1
        y._backward_hooks = None
        return y
    return f(torch.ones(2))

@case("GB0058")
def set_real_deep(compile):
    class A:
        def go(self, t): t.real = torch.zeros(2)
    @compile
    def f(x):
        y = x + 1
        A().go(y)
        return y
    return f(torch.ones(2))

@case("GB0058")
def set_real_input(compile):
    @compile
    def f(x):
        setattr(x, "real", torch.zeros(2)); return x + 1
    x = torch.ones(2); return f(x), x

@case("")
def set_copy_ok(compile):
    @compile
    def f(x):
        y = x + 1; y.copy_(x); return y
    return f(torch.ones(2))


# --- GB0057

@case("GB0057")
def raise_int_(compile):
    @compile
    def f(x): raise 3
    return f(torch.ones(2))

@case("GB0057")
def raise_str_deep(compile):
    def g(): raise "text"
    class A:
        def go(self): g()
    @compile
    def f(x):
        A().go(); return x
    return f(torch.ones(2))

@case("GB0057")
def raise_obj(compile):
    @compile
    def f(x): raise UO()
    return f(torch.ones(2))

@case("GB0057")
def raise_tensor(compile):
    @compile
    def f(x): raise x
    return f(torch.ones(2))

@case("GB0057")
def raise_fn(compile):
    @compile
    def f(x): raise (lambda: ValueError())
    return f(torch.ones(2))

@case("GB0057")
def raise_cls(compile):
    @compile
    def f(x): raise int
    return f(torch.ones(2))


# --- GB0059

@case("GB0059")
def print_plain(compile):
    @compile
    def f(x):
        print("hello"); return x + 1
    return f(torch.ones(2))

@case("GB0059")
def print_tensor_deep(compile):
    class A:
        def say(self, *a): print(*a, sep="-")
    a = A()
    @compile
    def f(x):
        y = x + 1
        a.say(y, 3)
        return y * 2
    return f(torch.ones(2))

@case("GB0059")
def input_len_kw(compile):
    @compile
    def f(x):
        print("a", x.sum(), end="!\n", flush=True); return x + 1
    return f(torch.ones(2))
class Bare: pass

@case("GB0059")
def dir_object(compile):
    @compile
    def f(x, o):
        return x + len(dir(o))
    return f(torch.ones(2), Bare())

@case("GB0059")
def open_file(compile):
    @compile
    def f(x):
        h = open("/dev/null"); h.close(); return x + 1
    return f(torch.ones(2))

@case("GB0059")
def hash_tensor_ord(compile):
    @compile
    def f(x):
        return x + len(ascii(x))
    return f(torch.ones(2))

@case("GB0059")
def print_loop(compile):
    @compile
    def f(x):
        x = x + 1
        [print(i) for i in range(2)]
        return x
    return f(torch.ones(2))

@case("")
def builtin_ok(compile):
    @compile
    def f(x): return x + len("abc") + max(1, 2) + sum([1, 2]) + abs(-1) + round(2.4)
    return f(torch.ones(2))

@case("GB0059")
def breakpoint_like(compile):
    @compile
    def f(x):
        exec("1"); return x + 1
    return f(torch.ones(2))


# --- GB0062 63 77

@case("GB0062")
def ux_obj(compile):
    @compile
    def f(x, o):
        a, *b = o
        return x
    return f(torch.ones(2), UO())

@case("GB0062")
def ux_int_deep(compile):
    def g(n):
        *a, b = n
        return b
    @compile
    def f(x): return x + (lambda: g(3))()
    return f(torch.ones(2))

@case("GB0062")
def ux_none(compile):
    @compile
    def f(x):
        a, *b = None
        return x
    return f(torch.ones(2))

@case("GB0062")
def ux_fn(compile):
    @compile
    def f(x):
        a, *b = len
        return x
    return f(torch.ones(2))

@case("GB0062")
def ux_cls(compile):
    @compile
    def f(x):
        a, *b = UO
        return x
    return f(torch.ones(2))

@case("")
def ux_ok(compile):
    @compile
    def f(x):
        a, *b = x
        c, *d = "abc"
        return a + b[0] + len(d)
    return f(torch.ones(2))

@case("GB0063")
def us_none(compile):
    @compile
    def f(x):
        a, b = None
        return x
    return f(torch.ones(2))

@case("GB0063")
def us_obj_deep(compile):
    class A:
        def go(self, o):
            a, b = o
            return a
    @compile
    def f(x, o): return x + A().go(o)
    return f(torch.ones(2), UO())

@case("GB0063")
def us_float(compile):
    @compile
    def f(x):
        for a, b in [1.5]: x = x + a
        return x
    return f(torch.ones(2))

@case("GB0063")
def us_fn(compile):
    @compile
    def f(x):
        [(a, b)] = [f]
        return x
    return f(torch.ones(2))

@case("GB0063")
def us_module(compile):
    @compile
    def f(x):
        a, b = os
        return x
    return f(torch.ones(2))

@case("")
def us_iter_ok(compile):
    class It:
        def __iter__(self): return iter((1, 2))
    @compile
    def f(x):
        a, b = It()
        c, d = {"p": 1, "q": 2}
        return x + a + b + len(c)
    return f(torch.ones(2))

@case("GB0077")
def ul_list(compile):
    @compile
    def f(x):
        a, b = [1, 2, 3]
        return x
    return f(torch.ones(2))

@case("GB0077")
def ul_tensor_deep(compile):
    def g(t):
        a, b, c = t
        return a
    @compile
    def f(x): return g(x * 2)
    return f(torch.ones(2))

@case("GB0077")
def ul_str(compile):
    @compile
    def f(x):
        a, b = "abc"
        return x
    return f(torch.ones(2))

@case("GB0077")
def ul_shape(compile):
    class M(torch.nn.Module):
        def forward(self, x):
            b, c, h = x.shape
            return x
    return compile(M())(torch.ones(2, 2))

@case("GB0077")
def ul_dict(compile):
    @compile
    def f(x):
        a, b = {"k": 1}
        return x
    return f(torch.ones(2))

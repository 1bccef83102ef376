"""Programs for codes GB0066 to GB0075: see conditions.py."""

# fmt: off
import contextlib
import functools
import math
import operator
import os
import sys

import minidynamo as torch
from graph_breaks.conditions import lister


CASES = []
case = lister(CASES)


# --- GB0066
@contextlib.contextmanager
def cm(log):
    log.append("in")
    yield
    log.append("out")
class Cm:
    def __init__(self, log): self.log = log
    def __enter__(self): self.log.append(1); return self
    def __exit__(self, *a): self.log.append(2)

@case("GB0066")
def with_class(compile):
    @compile
    def f(x, log):
        with Cm(log):
            y = x + 1
            print("hi")
        return y * 2
    log = []
    return f(torch.ones(2), log), log

@case("GB0066")
def with_gen(compile):
    @compile
    def f(x, log):
        with cm(log):
            x = x + 1
            torch._dynamo.graph_break()
            x = x * 2
        return x
    log = []
    return f(torch.ones(2), log), log

@case("GB0066")
def with_method(compile):
    class A:
        def run(self, x, log):
            with contextlib.ExitStack() as s, Cm(log):
                x = x + 1
                torch._dynamo.graph_break()
            return x
    log = []
    return compile(A().run)(torch.ones(2), log), log

@case("GB0025")
def with_nograd_ok(compile):
    @compile
    def f(x):
        with torch.no_grad():
            x = x + 1
            torch._dynamo.graph_break()
            x = x * 2
        return x
    return f(torch.ones(2))

@case("")
def with_no_break(compile):
    @compile
    def f(x, log):
        with Cm(log): x = x + 1
        return x
    log = []
    return f(torch.ones(2), log), log


# --- GB0068 / 102
class Fn68(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g):
        if torch.Tensor.is_neg(g): return g
        return g * 2

@case("GB0068")
def strict_unbound(compile):
    @compile
    def f(x): return Fn68.apply(x).sum()
    x = torch.ones(2, requires_grad=True); f(x).backward(); return x.grad
def helper68(t): return torch.Tensor.is_conj(t)
class Fn68b(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * (3 if helper68(g) else 2)

@case("GB0068")
def strict_deep(compile):
    def go(x): return Fn68b.apply(x)
    @compile
    def f(x): return go(x).sum()
    x = torch.ones(2, requires_grad=True); f(x).backward(); return x.grad
class Fn102(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g):
        if g.layout is torch.strided: return g * 2
        return g

@case("GB0102")
def strict_attr(compile):
    @compile
    def f(x): return Fn102.apply(x).sum()
    x = torch.ones(2, requires_grad=True); f(x).backward(); return x.grad
class Fn102b(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g):
        def look(t): return getattr(t, "is_conj")()
        return g * (3 if look(g) else 2)

@case("GB0102")
def strict_attr_deep(compile):
    class M(torch.nn.Module):
        def forward(self, x): return Fn102b.apply(x)
    m = M(); c = compile(m)
    x = torch.ones(2, requires_grad=True); c(x).sum().backward(); return x.grad
class Fn102ok(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.save_for_backward(x); return x * 2
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 + 0 * x.shape[0]

@case("")
def strict_ok(compile):
    @compile
    def f(x): return Fn102ok.apply(x).sum()
    x = torch.ones(2, requires_grad=True); f(x).backward(); return x.grad


# --- GB0068 by tables, closures, partials
def checked(t): return torch.Tensor.is_neg(t)
TABLE = {"q": checked}
class Rules:
    def look(self, t): return torch.Tensor.is_conj(t)
rules = Rules()
def fn(bw):
    return type("Fn", (torch.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(bw)})
def go(compile, cls):
    @compile
    def f(x): return cls.apply(x).sum()
    x = torch.ones(2, requires_grad=True); f(x).backward(); return x.grad

@case("GB0068")
def by_table(compile): return go(compile, fn(lambda ctx, g: g * (3 if TABLE["q"](g) else 2)))

@case("GB0068")
def by_instance(compile): return go(compile, fn(lambda ctx, g: g * (3 if rules.look(g) else 2)))

@case("GB0068")
def by_partial(compile):
    p = functools.partial(torch.Tensor.is_neg)
    def bw(ctx, g): return g * (3 if p(g) else 2)
    return go(compile, fn(bw))

@case("GB0068")
def by_closure(compile):
    ask = torch.Tensor.is_neg
    def bw(ctx, g): return g * (3 if ask(g) else 2)
    return go(compile, fn(bw))

@case("GB0068")
def by_comp(compile):
    def bw(ctx, g): return g * sum(2 for t in (g * 1,) if not torch.Tensor.is_neg(t))
    return go(compile, fn(bw))

@case("GB0102")
def by_attr_loop(compile):
    def bw(ctx, g):
        for t in (g,):
            if t.is_conj(): return g
        return g * 2
    return go(compile, fn(bw))

@case("")
def of_forward(compile):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x): ctx.save_for_backward(x); return x * 2
        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (2 if x.layout is torch.strided else 3)
    return go(compile, F)
class Cfg: layout = 3
cfg = Cfg()

@case("")
def other_layout(compile):
    def bw(ctx, g): return g * cfg.layout
    return go(compile, fn(bw))
LOG = []

@case("GB0147", )
def effect(compile):
    LOG.clear()
    def bw(ctx, g):
        LOG.append(cfg.layout); return g * cfg.layout
    return go(compile, fn(bw)), list(LOG)

@case("")
def no_mention(compile):
    LOG.clear()
    def bw(ctx, g):
        LOG.append(3); return g * 2
    return go(compile, fn(bw)), list(LOG)

@case("")
def no_grad_needed(compile):
    cls = fn(lambda ctx, g: g if torch.Tensor.is_neg(g) else g * 2)
    @compile
    def f(x): return cls.apply(x)
    return f(torch.ones(2))

@case("GB0099")
def dis_cls(compile):
    class A:
        @torch.compiler.disable(recursive=False)
        def go(self, x): return x + 3
    class B(A):
        def go(self, x): return super().go(x) * 2
    @compile
    def f(x): return B().go(x) * 2
    return f(torch.ones(2))

@case("GB0070")
def tup_const(compile):
    T = (1, 2)
    @compile
    def f(x, i): return x + T[i]
    return f(torch.ones(2), torch.tensor(1))


# --- GB0069

@case("GB0069")
def imp_missing(compile):
    @compile
    def f(x):
        import no_such_thing_zz
        return x
    return f(torch.ones(2))

@case("GB0069")
def imp_missing_caught(compile):
    @compile
    def f(x):
        try:
            import no_such_thing_zz
        except ImportError:
            return x + 1
        return x
    return f(torch.ones(2))

@case("GB0069")
def imp_rel(compile):
    @compile
    def f(x):
        from .nothing_here import v
        return x
    return f(torch.ones(2))
sys.modules["blocked_zz"] = None

@case("GB0069")
def imp_blocked(compile):
    @compile
    def f(x):
        import blocked_zz
        return x
    return f(torch.ones(2))

@case("")
def imp_fine(compile):
    @compile
    def f(x):
        from math import pi
        import os.path as p
        return x + pi + len(p.sep)
    return f(torch.ones(2))

@case("")
def imp_stdlib_unloaded(compile):
    sys.modules.pop("colorsys", None)
    @compile
    def f(x):
        import colorsys
        return x + len(colorsys.__name__)
    return f(torch.ones(2))


# --- GB0070

@case("GB0070")
def lst_tensor(compile):
    @compile
    def f(x, i): return x + [1, 2, 3][i]
    return f(torch.ones(2), torch.tensor(1))

@case("GB0070")
def tup_tensor_deep(compile):
    t = (1, 2)
    def g(i): return t[i]
    @compile
    def f(x, i): return x + [g(k) for k in (i,)][0]
    return f(torch.ones(2), torch.tensor(1))

@case("GB0070")
def lst_argmax(compile):
    @compile
    def f(x):
        l = [x, x * 2]
        return l[x.argmax()]
    return f(torch.tensor([1., 2.]))

@case("GB0070")
def lst_getitem(compile):
    @compile
    def f(x, i): return x + operator.getitem([1, 2], i)
    return f(torch.ones(2), torch.tensor(1))

@case("GB0070")
def range_tensor(compile):
    @compile
    def f(x, i): return x + (4, 5).__getitem__(i)
    return f(torch.ones(2), torch.tensor(1))

@case("")
def lst_int(compile):
    @compile
    def f(x): return x + [1, 2][x.dim()]
    return f(torch.ones(2))


# --- GB0071
def with_self(x): return x + 1
with_self.__self__ = 3

@case("GB0071")
def fn_self(compile):
    @compile
    def f(x): return with_self(x)
    return f(torch.ones(2))

@case("GB0071")
def fn_self_deep(compile):
    class A:
        go = staticmethod(with_self)
    @compile
    def f(x): return [A.go(t) for t in (x,)][0]
    return f(torch.ones(2))

@case("GB0071")
def fn_self_partial(compile):
    p = functools.partial(with_self)
    @compile
    def f(x): return p(x)
    return f(torch.ones(2))
def none_self(x): return x + 1
none_self.__self__ = None

@case("")
def fn_self_none(compile):
    @compile
    def f(x): return none_self(x)
    return f(torch.ones(2))


# --- GB0072

@case("GB0072")
def inp_view(compile):
    @compile
    def f(x): return torch.Tensor.unsqueeze_(x, 0) + 1
    x = torch.ones(2); return f(x), x.shape[0]

@case("GB0072")
def inp_view_deep(compile):
    def g(t): return torch.Tensor.t_(t)
    @compile
    def f(x): return (lambda t: g(t))(x) + 1
    x = torch.ones(2, 3); return f(x), list(x.shape)

@case("GB0072")
def inp_view_squeeze(compile):
    @compile
    def f(x): return [torch.Tensor.squeeze_(a) for a in (x,)][0] * 2
    x = torch.ones(1, 2); return f(x), list(x.shape)

@case("")
def inp_view_own(compile):
    @compile
    def f(x): return torch.Tensor.unsqueeze_(x.clone(), 0) + 1
    return f(torch.ones(2))


# --- GB0075

@case("GB0075")
def cls_stmt(compile):
    @compile
    def f(x):
        class A: v = 1
        return x + A.v
    return f(torch.ones(2))

@case("GB0075")
def cls_deep(compile):
    def mk():
        class P:
            def go(self): return 2
        return P()
    @compile
    def f(x): return x + mk().go()
    return f(torch.ones(2))

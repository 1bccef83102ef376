"""Programs for codes GB0014 to GB0030: see conditions.py."""

# fmt: off
import functools
import math
import operator
import sys
import types

import minidynamo as torch
from graph_breaks.conditions import lister
from minidynamo._dynamo.comptime import comptime
from minidynamo._higher_order_ops import invoke_subgraph as isg

CASES = []
case = lister(CASES)


# --- GB0014

@case("GB0014")
def rnn_attr(compile):
    g = torch.nn.GRU(3, 4)
    @compile
    def f(x): return x + g.hidden_size
    return f(torch.ones(2))

@case("GB0014")
def rnn_module(compile):
    class M(torch.nn.Module):
        def __init__(self): super().__init__(); self.r = torch.nn.LSTM(3, 4)
        def size(self): return self.r.input_size
        def forward(self, x): return x + self.size()
    return compile(M())(torch.ones(2))

@case("GB0014")
def rnn_list(compile):
    ms = torch.nn.ModuleList([torch.nn.RNN(2, 2)])
    @compile
    def f(x): return x + sum(m.num_layers for m in ms)
    return f(torch.ones(2))

@case("GB0014")
def rnn_sub(compile):
    class My(torch.nn.LSTM): pass
    g = My(3, 4)
    @compile
    def f(x, m): return x + m.hidden_size
    return f(torch.ones(2), g)

@case("")
def rnn_cell_ok(compile):
    torch.manual_seed(0)
    g = torch.nn.GRUCell(2, 2)
    @compile
    def f(x): return g(x)
    return f(torch.ones(1, 2)).shape[0]


# --- GB0015 sparse

@case("GB0015")
def sparse_arg(compile):
    @compile
    def f(s): return s.to_dense() + 1
    return f(torch.eye(2).to_sparse())

@case("GB0015")
def sparse_attr(compile):
    class A: pass
    a = A(); a.s = torch.eye(2).to_sparse()
    def g(o): return o.s.to_dense()
    @compile
    def f(x): return x + g(a)
    return f(torch.ones(2))

@case("GB0015")
def sparse_list(compile):
    @compile
    def f(x, l): return x + torch.sparse.mm(l[0], x)
    return f(torch.ones(2, 2), [torch.sparse_coo_tensor(torch.tensor([[0], [1]]), torch.tensor([3.]), (2, 2))])

@case("GB0015")
def sparse_buffer(compile):
    class M(torch.nn.Module):
        def __init__(self): super().__init__(); self.adj = torch.eye(2).to_sparse()
        def forward(self, x): return torch.sparse.mm(self.adj, x)
    return compile(M())(torch.ones(2, 2))

@case("")
def sparse_not(compile):
    s = torch.eye(2).to_sparse()
    @compile
    def f(x, s): return x + 1
    return f(torch.eye(2).to_sparse().to_dense(), 1)


# --- GB0017

@case("GB0017")
def inv_sub(compile):
    @compile
    def f(x): return x + callable(torch._higher_order_ops.invoke_subgraph)
    return f(torch.ones(2))

@case("GB0017")
def inv_sub_deep(compile):
    class A:
        op = [isg]
        def name(self): return len(type(self.op[0]).__name__) > 0
    @compile
    def f(x): return x + A().name()
    return f(torch.ones(2))

@case("GB0017")
def inv_sub_closure(compile):
    op = isg
    @compile
    def f(x): return (lambda y: y + callable(op))(x)
    return f(torch.ones(2))


# --- GB0019
class Keep19(torch.autograd.Function):
    seen = []
    @staticmethod
    def forward(ctx, x):
        Keep19.seen.append(ctx); return x * 2
    @staticmethod
    def backward(ctx, g): return g * 2
class Store19(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, box):
        box.ctx = ctx; ctx.k = 3; return x * 2
    @staticmethod
    def backward(ctx, g): return g * 2, None
class Box: pass

@case("GB0019")
def ctx_obj_deep(compile):
    b = Box()
    def g(x): return Store19.apply(x, b)
    @compile
    def f(x): return g(x) + 1
    r = f(torch.ones(2)); return r, b.ctx.k
class Store19d(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, d):
        d["c"] = (ctx,); return x * 2
    @staticmethod
    def backward(ctx, g): return g * 2, None

@case("GB0019")
def ctx_dict(compile):
    d = {}
    @compile
    def f(x, d): return Store19d.apply(x, d)
    r = f(torch.ones(2), d); return r, len(d["c"])
class Fine19(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, d):
        ctx.n = 3; d["c"] = ctx.n; return x * 2
    @staticmethod
    def backward(ctx, g): return g * 2, None

@case("")
def ctx_ok(compile):
    d = {}
    @compile
    def f(x, d): return Fine19.apply(x, d)
    r = f(torch.ones(2), d); return r, d["c"]


# --- GB0022
sys.modules["odd_thing_22"] = 3
sys.modules["odd_thing_22b"] = types.SimpleNamespace(v=4)

@case("GB0022")
def imp_bad(compile):
    @compile
    def f(x):
        import odd_thing_22b
        return x + odd_thing_22b.v
    return f(torch.ones(2))

@case("GB0022")
def imp_from(compile):
    def g():
        from odd_thing_22b import v
        return v
    class A:
        def go(self): return g()
    @compile
    def f(x): return x + A().go()
    return f(torch.ones(2))

@case("GB0022")
def imp_as(compile):
    @compile
    def f(x):
        import odd_thing_22 as n
        return x + n
    return f(torch.ones(2))

@case("")
def imp_ok(compile):
    @compile
    def f(x):
        import math as m
        return x + m.pi
    return f(torch.ones(2))
class ModSub(types.ModuleType): v = 3
sys.modules["odd_thing_22c"] = ModSub("odd_thing_22c")

@case("")
def imp_sub_ok(compile):
    @compile
    def f(x):
        import odd_thing_22c as n
        return x + n.v
    return f(torch.ones(2))


# --- GB0023

@case("GB0023")
def zip_eq(compile):
    @compile
    def f(x): return x + (zip([1], [2]) == zip([1], [2]))
    return f(torch.ones(2))

@case("GB0023")
def map_eq_deep(compile):
    def g(a, b): return a.__eq__(b) is NotImplemented
    @compile
    def f(x): return x + g(map(abs, [1]), map(abs, [1]))
    return f(torch.ones(2))

@case("GB0023")
def enumerate_ne(compile):
    class A:
        def go(self, a, b): return a != b
    @compile
    def f(x): return x + A().go(zip([1]), zip([1]))
    return f(torch.ones(2))

@case("GB0023")
def op_eq(compile):
    @compile
    def f(x): return x + operator.eq(map(int, [1]), map(int, [1]))
    return f(torch.ones(2))

@case("")
def list_eq(compile):
    @compile
    def f(x): return x + ([1] == [1]) + (range(3) == range(3))
    return f(torch.ones(2))


# --- GB0025

@case("GB0025")
def gb_msg(compile):
    @compile
    def f(x):
        torch._dynamo.graph_break(msg="why"); return x + 1
    return f(torch.ones(2))

@case("GB0025")
def gb_deep(compile):
    def g(h): h()
    @compile
    def f(x):
        x = x + 1
        g(torch._dynamo.graph_break); return x * 2
    return f(torch.ones(2))

@case("GB0025")
def gb_partial(compile):
    p = functools.partial(torch._dynamo.graph_break, "m")
    class A:
        def go(self): p()
    @compile
    def f(x):
        A().go(); return x + 1
    return f(torch.ones(2))

@case("")
def gb_not_called(compile):
    @compile
    def f(x):
        b = torch._dynamo.graph_break
        return x + callable(b)
    return f(torch.ones(2))
F = torch.nn.functional


# --- GB0026
class S26(torch.Tensor): pass

@case("GB0026")
def sub_list(compile):
    @compile
    def f(x): return S26([1., 2.]).sum() + x
    return f(torch.ones(2)).as_subclass(torch.Tensor)

@case("GB0026")
def sub_sizes(compile):
    def g(): return S26(2, 3).fill_(1.)
    @compile
    def f(x): return (x + g().sum())
    return f(torch.ones(2)).as_subclass(torch.Tensor)

@case("")
def sub_tensor(compile):
    @compile
    def f(x): return S26(x) + 1
    return f(torch.ones(2)).as_subclass(torch.Tensor)

@case("GB0026")
def sub_none(compile):
    class A:
        def make(self): return S26()
    @compile
    def f(x): return x + A().make().numel()
    return f(torch.ones(2))


# --- GB0029

@case("GB0029")
def hook_inter(compile):
    @compile
    def f(x):
        y = x * 2
        y.register_hook(lambda g: g * 3)
        return y.sum()
    x = torch.ones(2, requires_grad=True); f(x).backward(); return x.grad

@case("GB0029")
def hook_inter_deep(compile):
    log = []
    class M(torch.nn.Module):
        def __init__(self): super().__init__(); self.w = torch.nn.Parameter(torch.ones(2))
        def watch(self, t): t.register_hook(hook=lambda g: log.append(g.sum().item()))
        def forward(self, x):
            y = x * self.w
            [self.watch(t) for t in (y,)]
            return y.sum()
    m = M(); compile(m)(torch.ones(2)).backward(); return m.w.grad, log

@case("GB0029")
def hook_inter_accum(compile):
    @compile
    def f(x):
        y = x * 2
        h = torch.Tensor.register_hook(y, torch.neg)
        h.remove()
        return y.sum()
    x = torch.ones(2, requires_grad=True); f(x).backward(); return x.grad

@case("")
def hook_input(compile):
    @compile
    def f(x):
        x.register_hook(lambda g: g * 3)
        return (x * 2).sum()
    x = torch.ones(2, requires_grad=True); f(x).backward(); return x.grad

@case("")
def hook_input_handle(compile):
    @compile
    def f(x):
        h = x.register_hook(lambda g: g * 3)
        y = (x * 2).sum()
        return y, h
    x = torch.ones(2, requires_grad=True); y, h = f(x); y.backward(); a = x.grad.clone(); x.grad = None
    h.remove(); (x * 2).sum().backward()
    return a, x.grad

@case("")
def hook_input_removed(compile):
    @compile
    def f(x):
        h = x.register_hook(lambda g: g * 3)
        y = (x * 2).sum()
        h.remove()
        return y
    x = torch.ones(2, requires_grad=True); f(x).backward(); return x.grad

@case("")
def hook_param(compile):
    class M(torch.nn.Module):
        def __init__(self): super().__init__(); self.w = torch.nn.Parameter(torch.ones(2)); self.n = 0
        def scale(self, g): return g * 5
        def forward(self, x):
            self.w.register_hook(self.scale)
            return (x * self.w).sum()
    m = M(); compile(m)(torch.ones(2)).backward(); return m.w.grad


# --- GB0030 0031 0032

@case("GB0030")
def comptime_gb(compile):
    @compile
    def f(x):
        comptime(lambda ctx: ctx.graph_break("m")); return x + 1
    return f(torch.ones(2))

@case("GB0030")
def comptime_gb_deep(compile):
    def act(ctx): ctx.graph_break(msg="x")
    class A:
        def go(self): comptime(act)
    @compile
    def f(x):
        A().go(); return x + 1
    return f(torch.ones(2))

@case("")
def comptime_ok(compile):
    @compile
    def f(x):
        comptime(lambda ctx: None); return x + 1
    return f(torch.ones(2))

@case("GB0030")
def comptime_static(compile):
    @compile
    def f(x):
        y = x * 2
        comptime.graph_break()
        return y
    return f(torch.ones(2))

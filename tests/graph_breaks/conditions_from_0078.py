"""Programs for codes GB0078 to GB0097: see conditions.py."""

# fmt: off
import collections
import functools

import minidynamo as torch
from graph_breaks.conditions import lister
from minidynamo.utils.checkpoint import checkpoint, noop_context_fn

CASES = []
case = lister(CASES)


# --- GB0078

@case("GB0078")
def nonstrict_in(compile):
    @compile
    def f(x):
        g = torch._dynamo.nonstrict_trace(lambda t: t + 1)
        return g(x)
    return f(torch.ones(2))

@case("GB0078")
def nonstrict_in_def(compile):
    class A:
        def mk(self):
            @torch._dynamo.nonstrict_trace
            def h(t): return t * 2
            return h
    @compile
    def f(x): return A().mk()(x)
    return f(torch.ones(2))


# --- GB0081

@case("GB0081")
def sym_method(compile):
    @compile(dynamic=True)
    def f(x): return x + x.shape[0].bit_length()
    return f(torch.ones(5))

@case("GB0081")
def sym_method_deep(compile):
    def g(n): return n.conjugate() if False else n.to_bytes(2, "little")[0]
    @compile(dynamic=True)
    def f(x): return x + (lambda: g(x.size(0)))()
    return f(torch.ones(5))

@case("")
def sym_method_static(compile):
    @compile(dynamic=False)
    def f(x): return x + x.shape[0].bit_length()
    return f(torch.ones(5))


# --- GB0082

@case("GB0082")
def del_global(compile):
    g = {"torch": torch, "v": 3, "__builtins__": __builtins__}
    exec("def f(x):\n    global v\n    del v\n    return x + 1\n", g)
    return compile(g["f"])(torch.ones(2)), "v" in g

@case("GB0082")
def del_deref(compile):
    @compile
    def f(x):
        y = 3
        def g(): return y
        del y
        return x + 1
    return f(torch.ones(2))


# --- GB0083

@case("GB0083")
def bw_hook(compile):
    m = torch.nn.Linear(2, 2); log = []
    m.register_full_backward_hook(lambda m, i, o: log.append(1))
    @compile
    def f(x): return m(x).sum()
    f(torch.ones(2)).backward(); return log

@case("GB0083")
def bw_pre_hook_deep(compile):
    log = []
    class M(torch.nn.Module):
        def __init__(self): super().__init__(); self.a = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
        def forward(self, x): return self.a(x).sum()
    m = M(); m.a[0].register_full_backward_pre_hook(lambda m, o: log.append(2))
    compile(m)(torch.ones(2)).backward(); return log

@case("GB0083")
def bw_hook_top(compile):
    m = torch.nn.Linear(2, 2); log = []
    m.register_full_backward_hook(lambda m, i, o: log.append(1))
    compile(m)(torch.ones(2)).sum().backward(); return log

@case("")
def fw_hook_ok(compile):
    m = torch.nn.Linear(2, 2, bias=False); torch.nn.init.ones_(m.weight)
    m.register_forward_hook(lambda m, i, o: o * 2)
    @compile
    def f(x): return m(x).sum()
    return f(torch.ones(2))


# --- GB0085
class F85(torch.autograd.Function):
    forward = functools.partial(lambda k, ctx, x: x * k, 2)
    @staticmethod
    def backward(ctx, g): return g

@case("GB0085")
def fwd_partial(compile):
    @compile
    def f(x): return F85.apply(x)
    return f(torch.ones(2))
class CallF:
    def __call__(self, ctx, x): return x * 3
class F85b(torch.autograd.Function):
    forward = CallF()
    @staticmethod
    def backward(ctx, g): return g

@case("GB0085")
def fwd_obj_deep(compile):
    def g(x): return F85b.apply(x)
    @compile
    def f(x): return (lambda t: g(t))(x)
    return f(torch.ones(2))


# --- GB0086 checkpoint context_fn
def ctxf(t): return noop_context_fn()

@case("GB0086")
def ckpt_partial(compile):
    t = torch.ones(1)
    @compile
    def f(x): return checkpoint(lambda a: a * 2, x, use_reentrant=False, context_fn=functools.partial(ctxf, t))
    return f(torch.ones(2, requires_grad=True))

@case("")
def ckpt_ok(compile):
    @compile
    def f(x): return checkpoint(lambda a: a * 2, x, use_reentrant=False, context_fn=noop_context_fn)
    return f(torch.ones(2, requires_grad=True))


# --- GB0086.. GB0087 0090
lib = torch.library.Library("ca_lib", "DEF") if hasattr(torch.library, "Library") else None
lib.define("nofake(Tensor x) -> Tensor")
lib.impl("nofake", lambda x: x * 2, "CPU")

@case("GB0090")
def op_nofake(compile):
    @compile
    def f(x): return torch.ops.ca_lib.nofake(x) + 1
    return f(torch.ones(2))

@case("GB0090")
def op_nofake_deep(compile):
    class A:
        def go(self, x): return torch.ops.ca_lib.nofake.default(x)
    @compile
    def f(x): return A().go(x) + 1
    return f(torch.ones(2))
@torch.library.custom_op("ca_lib2::notimpl", mutates_args=())
def notimpl(x: torch.Tensor) -> torch.Tensor: return x * 3
@notimpl.register_fake
def _(x): raise NotImplementedError("no")

@case("GB0087")
def op_notimpl(compile):
    @compile
    def f(x): return notimpl(x) + 1
    return f(torch.ones(2))
@torch._dynamo.allow_in_graph
def aig_ni(x, mode="a"):
    if mode != "a": raise NotImplementedError(mode)
    return x * 2

@case("GB0087")
def aig_notimpl(compile):
    def g(x): return aig_ni(x, mode="b")
    @compile
    def f(x): return g(x)
    return f(torch.ones(2))

@case("")
def aig_impl_ok(compile):
    @compile
    def f(x): return aig_ni(x, mode="a")
    return f(torch.ones(2))


# --- GB0088

@case("GB0088")
def raise_plain(compile):
    @compile
    def f(x): raise ValueError("no")
    return f(torch.ones(2))

@case("GB0088")
def raise_deep(compile):
    def a(d): return d["k"]
    def b(d): return a(d)
    @compile
    def f(x): return x + b({"j": 1})
    return f(torch.ones(2))

@case("GB0088")
def raise_int(compile):
    @compile
    def f(x): return x + int("q")
    return f(torch.ones(2))

@case("GB0088")
def raise_attr(compile):
    class A: pass
    @compile
    def f(x): return x + A().nope
    return f(torch.ones(2))

@case("GB0088")
def raise_next(compile):
    @compile
    def f(x): return x + next(iter([]))
    return f(torch.ones(2))

@case("")
def raise_caught(compile):
    @compile
    def f(x):
        try: raise ValueError("no")
        except ValueError as e: return x + len(str(e))
    return f(torch.ones(2))

@case("GB0088")
def raise_assert_method(compile):
    class A:
        def check(self): raise NotImplementedError
    @compile
    def f(x):
        A().check(); return x
    return f(torch.ones(2))

@case("GB0088")
def zero_div(compile):
    @compile
    def f(x): return x + 1 // 0
    return f(torch.ones(2))

@case("GB0088")
def list_remove(compile):
    @compile
    def f(x):
        a = [1]; a.remove(3); return x
    return f(torch.ones(2))


# --- GB0091

@case("GB0091")
def cell_empty(compile):
    @compile
    def f(x):
        def g(): return y
        r = g()
        y = 1
        return x + r
    return f(torch.ones(2))

@case("GB0091")
def cell_empty_deep(compile):
    class A:
        def go(self):
            fn = lambda: later
            v = [fn() for _ in range(1)]
            later = 3
            return v
    @compile
    def f(x): return x + A().go()[0]
    return f(torch.ones(2))


# --- GB0092

@case("GB0092")
def ret_dict_iter(compile):
    @compile
    def f(x): return x + 1, iter({"a": 1})
    r, it = f(torch.ones(2)); return r, list(it)

@case("GB0092")
def live_dict_iter(compile):
    @compile
    def f(x, d):
        it = iter(d.items())
        k, v = next(it)
        return x + v, it
    r, it = f(torch.ones(2), {"a": 1, "b": 2}); return r, list(it)

@case("")
def ret_list_iter(compile):
    @compile
    def f(x): return x + 1, iter([1, 2])
    r, it = f(torch.ones(2)); return r, list(it)


# --- GB0094
class OnlyNext:
    def __init__(self): self.n = 0
    def __next__(self):
        self.n += 1
        if self.n > 2: raise StopIteration
        return self.n
class Src:
    def __iter__(self): return OnlyNext()

@case("GB0094")
def send_bad(compile):
    def g(): yield from Src()
    @compile
    def f(x): return x + sum(g())
    return f(torch.ones(2))

@case("GB0094")
def send_bad_deep(compile):
    class A:
        def gen(self):
            r = yield from Src()
            yield 10
    @compile
    def f(x): return [x + v for v in A().gen()][-1]
    return f(torch.ones(2))


# --- GB0095

@case("GB0095")
def set_tb(compile):
    @compile
    def f(x):
        e = ValueError()
        e.__traceback__ = 3
        return x
    return f(torch.ones(2))

@case("GB0095")
def set_tb_copy(compile):
    def g():
        a = ValueError("a")
        try: raise KeyError
        except KeyError as k: a.__traceback__ = k.__traceback__
        return a
    @compile
    def f(x):
        g(); return x + 1
    return f(torch.ones(2))

@case("")
def set_tb_none(compile):
    @compile
    def f(x):
        e = ValueError(); e.__traceback__ = None
        return x + len(e.args)
    return f(torch.ones(2))


# --- GB0097

@case("GB0097")
def dq(compile):
    d = collections.deque([1, 2], maxlen=3)
    @compile
    def f(x): d.append(3); return x + len(d)
    return f(torch.ones(2)), list(d)

@case("GB0097")
def dq_deep(compile):
    class M(torch.nn.Module):
        def __init__(self): super().__init__(); self.h = collections.deque(maxlen=2)
        def note(self, x): self.h.appendleft(x.shape[0])
        def forward(self, x): self.note(x); return x + 1
    m = M(); c = compile(m); return c(torch.ones(2)), list(m.h)

@case("GB0097")
def dq_pop(compile):
    d = collections.deque([1, 2], maxlen=3)
    @compile
    def f(x, d): return x + d.pop()
    return f(torch.ones(2), d), list(d)

@case("GB0097")
def dq_iadd(compile):
    d = collections.deque([1, 2], 3)
    @compile
    def f(x, d):
        d += [7, 8]
        return x
    return f(torch.ones(2), d), list(d)

@case("")
def dq_ok(compile):
    d = collections.deque([1, 2])
    @compile
    def f(x):
        e = collections.deque(maxlen=1); e.append(1); e.append(2)
        d.append(3); return x + len(d) + e[0]
    return f(torch.ones(2)), list(d)

"""Programs for codes GB0098 to GB0109: see conditions.py."""

# fmt: off
import functools
import types

import minidynamo as torch
from graph_breaks.conditions import lister


CASES = []
case = lister(CASES)


class Box: pass


# --- GB0098 99
@torch.compiler.disable
def dis(x): return x * 2
@torch.compiler.disable(recursive=False)
def dis_nr(x): return x * 2

@case("GB0098")
def dis_plain(compile):
    @compile
    def f(x): return dis(x + 1)
    return f(torch.ones(2))

@case("GB0098")
def dis_deep(compile):
    def g(h, x): return h(x)
    @compile
    def f(x): return g(dis, x) + 1
    return f(torch.ones(2))

@case("GB0098")
def dis_map(compile):
    @compile
    def f(x): return list(map(dis, [x, x]))[0]
    return f(torch.ones(2))

@case("GB0099")
def disnr_plain(compile):
    @compile
    def f(x): return dis_nr(x + 1)
    return f(torch.ones(2))

@case("GB0099")
def dis_method(compile):
    class A:
        @torch.compiler.disable
        def go(self, x): return x + 3
    a = A()
    @compile
    def f(x): return a.go(x) * 2
    return f(torch.ones(2))

@case("GB0099")
def disnr_partial(compile):
    p = functools.partial(dis_nr)
    @compile
    def f(x): return p(x) * 2
    return f(torch.ones(2))


# --- GB0100 / 0101
H100 = None

@case("GB0100")
def glob_handle(compile):
    @compile
    def f(x):
        global H100
        H100 = x.register_hook(lambda g: g * 2)
        return (x * 2).sum()
    x = torch.ones(2, requires_grad=True); f(x).backward(); return x.grad, H100 is None

@case("GB0100")
def glob_handle_deep(compile):
    def keep(h):
        global H100
        H100 = h
    @compile
    def f(x):
        keep(x.register_hook(lambda g: g * 2))
        return (x * 2).sum()
    x = torch.ones(2, requires_grad=True); f(x).backward(); H100.remove(); return x.grad
other = types.ModuleType("other101")
exec("def keep(t):\n    global H\n    H = t.register_hook(lambda g: g * 4)\n", other.__dict__)

@case("GB0101")
def other_glob(compile):
    @compile
    def f(x):
        other.keep(x); return (x * 2).sum()
    x = torch.ones(2, requires_grad=True); f(x).backward(); return x.grad, hasattr(other, "H")

@case("GB0101")
def other_glob_deep(compile):
    g = {"__builtins__": __builtins__}
    exec("def put(h):\n    global K\n    K = h\n", g)
    class A:
        def go(self, h): g["put"](h)
    a = A()
    @compile
    def f(x):
        a.go(x.register_hook(torch.neg)); return (x * 2).sum()
    x = torch.ones(2, requires_grad=True); f(x).backward(); return x.grad, "K" in g

@case("")
def attr_handle(compile):
    b = Box()
    @compile
    def f(x):
        b.h = x.register_hook(lambda g: g * 2)
        return (x * 2).sum()
    x = torch.ones(2, requires_grad=True); f(x).backward(); b.h.remove(); return x.grad


# --- GB0103
class S103(torch.Tensor):
    def __setitem__(self, k, v): torch.Tensor.__setitem__(self, k, v); 

@case("GB0103")
def set_over(compile):
    @compile
    def f(x):
        x[0] = 3.; return x + 1
    return f(torch.zeros(2).as_subclass(S103)).tolist()


# --- GB0109, 0104, 0105, 0107, 0108, 0110

@case("GB0109")
def tolist_float(compile):
    @compile
    def f(x): return x.tolist()
    return f(torch.ones(2))

@case("GB0109")
def tolist_bool_deep(compile):
    def g(x): return [v for v in (x > 0).tolist()]
    @compile
    def f(x): return x + sum(g(x))
    return f(torch.ones(2))

@case("GB0109")
def tolist_unbound(compile):
    @compile
    def f(x): return torch.Tensor.tolist(x.double())
    return f(torch.ones(2))

@case("GB0109")
def tolist_0d(compile):
    class A:
        def __init__(self, x): self.x = x
        def values(self): return self.x.sum().tolist()
    @compile
    def f(x): return A(x).values()
    return f(torch.ones(2))

@case("GB0109")
def tolist_half(compile):
    @compile
    def f(x): return list(map(lambda r: r.tolist(), [x.half()]))
    return f(torch.ones(2))

@case("GB0104")
def grad_fn_plain(compile):
    @compile
    def f(x):
        y = x * 2
        return y, y.grad_fn is None
    return f(torch.ones(2, requires_grad=True))

@case("GB0104")
def grad_fn_getattr_deep(compile):
    def g(t): return getattr(t, "grad_fn") is not None
    class A:
        def see(self, t): return g(t)
    @compile
    def f(x): return x + A().see(x)
    return f(torch.ones(2, requires_grad=True) * 2)

@case("GB0104")
def grad_fn_name(compile):
    @compile
    def f(x): return x + len([t.grad_fn.name() for t in (x.sin(),)])
    return f(torch.ones(2, requires_grad=True))

@case("")
def grad_fn_none(compile):
    @compile
    def f(x): return x + (x.grad_fn is None)
    return f(torch.ones(2, requires_grad=True))

@case("")
def grad_fn_nograd(compile):
    @compile
    def f(x):
        y = x * 2
        return y + (y.grad_fn is None)
    return f(torch.ones(2))

@case("GB0105", trace_numpy=False)
def numpy_off(compile):
    @compile
    def f(x): return x.numpy() + 1
    return f(torch.ones(2))

@case("GB0105", trace_numpy=False)
def numpy_off_deep(compile):
    class A:
        def arr(self, x): return x.detach().numpy(force=True)
    @compile
    def f(x): return A().arr(x).sum()
    return f(torch.ones(2))

@case("GB0105", trace_numpy=False)
def numpy_off_unbound(compile):
    @compile
    def f(x): return [torch.Tensor.numpy(t) for t in [x]]
    return f(torch.ones(2))

@case("")
def numpy_on(compile):
    @compile
    def f(x): return x.numpy() + 1
    return f(torch.ones(2))

@case("GB0107")
def random_(compile):
    @compile
    def f(x): return x.clone().random_(0, 10)
    return f(torch.ones(2))

@case("GB0107")
def random_kw_deep(compile):
    class A:
        def fill(self, t): t.random_(to=5); return t
    @compile
    def f(x): return (lambda q: A().fill(q))(x + 1)
    return f(torch.ones(2))

@case("GB0107")
def random_input(compile):
    @compile
    def f(x):
        x.random_(); return x + 1
    x = torch.ones(2, dtype=torch.int64); r = f(x)
    return r, x

@case("GB0107")
def random_unbound(compile):
    @compile
    def f(x): return [torch.Tensor.random_(t, 3) for t in [x * 2]]
    return f(torch.ones(2))

@case("")
def randint_ok(compile):
    @compile
    def f(x): return x + torch.randint(0, 10, (2,))
    return f(torch.ones(2)).shape[0]

@case("GB0108")
def retain(compile):
    @compile
    def f(x):
        y = x * 2; y.retain_grad(); return y
    x = torch.ones(2, requires_grad=True)
    y = f(x); y.sum().backward(); return y.grad, x.grad

@case("GB0108")
def retain_read_deep(compile):
    def g(t): return callable(getattr(t, "retain_grad"))
    @compile
    def f(x): return x + [g(t) for t in (x,)][0]
    return f(torch.ones(2))

@case("GB0108")
def retain_unbound(compile):
    @compile
    def f(x):
        y = x * 2; torch.Tensor.retain_grad(y); return y.sum()
    x = torch.ones(2, requires_grad=True)
    f(x).backward(); return x.grad

@case("GB0108")
def retain_method(compile):
    class M(torch.nn.Module):
        def __init__(self): super().__init__(); self.w = torch.nn.Parameter(torch.ones(2))
        def forward(self, x):
            self.h = x * self.w
            self.keep(self.h); return self.h.sum()
        def keep(self, t): t.retain_grad()
    m = M(); compile(m)(torch.ones(2)).backward()
    return m.w.grad, m.h.grad

@case("")
def retains_ok(compile):
    @compile
    def f(x): return x + x.requires_grad
    return f(torch.ones(2))

@case("GB0110")
def unif_from(compile):
    @compile
    def f(x): return x.clone().uniform_(**{"from": 0., "to": 1.})
    return f(torch.ones(2))

@case("GB0110")
def unif_from_deep(compile):
    class A:
        def fill(self, t, **k): return t.uniform_(**k)
    @compile
    def f(x): return A().fill(x + 1, **{"from": -1.0})
    return f(torch.ones(2))

@case("GB0110")
def unif_partial(compile):
    opts = {"from": 2.0, "to": 3.0}
    def g(t): return functools.partial(t.uniform_, **opts)()
    @compile
    def f(x): return [g(t) for t in [x * 1]]
    return f(torch.ones(2))

@case("GB0110")
def unif_unbound(compile):
    @compile
    def f(x): return torch.Tensor.uniform_(x, **{"from": 0.5})
    x = torch.zeros(2); f(x); return x

@case("")
def unif_ok(compile):
    @compile
    def f(x): return x.clone().uniform_(0., to=1.).shape[0]
    return f(torch.ones(2))

@case("")
def unif_to(compile):
    @compile
    def f(x): return x.clone().uniform_(to=2.).shape[0]
    return f(torch.ones(2))

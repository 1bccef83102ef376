"""Programs whose breaks are in odd places: see conditions.py."""

# fmt: off
import collections
import contextlib
import dataclasses
import functools
import types
import unittest
from collections import deque
import minidynamo as torch
from frontend.differential import Box
from graph_breaks.conditions import leaf, lister, one

CASES = []
case = lister(CASES)
nn = torch.nn

@case("GB0088")
def err_shape(compile):
    def check(x, n):
        if x.shape[-1] != n: raise ValueError(f"expected {n}, got {tuple(x.shape)}")
        return x
    return compile(lambda x: check(x, 3))(one())

@case("GB0088")
def err_dataclass(compile):
    @dataclasses.dataclass(frozen=True)
    class P: a: int
    p = P(1)
    @compile
    def f(x):
        p.a = 2
        return x
    return f(one())

@case("GB0091")
def cell_recursive(compile):
    @compile
    def f(x):
        def a(n): return x if n == 0 else b(n - 1)
        r = a(1)
        def b(n): return a(n)
        return r
    return f(one())

@case("GB0092")
def ret_dict_items_iter(compile):
    class A:
        def stream(self, d): return iter(d.values())
    r = compile(lambda x: (x, A().stream({"a": 1})))(one())
    return list(r[1])

@case("GB0097")
def dq_attr_loop(compile):
    class Buf:
        def __init__(self): self.q = deque(maxlen=2)
        def push(self, v): self.q.append(v); return self
    b = Buf()
    @compile
    def f(x):
        for i in range(3): b.push(i)
        return x + sum(b.q)
    return f(one()), list(b.q)

@case("GB0098")
def dis_lambda(compile):
    g = torch.compiler.disable(lambda x: x + 4)
    h = {"f": g}
    return compile(lambda x: h["f"](x) * 2)(one())

@case("GB0098")
def dis_sorted_key(compile):
    @torch.compiler.disable
    def key(v): return -v
    return compile(lambda x: (x + 1, sorted([1, 2], key=key)))(one())

@case("GB0099")
def dis_submodule(compile):
    class Sub(nn.Module):
        @torch._dynamo.disable
        def forward(self, x): return x * 3
    class M(nn.Module):
        def __init__(self): super().__init__(); self.s = Sub()
        def forward(self, x): return self.s(x + 1) * 2
    return compile(M())(one())

@case("GB0099")
def dis_inherit(compile):
    class A:
        @torch.compiler.disable
        def go(self, x): return x + 1
    class B(A):
        def go(self, x): return super().go(x) * 2
    b = B()
    return compile(lambda x: b.go(x))(one())
HG = None

@case("GB0100")
def hook_module_global(compile):
    class M(nn.Module):
        def __init__(self): super().__init__(); self.w = nn.Parameter(torch.ones(2))
        def forward(self, x):
            global HG
            HG = self.w.register_hook(lambda g: g * 2)
            return (self.w * x).sum()
    m = M(); compile(m)(one()).backward(); HG.remove(); return m.w.grad

@case("GB0103")
def sub_setitem_child(compile):
    class S(torch.Tensor):
        def __setitem__(self, k, v): super().__setitem__(k, v)
    class C(S): pass
    def put(t, v): t[0] = v
    @compile
    def f(x): put(x, 3.); return x + 1
    return f(one().as_subclass(C)).tolist()

@case("GB0104")
def gradfn_partial(compile):
    def names(ts): return [t.grad_fn is None for t in ts]
    return compile(lambda x: (x + 1, names([x.detach(), x * 2])))(leaf())

@case("GB0107")
def random_clone(compile): return compile(lambda x: x.clone().random_(0, 1) + x)(one())

@case("GB0108")
def retain_loop(compile):
    @compile
    def f(xs):
        ys = [x * 2 for x in xs]
        for y in ys: y.retain_grad()
        return sum(y.sum() for y in ys), ys
    w = leaf(); s, ys = f([w]); s.backward(); return ys[0].grad

@case("GB0109")
def tolist_item_scalar(compile): return compile(lambda x: {"v": x.sum().tolist()})(one())

@case("GB0110")
def uniform_partial(compile):
    p = functools.partial(torch.Tensor.uniform_, **{"from": 1.0, "to": 1.0})
    return compile(lambda x: p(x) + 1)(one())

@case("GB0002")
def dyn_prod(compile):
    class M(nn.Module):
        def forward(self, x):
            b, c = x.shape
            assert b * c > 100, "small"
            return x.view(-1)
    return compile(M(), dynamic=True)(torch.ones(3, 4))

@case("GB0002")
def dyn_nested_helper(compile):
    def need(a, b): assert a == b, "differ"
    return compile(lambda x, y: (need(x.shape[0], y.shape[0]), x.sum() + y.sum())[1], dynamic=True)(torch.ones(3), torch.ones(4))

@case("GB0002")
def dyn_loop(compile):
    @functools.partial(compile, dynamic=True)
    def f(xs):
        for x in xs: assert x.size(-1) <= 3
        return sum(x.sum() for x in xs)
    return f([torch.ones(3), torch.ones(4)])

@case("")
def dyn_ok(compile):
    class M(nn.Module):
        def forward(self, x):
            b, c = x.shape
            assert c % 2 == 0, "even"
            return x.view(b, 2, -1).sum(1)
    return compile(M(), dynamic=True)(torch.ones(3, 4))

@case("GB0010")
def del_setattr_dict(compile):
    class A: pass
    a = A(); a.v = 1
    def wipe(o, names):
        for n in names: delattr(o, n)
    @compile
    def f(x):
        try: wipe(a, ["v", "v"])
        except AttributeError: return x * 2
        return x
    return f(one())

@case("GB0012")
def dotted_loop(compile):
    def f(x, n):
        for _ in range(n): acc = x
        return acc
    c = f.__code__
    g = types.FunctionType(c.replace(co_varnames=tuple(".z" if v == "acc" else v for v in c.co_varnames)), f.__globals__, "f")
    class A: go = staticmethod(g)
    return compile(lambda x: A.go(x, 0))(one())

@case("GB0017")
def hop_in_list(compile):
    from minidynamo._higher_order_ops import invoke_subgraph as op
    ops = {"a": op}
    return compile(lambda x: x + len([o for o in ops.values() if o is not None]))(one())

@case("GB0018")
def unb_module(compile):
    from minidynamo.fx.experimental.symbolic_shapes import ShapeEnv
    class M(nn.Module):
        def __init__(self): super().__init__(); self.n = ShapeEnv().create_unbacked_symint()
        def forward(self, x):
            k = self.n
            return x + (k is None)
    return compile(M())(one())

@case("GB0019")
def ctx_tuple_nonlocal(compile):
    last = None
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            nonlocal last
            last = ctx
            return x + 1
        @staticmethod
        def backward(ctx, g): return g
    return compile(lambda x: F.apply(x))(one()), last is not None

@case("GB0030")
def comptime_hook(compile):
    from minidynamo._dynamo.comptime import comptime
    l = nn.ReLU()
    def hook(m, i, o): comptime(lambda ctx: ctx.graph_break(msg="hook")); return o
    l.register_forward_hook(hook)
    return compile(lambda x: l(x) + 1)(one())

@case("GB0031")
def pinned_child(compile):
    class Sub(nn.Module):
        torchdynamo_force_dynamic = False
        def __getattribute__(self, n):
            if n == "gain": print("gain"); return 2
            return super().__getattribute__(n)
        def forward(self, x): return x * self.gain
    class M(nn.Module):
        def __init__(self): super().__init__(); self.s = Sub()
        def forward(self, x): return self.s(x)
    return compile(M())(one())

@case("GB0032")
def pinned_dict_get(compile):
    class Sub(nn.Module):
        torchdynamo_force_dynamic = False
        def __init__(self): super().__init__(); self.k = 2
        def __getattribute__(self, n): return super().__getattribute__(n)
    s = Sub()
    def has(m, n): return n in m.__dict__.keys() or n in m.__dict__
    return compile(lambda x: x + has(s, "k"))(one())

@case("GB0053")
def fsdp_in_seq(compile):
    m = nn.Sequential(nn.ReLU(), nn.Tanh()); m[1]._is_fsdp_managed_module = True
    return compile(lambda x: m(x))(one())

@case("GB0060", enable_trace_unittest=True)
def warns_getattr(compile):
    class T(unittest.TestCase):
        def runTest(self): pass
    t = T()
    return compile(lambda x: (x + 1, callable(getattr(t, "assertWarns"))))(one())

@case("GB0064")
def quant_dict(compile):
    d = {"q": torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.quint8)}
    class M(nn.Module):
        def forward(self, d): return d["q"].dequantize() + d["q"].int_repr().float()
    return compile(M())(d)

@case("GB0072")
def swap_inplace(compile):
    def go(op, x, *a): op(x, *a); return x * 2
    return compile(lambda x: go(torch.Tensor.swapaxes_, x, 0, 1))(torch.ones(2, 3))

@case("GB0072")
def squeeze_dim_kw(compile): return compile(lambda x: torch.Tensor.squeeze_(x, dim=0) + 1)(torch.ones(1, 2))

@case("GB0081")
def sym_bitlen_module(compile):
    class M(nn.Module):
        def bits(self, n): return n.bit_length()
        def forward(self, x): return x * self.bits(x.shape[0])
    return compile(M(), dynamic=True)(torch.ones(6))

@case("GB0086")
def ckpt_list(compile):
    from minidynamo.utils.checkpoint import checkpoint
    def ctx(a, b): return contextlib.nullcontext(), contextlib.nullcontext()
    class M(nn.Module):
        def __init__(self): super().__init__(); self.w = nn.Parameter(torch.ones(2))
        def body(self, x): return torch.relu(x * self.w)
        def forward(self, x): return checkpoint(self.body, x, use_reentrant=False, context_fn=functools.partial(ctx, 1, self.w))
    return compile(M())(one())

@case("GB0087")
def ni_method(compile):
    @torch.library.custom_op("cfe1::later", mutates_args=())
    def later(x: torch.Tensor, k: float = 1.0) -> torch.Tensor: return x * k
    @later.register_fake
    def _(x, k=1.0):
        if k > 1: raise NotImplementedError("k")
        return torch.empty_like(x)
    f = compile(lambda x: later(x, k=2.0) + later(x))
    return f(one())

@case("GB0087")
def ni_default_fine(compile):
    class Op:
        @staticmethod
        @torch._dynamo.allow_in_graph
        def run(x): raise NotImplementedError
    def go(x):
        try: return Op.run(x)
        except NotImplementedError: return x - 1
    return compile(lambda x: go(x))(one())

@case("GB0105", trace_numpy=False)
def np_module(compile):
    class M(nn.Module):
        def stats(self, x): return x.numpy().mean()
        def forward(self, x): return x * 2, float(self.stats(x))
    return compile(M())(one())

@case("GB0102")
def strict_conj_fn(compile):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x): return x * 3
        @staticmethod
        def backward(ctx, g):
            scale = 2 if g.is_conj() else 3
            return g * scale
    class M(nn.Module):
        def __init__(self): super().__init__(); self.w = nn.Parameter(torch.ones(2))
        def forward(self, x): return F.apply(self.w * x).sum()
    m = M(); compile(m)(one()).backward(); return m.w.grad

@case("GB0068")
def strict_unbound_helper(compile):
    def pinned(g): return torch.Tensor.is_pinned(g)
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x): ctx.save_for_backward(x); return x.exp()
        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x.exp() if not pinned(g) else g
    w = leaf(); compile(lambda x: F.apply(x).sum())(w).backward(); return w.grad

@case("GB0001")
def as_sub_inst_class(compile):
    class S(torch.Tensor): pass
    s = one().as_subclass(S)
    return compile(lambda x, s: x.as_subclass(s.__class__) + 1)(one(), s).tolist()

@case("GB0045")
def inf_any(compile): return compile(lambda xs: [x.is_inference() for x in xs])([one(), one()])

@case("GB0046")
def inf_prop(compile):
    class A:
        @property
        def mode(self): return torch.is_inference_mode_enabled()
    a = A()
    return compile(lambda x: x + a.mode)(one())

@case("GB0056")
def data_swap(compile):
    @compile
    def f(x):
        a, b = x * 1, x * 2
        a.data, b.data = b.data, a.data
        return a, b
    return f(one())

@case("GB0058")
def hooks_set_module(compile):
    class M(nn.Module):
        def forward(self, x):
            x._backward_hooks = collections.OrderedDict()
            return x * 2
    return compile(M())(one())

@case("GB0062")
def star_mid(compile):
    def parse(v):
        a, *b, c = v
        return c
    @compile
    def f(x):
        try: return parse(3.5)
        except TypeError: return x * 2
    return f(one())

@case("GB0063")
def unpack_for_zip(compile):
    class P: pass
    @compile
    def f(x):
        for i, (a, b) in enumerate([(1, 2), P()]): x = x + a
        return x
    try: return f(one())
    except TypeError as e: return str(e)

@case("GB0067")
def hop_counter_attr(compile):
    class C:
        def __init__(self): self.calls = 0
        def body(self, t): self.calls += 1; return t.cos()
    c = C()
    from minidynamo.utils.checkpoint import checkpoint
    return compile(lambda x: checkpoint(c.body, x, use_reentrant=False))(leaf()), c.calls

@case("GB0070")
def dict_of_lists(compile):
    return compile(lambda d, i, x: x + d["a"][i])({"a": [1, 2]}, torch.tensor(1), one())

@case("GB0077")
def zip_unpack(compile):
    @compile
    def f(x):
        for a, b in zip([1], [2], [3]): x = x + a
        return x
    return f(one())

@case("GB0095")
def tb_with_traceback(compile):
    @compile
    def f(x):
        try: raise KeyError("k")
        except KeyError as k:
            e = ValueError("v").with_traceback(k.__traceback__)
        return x + len(e.args)
    return f(one())

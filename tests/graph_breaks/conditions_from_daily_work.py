"""Programs as people write them every day: see conditions.py."""

# fmt: off
import contextlib
import datetime
import decimal
import enum
import functools
import sys
import typing
from collections import namedtuple
import minidynamo as torch
from frontend.differential import Box
from graph_breaks.conditions import leaf, lister, one

CASES = []
case = lister(CASES)
nn = torch.nn

@case("GB0003")
def gen_static(compile):
    class A:
        @staticmethod
        def g(x):
            for i in range(2): yield x * i
    return [t.tolist() for t in compile(A.g)(one())]

@case("GB0005")
def str_fmt_decimal(compile):
    d = decimal.Decimal("2.50")
    class M(nn.Module):
        def forward(self, x):
            return x + 1, "%s" % str(d)
    return compile(M())(one())

@case("GB0005")
def str_kwonly(compile):
    def show(*, when): return str(when)
    d = datetime.date(2021, 1, 1)
    return compile(lambda x: (x, show(when=d)))(one())

@case("GB0006")
def super_prop_call(compile):
    class Op:
        def __call__(self, x): return x * 7
    class A:
        op = Op()
    class B(A):
        @property
        def doubled(self): return lambda x: super(B, self).op(x)
    b = B()
    return compile(lambda x: b.doubled(x))(one())

@case("GB0006")
def super_cls_instance(compile):
    class A:
        helper = functools.partial(max, 3)
    class B(A):
        @classmethod
        def go(cls, v): return super().helper(v)
    return compile(lambda x: x + B.go(2))(one())

@case("GB0007")
def c_builtin_callback(compile):
    import zlib
    return compile(lambda x: (x + 1, list(map(zlib.crc32, [b"a", b"b"]))))(one())

@case("GB0007")
def c_method_partial(compile):
    import time
    p = functools.partial(time.strftime, "%Y")
    return compile(lambda x: (x + 1, len(p())))(one())

@case("GB0011")
def unbound_with(compile):
    @compile
    def f(x, c):
        with torch.no_grad():
            if c: y = x * 2
        return y
    try: return f(one(), False)
    except UnboundLocalError as e: return str(e)

@case("GB0011")
def unbound_second_call(compile):
    @compile
    def f(x, c):
        if c: y = x * 2
        return y
    r = [f(one(), True)]
    try: f(one(), False)
    except UnboundLocalError as e: r.append(str(e))
    return r

@case("GB0011")
def unbound_aug(compile):
    def inner(x):
        total += x
        return total
    return compile(lambda x: inner(x))(one())

@case("GB0014")
def rnn_param(compile):
    class M(nn.Module):
        def __init__(self): super().__init__(); self.rnn = nn.LSTM(2, 2, batch_first=True)
        def forward(self, x):
            ps = [p.shape for p in self.rnn.parameters()]
            return x + len(ps)
    return compile(M())(one())

@case("GB0014")
def rnn_global_hook(compile):
    r = nn.GRU(2, 3)
    def width(m=r): return m.hidden_size
    return compile(lambda x: x * width())(one())

@case("GB0015")
def sparse_closure(compile):
    s = torch.eye(2).to_sparse()
    def mul(x): return torch.sparse.mm(s, x)
    return compile(lambda x: mul(x) + 1)(torch.ones(2, 2))

@case("GB0015")
def sparse_namedtuple(compile):
    P = namedtuple("P", "a b")
    return compile(lambda p: p.a.to_dense() + p.b)(P(torch.eye(2).to_sparse(), torch.ones(2, 2)))

@case("GB0019")
def ctx_returned_global(compile):
    holder = Box(c=None)
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            holder.c = [ctx]
            return x.clone()
        @staticmethod
        def backward(ctx, g): return g
    return compile(lambda x: F.apply(x) * 2)(one()), len(holder.c)

@case("GB0022")
def import_alias_property(compile):
    class Mod:
        @property
        def k(self): return 5
    sys.modules["b1_weird"] = Mod()
    @compile
    def f(x):
        from b1_weird import k as kk
        return x * kk
    return f(one())

@case("GB0025")
def gb_in_property(compile):
    class A:
        @property
        def v(self): torch._dynamo.graph_break(); return 3
    a = A()
    return compile(lambda x: x * a.v)(one())

@case("GB0025")
def gb_in_comp(compile):
    def f2(x):
        torch._dynamo.graph_break(); return x
    return compile(lambda x: sum([f2(x) for _ in range(2)]))(one())

@case("GB0026")
def sub_kw_data(compile):
    class S(torch.Tensor): pass
    @compile
    def f(x):
        try: return S(data=x)
        except TypeError: return x * 2
    return f(one()).tolist()

@case("GB0033")
def equal_in_assert(compile):
    @compile
    def f(x):
        assert torch.equal(x, x), "same"
        return x + 1
    return f(one())

@case("GB0033")
def equal_in_while(compile):
    @compile
    def f(x):
        n = 0
        while not x.equal(torch.ones(2) * 3) and n < 5:
            x = x + 1; n += 1
        return x, n
    return f(one())

@case("GB0033")
def equal_operator(compile):
    return compile(lambda x: functools.reduce(torch.equal, [x, x]))(one())

@case("GB0036")
def nz_astuple(compile): return compile(lambda x: torch.nonzero(x, as_tuple=True)[0] + 1)(one())

@case("GB0036")
def nz_deep_loop(compile):
    class M(nn.Module):
        def forward(self, x):
            out = []
            for row in x: out.append(row[row > 0].sum())
            return torch.stack(out)
    return compile(M())(torch.ones(2, 2))

@case("GB0036")
def nz_uniq_kw(compile): return compile(lambda x: torch.unique(x, return_inverse=True, dim=0)[1])(torch.ones(2, 2))

@case("GB0038")
def slice_tuple_index(compile): return compile(lambda x, n: x[0, :n])(torch.ones(2, 4), torch.tensor(2))

@case("GB0038")
def slice_del(compile):
    @compile
    def f(x, n):
        l = [1, 2, 3, 4]
        del l[n:]
        return x + sum(l)
    return f(one(), torch.tensor(2))

@case("GB0041")
def cond_method_mut(compile):
    class A:
        def __init__(self): self.t = torch.zeros(2)
        def bump(self, x): self.t.mul_(2); return x + self.t
    a = A()
    return compile(lambda x: torch.cond(x.sum() > 0, a.bump, lambda x: x - 1, (x,)))(one())

@case("GB0049")
def packet_wrong_dtype(compile):
    @compile
    def f(x):
        try: return torch.ops.aten.view(x, "a")
        except (RuntimeError, TypeError): return x * 2
    return f(one())

@case("GB0050")
def exc_bad_property(compile):
    class A:
        @property
        def errors(self): return {"ValueError"}
    a = A()
    @compile
    def f(x):
        try: int("z")
        except a.errors: return x
        return x
    return f(one())

@case("GB0051")
def exc_tuple_add(compile):
    base = (KeyError,)
    @compile
    def f(x):
        try: int("z")
        except base + (1,): return x
        return x
    return f(one())

@case("GB0054")
def enum_str_method(compile):
    class K(str, enum.Enum):
        A = "a"
        @classmethod
        def parse(cls, s): return cls(s)
    @compile
    def f(x, s):
        try: k = K.parse(s)
        except ValueError: return x - 1
        return x
    return f(one(), "zz")

@case("GB0055")
def aig_set(compile):
    g = torch.compiler.allow_in_graph(lambda x, s: x + len(s))
    return compile(lambda x: g(x, {1, 2}))(one())

@case("GB0057")
def raise_from_bad(compile):
    @compile
    def f(x):
        try: raise ValueError("a") from 5
        except TypeError as e: return x, str(e)
    return f(one())

@case("GB0059")
def print_file(compile):
    @compile
    def f(x):
        print("err", file=sys.stderr, flush=True); return x + 1
    return f(one())

@case("GB0059")
def input_deep(compile):
    def show(d):
        for k, v in d.items(): print(k, "->", v)
    @compile
    def f(x): show({"a": 1}); return x
    return f(one())

@case("GB0059")
def globals_call(compile):
    return compile(lambda x: (x + 1, "Box" in globals()))(one())

@case("GB0066")
def cm_method(compile):
    class T:
        def __init__(self): self.log = []
        @contextlib.contextmanager
        def section(self, name):
            self.log.append("+" + name)
            try: yield
            finally: self.log.append("-" + name)
    t = T()
    @compile
    def f(x):
        with t.section("a"):
            x = x + 1
            torch._dynamo.graph_break()
            x = x * 2
        return x
    return f(one()), t.log

@case("GB0066")
def cm_async_nested(compile):
    class C:
        def __enter__(self): return 2
        def __exit__(self, *a): return None
    @compile
    def f(x):
        for i in range(2):
            with C() as k:
                print("in", i)
                x = x * k
        return x
    return f(one())

@case("GB0069")
def import_in_comp(compile):
    def opt(n):
        try: return __import__(n)
        except ImportError: return None
    @compile
    def f(x):
        try:
            import nope_b1 as nb
        except ModuleNotFoundError: nb = None
        return x + (nb is None)
    return f(one())

@case("GB0071")
def self_fn_inherit(compile):
    def h(self, x): return x + 1
    h.__self__ = "zz"
    class A: go = h
    class B(A): pass
    b = B()
    return compile(lambda x: b.go(x))(one())

@case("GB0075")
def class_namedtuple(compile):
    @compile
    def f(x):
        class P(typing.NamedTuple):
            a: int
        return x * P(3).a
    return f(one())

@case("GB0075")
def class_enum_deep(compile):
    def make():
        class E(enum.Enum): A = 2
        return E
    return compile(lambda x: x * make().A.value)(one())

@case("GB0078")
def nst_partial(compile):
    @compile
    def f(x):
        k = 3
        g = torch._dynamo.nonstrict_trace(lambda y: y * k)
        return g(x) + 1
    return f(one())

@case("GB0082")
def del_deref_method(compile):
    class M(nn.Module):
        def forward(self, x):
            v = x * 2
            f = lambda: v
            r = f()
            del v
            return r
    return compile(M())(one())

@case("GB0083")
def bw_hook_container(compile):
    m = nn.ModuleDict({"a": nn.ReLU()})
    m["a"].register_full_backward_hook(lambda mod, gi, go: None)
    return compile(lambda x: m["a"](x))(leaf()).tolist()

@case("GB0085")
def fn_forward_lambda_cls(compile):
    class F(torch.autograd.Function):
        forward = torch.nn.ReLU()
        @staticmethod
        def backward(ctx, g): return g
    @compile
    def f(x):
        try: return F.apply(x)
        except TypeError: return x * 2
    return f(one())

@case("GB0088")
def err_chain(compile):
    class E1(Exception): pass
    class E2(Exception): pass
    def low(): raise E1("low", 1)
    def mid():
        try: low()
        except E1 as e: raise E2(*e.args) from e
    f = compile(lambda x: mid())
    try: f(one())
    except E2 as e: return e.args, type(e.__cause__).__name__

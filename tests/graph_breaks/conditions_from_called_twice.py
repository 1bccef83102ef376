"""Functions called more than once, texts and assertions of tensors: see conditions.py."""

# fmt: off
import collections
import enum
import minidynamo as torch
from frontend.differential import Box
from graph_breaks.conditions import leaf, lister, one

CASES = []
case = lister(CASES)
nn = torch.nn

GL = {"mode": "a"}

@case("GB0025")
def changed_global_then_break(compile):
    f = compile(lambda x: brk(x))
    GL["mode"] = "a"; r = [f(one())]
    GL["mode"] = "b"; r.append(f(one()))
    return r
def brk(x):
    if GL["mode"] == "b": torch._dynamo.graph_break()
    return x + 1

@case("GB0059")
def print_second_call(compile):
    @compile
    def f(x, loud):
        y = x * 2
        if loud: print("loud", y.shape)
        return y + 1
    return f(one(), False), f(one(), True), f(one(), False)

@case("GB0007")
def two_compiled(compile):
    import time
    inner = compile(lambda x: (time.monotonic() > 0, x * 2)[1])
    outer = compile(lambda x: inner(x) + 1)
    return outer(one())

@case("GB0033")
def eq_dunder_contains(compile):
    class T:
        def __init__(self, t): self.t = t
        def __eq__(self, o): return torch.equal(self.t, o.t)
        __hash__ = object.__hash__
    return compile(lambda x: x + (T(x) in [T(x + 1), T(x)]))(one())

@case("GB0036")
def mask_assign_get(compile):
    @compile
    def f(x):
        m = x > 0
        x = x.clone(); x[m] *= 2
        return x
    return f(one())

@case("GB0036")
def nz_in_attr(compile):
    class A:
        def __init__(self, x): self.x = x
        def __len__(self): return self.x.nonzero().shape[0]
    return compile(lambda x: x + len(A(x)))(one())

@case("GB0040")
def nested_region_method(compile):
    class M(nn.Module):
        @torch.compiler.nested_compile_region
        def part(self, x): return x.view(-1)
        def forward(self, x): return self.part(x) + 1
    return compile(M())(torch.ones(2, 2))

@case("GB0041")
def checkpoint_like_map(compile):
    from minidynamo._higher_order_ops import map as hmap
    return compile(lambda xs: torch._higher_order_ops.map(lambda x: x.mul_(2) + 1, xs))(torch.ones(3, 2))

@case("GB0067")
def while_effect(compile):
    n = []
    def c(i): return i.sum() < 3
    def b(i): n.append(1); return (i + 1,)
    return compile(lambda i: torch._higher_order_ops.while_loop(c, b, (i,)))(torch.zeros(1))

@case("GB0049")
def overload_missing(compile):
    @compile
    def f(x):
        try: return torch.ops.aten.add(x, [1, 2], alpha="z")
        except (RuntimeError, TypeError): return x
    return f(one())

@case("GB0050")
def exc_type_var(compile):
    def run(x, exc):
        try: return x + {}["k"]
        except exc: return x * 2
    f = compile(run)
    r = [f(one(), KeyError), f(one(), (KeyError, ValueError))]
    try: f(one(), "KeyError")
    except TypeError as e: r.append(str(e))
    return r

@case("GB0054")
def enum_lookup_fn(compile):
    class Op(enum.Enum):
        ADD = "add"; MUL = "mul"
    def parse(s): return Op(s)
    def run(x, s):
        try: op = parse(s)
        except ValueError as e: return x, str(e)
        return (x + 1 if op is Op.ADD else x * 3), op.name
    f = compile(run)
    return f(one(), "add"), f(one(), "mul"), f(one(), "div")

@case("GB0057")
def raise_in_gen(compile):
    def gen():
        yield 1
        raise 5
    @compile
    def f(x):
        try:
            for v in gen(): x = x + v
        except TypeError as e: return x, str(e)
        return x
    return f(one())

@case("GB0075")
def class_in_method(compile):
    class M(nn.Module):
        def forward(self, x):
            class Out(dict): pass
            return Out(y=x * 2)["y"]
    return compile(M())(one())

@case("GB0077")
def unpack_str(compile):
    @compile
    def f(x, s):
        try: a, b = s.split(":")
        except ValueError: return x * 2
        return x + int(a)
    return f(one(), "1:2"), f(one(), "12")

@case("GB0088")
def abstract_inst(compile):
    import abc
    class A(abc.ABC):
        @abc.abstractmethod
        def go(self): ...
    return compile(lambda x: x + A().go())(one())

@case("GB0088")
def key_default(compile):
    class D(dict):
        def __missing__(self, k): raise KeyError(f"no {k}")
    d = D(a=1)
    f = compile(lambda x, k: x + d[k])
    r = [f(one(), "a")]
    try: f(one(), "b")
    except KeyError as e: r.append(str(e))
    return r

@case("GB0091")
def cell_loop_closure(compile):
    @compile
    def f(x):
        fs = []
        for i in range(2):
            def g(): return later * i
            fs.append(g)
        try: y = x + fs[0]()
        except NameError: y = x
        later = 3
        return y + sum(h() for h in fs)
    return f(one())

@case("GB0097")
def dq_default_arg(compile):
    def track(x, buf=collections.deque(maxlen=2)):
        buf.append(1); return x + len(buf)
    f = compile(track); return f(one()), f(one()), f(one())

@case("GB0104")
def gradfn_repr(compile):
    @compile
    def f(x):
        y = x * 2
        return y, type(y.grad_fn).__name__
    return f(leaf())[1]

@case("GB0108")
def retain_hook(compile):
    class M(nn.Module):
        def __init__(self): super().__init__(); self.l = nn.Linear(2, 2); self.act = None
        def keep(self, t): t.retain_grad(); self.act = t; return t
        def forward(self, x): return self.keep(self.l(x)).sum()
    m = M(); compile(m)(one()).backward(); return m.act.grad

@case("GB0109")
def tolist_numpy_like(compile): return compile(lambda x: max(x.flatten().tolist()))(torch.ones(2, 2))

@case("")
def log_dict(compile):
    class Trainer:
        def __init__(self): self.metrics = {}; self.history = []
        def log(self, name, v): self.metrics[name] = f"{v:.4f}"
        def step(self, x):
            loss = (x ** 2).mean()
            self.log("loss", loss); self.log("max", x.max())
            self.history.append("step {}: {:.3f}".format(len(self.history), loss))
            return loss
    t = Trainer(); s = compile(t.step); s(one()); s(one() * 2)
    return t.metrics, t.history

@case("")
def repr_module_text(compile):
    class M(nn.Module):
        def forward(self, x):
            self.last = f"mean={x.mean():.2f}, shape={tuple(x.shape)}, dtype={x.dtype}"
            return x * 2
    m = M(); r = compile(m)(one()); return r, m.last

@case("")
def text_list_of(compile):
    return compile(lambda x: [f"{v:.1f}" for v in x])(torch.tensor([1., 2., 3.]))

@case("")
def text_sep(compile):
    return compile(lambda x: " | ".join(f"{n}={v:.2f}" for n, v in {"a": x.sum(), "b": x.mean()}.items()))(one())

@case("")
def text_bool(compile):
    return compile(lambda x: (f"{x.sum() > 1}", f"{x.argmax()}", f"{x.long()[0]:>4}"))(one())

@case("")
def text_ret_then_mut(compile):
    @compile
    def f(x):
        s = f"{x[0]}"
        x[0] = 9.
        return s, x
    return f(one())

@case("")
def text_across_break(compile):
    @compile
    def f(x):
        s = f"{x.sum():.1f}"
        torch._dynamo.graph_break() if False else None
        return s + "" if False else s
    return f(one())

@case("")
def text_if(compile):
    @compile
    def f(x, verbose=True):
        msg = f"value {x.sum()}" if verbose else ""
        return x, msg
    return f(one())

@case("")
def text_exc_unused(compile):
    @compile
    def f(x):
        try:
            if x.ndim > 5: raise ValueError(f"bad {x}")
        except ValueError as e: return str(e)
        return x + 1
    return f(one())

@case("")
def text_exc_caught(compile):
    @compile
    def f(x):
        try: raise ValueError(f"bad {x.sum():.1f}")
        except ValueError as e: return x * 2
    return f(one())

@case("GB0088")
def text_exc_out(compile):
    f = compile(lambda x: (_ for _ in ()).throw(ValueError(f"bad {x.sum():.1f}"))) if False else None
    @compile
    def g(x): raise RuntimeError(f"bad {x.sum():.1f}")
    try: g(one())
    except RuntimeError as e: return str(e)

@case("")
def text_dtype_half(compile): return compile(lambda x: f"{x.half().sum()} {x.bfloat16().sum():.2f} {x.to(torch.int8).sum()}")(one())

@case("")
def text_nan(compile): return compile(lambda x: f"{(x / 0).sum()} {(x * 0 / 0).sum():.1f}")(one())

@case("")
def text_empty(compile): return compile(lambda x: f"{x[:0]} {x.reshape(1, 2)}")(one())

@case("")
def text_param(compile):
    class M(nn.Module):
        def __init__(self): super().__init__(); self.w = nn.Parameter(torch.tensor(2.))
        def forward(self, x): return x * self.w, f"{self.w.detach():.1f}"
    return compile(M())(one())[1]

@case("")
def text_param_grad(compile):
    class M(nn.Module):
        def __init__(self): super().__init__(); self.w = nn.Parameter(torch.tensor(2.))
        def forward(self, x): return f"{self.w * 2:.1f}"
    return compile(M())(one())

@case("")
def text_subclass(compile):
    class S(torch.Tensor): pass
    return compile(lambda x: f"{x.sum().item() if False else 1} {type(x).__name__}")(one().as_subclass(S))

@case("")
def text_dynamic(compile):
    f = compile(lambda x: f"{x.shape[0]} {x.sum():.0f}", dynamic=True); return f(torch.ones(3)), f(torch.ones(5))

@case("")
def text_vmapish(compile):
    return compile(lambda x: [t for t in (f"{x.sum():+.1f}", f"{x.sum():e}", f"{x.sum():%}")])(one())

@case("")
def assert_method(compile):
    class A:
        def check(self, x):
            assert torch.isfinite(x).all(), "not finite"
            return x
    a = A()
    return compile(lambda x: a.check(a.check(x) * 2))(one())

@case("")
def assert_allclose_tensor(compile):
    @compile
    def f(x, y):
        assert (x - y).abs().max() < 1e-3
        return x + y
    return f(one(), one())

@case("")
def assert_loop_fail(compile):
    @compile
    def f(x):
        for i in range(3):
            x = x - 1
            assert x.min() >= -1, "too low"
        return x
    try: return f(one())
    except (AssertionError, RuntimeError) as e: return type(e).__name__ if False else str(e)

@case("")
def assert_gen(compile):
    def gen(x):
        for i in range(2):
            assert x.sum() > 0
            yield x * i
    return compile(lambda x: sum(gen(x)))(one())

@case("")
def assert_bool_tensor1(compile):
    @compile
    def f(x, ok):
        assert ok
        return x * 2
    return f(one(), torch.tensor(True))

@case("")
def assert_shape1(compile):
    @compile
    def f(x):
        assert x.sum().reshape(1, 1) > 0
        return x * 2
    return f(one())

@case("")
def assert_int_dyn(compile):
    f = compile(lambda x: chk(x), dynamic=True); return f(torch.ones(4)), f(torch.ones(6))
def chk(x):
    assert x.shape[0] > 2 and x.ndim == 1
    assert (x == 1).all()
    return x + x.shape[0]

@case("")
def assert_nan_hook(compile):
    m = nn.Sequential(nn.ReLU(), nn.Tanh())
    def hook(mod, i, o):
        assert not o.isnan().any() if False else o.isfinite().all(), "nan"
    for c in m: c.register_forward_hook(hook)
    return compile(m)(one())

@case("")
def assert_float_item(compile):
    @compile
    def f(x):
        assert x.sum() == 2.0, "two"
        y = x.clone(); y += 1
        return y
    return f(one())

@case("GB0034")
def assert_in_with_false(compile):
    @compile
    def f(x):
        with torch.no_grad():
            try: assert isinstance(x, int), "type"
            except AssertionError: x = x + 1
        return x
    return f(one())

@case("GB0000")
def tf_radd(compile):
    class R:
        @classmethod
        def __torch_function__(cls, f, t, a=(), k=None): return NotImplemented
    r = R()
    @compile
    def f(x):
        try: return torch.Tensor.add(x, r)
        except TypeError: return x * 3
    return f(one())

@case("")
def tf_accepts_method(compile):
    class R:
        v = 4.
        @classmethod
        def __torch_function__(cls, f, t, a=(), k=None):
            a = [x.v if isinstance(x, R) else x for x in a]
            return f(*a, **(k or {}))
    r = R()
    return compile(lambda x: x.mul(r) + x.sub(r))(one())

@case("GB0029")
def hook_handle_ret(compile):
    @compile
    def f(x):
        y = x * 2
        return y.sum(), y.register_hook(lambda g: g * 2)
    w = leaf(); s, h = f(w); s.backward(); return w.grad

@case("GB0029")
def hook_stmt_module(compile):
    class M(nn.Module):
        def __init__(self): super().__init__(); self.l = nn.Linear(2, 2); self.scale = 0.5
        def forward(self, x):
            h = self.l(x)
            if h.requires_grad: h.register_hook(lambda g: g * 0.5)
            return h.sum()
    m = M()
    with torch.no_grad(): [p.fill_(1.) for p in m.parameters()]
    compile(m)(one()).backward(); return m.l.weight.grad

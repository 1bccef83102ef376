"""Programs for codes GB0033 to GB0053: see conditions.py."""

# fmt: off
import functools

import minidynamo as torch
from graph_breaks.conditions import lister


CASES = []
case = lister(CASES)


# --- GB0033

@case("GB0033")
def equal_f(compile):
    @compile
    def f(x, y): return x + torch.equal(x, y)
    return f(torch.ones(2), torch.ones(2))

@case("GB0033")
def equal_m_deep(compile):
    class A:
        def same(self, a, b): return a.equal(other=b)
    a = A()
    @compile
    def f(x, y): return x + 1 if a.same(x, y) else x - 1
    return f(torch.ones(2), torch.ones(2))

@case("GB0033")
def allclose_f(compile):
    @compile
    def f(x, y): return x + torch.allclose(x, y, rtol=1e-3)
    return f(torch.ones(2), torch.ones(2))

@case("GB0033")
def unbound_equal(compile):
    @compile
    def f(x, y): return [x + torch.Tensor.equal(x, y) for _ in range(1)]
    return f(torch.ones(2), torch.ones(2))

@case("GB0033")
def allclose_m(compile):
    @compile
    def f(x, y): return (lambda: x + x.allclose(y))()
    return f(torch.ones(2), torch.ones(2))

@case("")
def eq_ok(compile):
    @compile
    def f(x, y): return x + torch.eq(x, y).all()
    return f(torch.ones(2), torch.ones(2))


# --- GB0034

@case("GB0034")
def assert_plain(compile):
    @compile
    def f(x):
        assert 1 == 2; return x
    return f(torch.ones(2))

@case("GB0034")
def assert_msg_deep(compile):
    def g(n): assert n > 3, "small"
    def h(n): g(n)
    @compile
    def f(x):
        h(x.dim()); return x
    return f(torch.ones(2))

@case("")
def assert_ok(compile):
    @compile
    def f(x):
        assert x.dim() == 1, "x"; return x + 1
    return f(torch.ones(2))

@case("GB0034")
def assert_shape_method(compile):
    class M(torch.nn.Module):
        def forward(self, x):
            assert x.shape[0] == 5, f"got {x.shape[0]}"
            return x
    return compile(M())(torch.ones(2))

@case("GB0034")
def assert_isinstance(compile):
    @compile
    def f(x):
        assert isinstance(x, int); return x
    return f(torch.ones(2))


# --- GB0035
class NB:
    def __init__(self, x): self.x = x
    def __bool__(self): return self.x > 0
class NL:
    def __len__(self): return "q"

@case("GB0035")
def nb_plain(compile):
    @compile
    def f(x): return x + 1 if NB(x.sum()) else x - 1
    return f(torch.ones(2))

@case("GB0035")
def nb_while_deep(compile):
    def g(o, x):
        while o: x = x + 1
        return x
    @compile
    def f(x): return g(NB(x.mean()), x)
    return f(torch.ones(2))

@case("GB0035")
def nb_not(compile):
    @compile
    def f(x): return x + (not NB(x.sum()))
    return f(torch.ones(2))

@case("")
def nb_ok(compile):
    class A:
        def __bool__(self): return False
    @compile
    def f(x): return x + 1 if A() else x - 1
    return f(torch.ones(2))


# --- GB0036

@case("GB0036")
def nonzero_f(compile):
    @compile
    def f(x): return torch.nonzero(x) + 1
    return f(torch.tensor([1., 0.]))

@case("GB0036")
def mask_deep(compile):
    class A:
        def pick(self, x): return x[x > 0]
    a = A()
    @compile
    def f(x): return a.pick(x + 1) * 2
    return f(torch.tensor([1., -3.]))

@case("GB0036")
def unique_m(compile):
    @compile
    def f(x): return x.unique() * 2
    return f(torch.tensor([1., 1.]))

@case("GB0036")
def masked_select(compile):
    @compile
    def f(x): return [torch.masked_select(input=x, mask=x > 0) for _ in range(1)][0]
    return f(torch.tensor([1., -1.]))

@case("GB0036")
def where1(compile):
    @compile
    def f(x): return torch.where(x > 0)[0]
    return f(torch.tensor([1., -1.]))

@case("GB0036")
def repeat_int(compile):
    @compile
    def f(x): return x.repeat_interleave(torch.tensor([1, 2])) + 1
    return f(torch.tensor([1., -1.]))

@case("GB0036")
def bincount(compile):
    @compile
    def f(x): return torch.bincount(x) + 1
    return f(torch.tensor([1, 2]))

@case("GB0036")
def argwhere(compile):
    @compile
    def f(x): return x.argwhere() + 1
    return f(torch.tensor([1, 0]))

@case("")
def mask_write_ok(compile):
    @compile
    def f(x):
        y = x.clone(); y[x > 0] = 3; return y
    return f(torch.tensor([1., -1.]))


# --- GB0037


# --- GB0038

@case("GB0038")
def sl_list(compile):
    @compile
    def f(x, n):
        l = [1, 2, 3]
        return x + len(l[n:])
    return f(torch.ones(2), torch.tensor(1))

@case("GB0038")
def sl_deep(compile):
    class A:
        def cut(self, x, n): return x[:n]
    @compile
    def f(x, n): return A().cut(x, n) + 1
    return f(torch.ones(3), torch.tensor(2))

@case("GB0038")
def sl_call(compile):
    @compile
    def f(x, n): return x[slice(0, n)] * 2
    return f(torch.ones(3), torch.tensor(2))

@case("")
def sl_ok(compile):
    @compile
    def f(x): return x[1:x.shape[0]] + 1
    return f(torch.ones(3))


# --- GB0039


# --- GB0040/41/67 (regions; existing tests) -> cond quick ones
def tr(x): return x

@case("GB0040")
def cond_alias(compile):
    @compile
    def f(x): return torch.cond(x.sum() > 0, lambda x: x, lambda x: x * 2, (x,))
    return f(torch.ones(2))

@case("GB0041")
def cond_mut(compile):
    def a(x): x.add_(1); return x * 2
    @compile
    def f(x): return torch.cond(x.sum() > 0, a, lambda x: x * 2, (x,))
    return f(torch.ones(2))

@case("GB0067")
def cond_side(compile):
    log = []
    def a(x): log.append(1); return x * 2
    @compile
    def f(x): return torch.cond(x.sum() > 0, a, lambda x: x * 3, (x,))
    return f(torch.ones(2))


# --- GB0042

@case("GB0042")
def nested_partial(compile):
    g = torch.compiler.nested_compile_region(functools.partial(torch.add, torch.ones(2)))
    @compile
    def f(x): return g(x)
    return f(torch.ones(2))


# --- GB0043

@case("GB0043", only_allow_pt2_compliant_ops=True)
def nonpt2(compile):
    @compile
    def f(x): return torch.ops.ca_lib.nofake(x) + 1
    return f(torch.ones(2))


# --- GB0045/46

@case("GB0045")
def isinf(compile):
    @compile
    def f(x): return x + x.is_inference()
    return f(torch.ones(2))

@case("GB0045")
def isinf_deep(compile):
    class A:
        def q(self, x): return [t.is_inference() for t in (x,)][0]
    @compile
    def f(x): return x + A().q(x * 2)
    return f(torch.ones(2))

@case("GB0045")
def isinf_unbound(compile):
    @compile
    def f(x): return x + torch.Tensor.is_inference(x)
    return f(torch.ones(2))

@case("GB0046")
def infmode(compile):
    @compile
    def f(x): return x + torch.is_inference_mode_enabled()
    return f(torch.ones(2))

@case("GB0046")
def infmode_deep(compile):
    q = torch.is_inference_mode_enabled
    def g(): return q()
    @compile
    def f(x): return (lambda: x + g())()
    return f(torch.ones(2))

@case("")
def gradmode_ok(compile):
    @compile
    def f(x): return x + torch.is_grad_enabled()
    return f(torch.ones(2))


# --- GB0049

@case("GB0049")
def overload_bad(compile):
    @compile
    def f(x): return torch.ops.aten.add(x, "a")
    return f(torch.ones(2))

@case("GB0049")
def overload_bad_deep(compile):
    class A:
        op = torch.ops.aten.sum
        def go(self, x): return A.op(x, dim="q")
    @compile
    def f(x): return A().go(x)
    return f(torch.ones(2))

@case("GB0049")
def overload_none(compile):
    @compile
    def f(x): return torch.ops.aten.mul()
    return f(torch.ones(2))

@case("GB0049")
def overload_kw(compile):
    @compile
    def f(x): return [torch.ops.aten.mean(t, wrong=3) for t in (x,)]
    return f(torch.ones(2))

@case("")
def overload_ok(compile):
    @compile
    def f(x): return torch.ops.aten.add(x, 1)
    return f(torch.ones(2))


# --- GB0050 51

@case("GB0050")
def exc_list(compile):
    @compile
    def f(x):
        try: raise ValueError
        except [ValueError]: return x
    return f(torch.ones(2))

@case("GB0050")
def exc_fn_deep(compile):
    def g(kind):
        try: {}["k"]
        except kind: return 1
    class A:
        def go(self): return g(len)
    @compile
    def f(x): return x + A().go()
    return f(torch.ones(2))

@case("GB0050")
def exc_none(compile):
    @compile
    def f(x):
        try: raise ValueError
        except None: return x
    return f(torch.ones(2))

@case("GB0050")
def exc_int(compile):
    @compile
    def f(x):
        try: int("q")
        except 3: return x
    return f(torch.ones(2))

@case("GB0051")
def exc_tuple(compile):
    @compile
    def f(x):
        try: raise ValueError
        except (KeyError, "x"): return x
    return f(torch.ones(2))

@case("GB0051")
def exc_tuple_deep(compile):
    kinds = (TypeError, 3)
    def g():
        try: raise KeyError
        except kinds: pass
    @compile
    def f(x):
        g(); return x
    return f(torch.ones(2))

@case("GB0050")
def exc_class(compile):
    @compile
    def f(x):
        try: raise ValueError
        except int: return x
    return f(torch.ones(2))

@case("")
def exc_ok(compile):
    @compile
    def f(x):
        try: raise ValueError
        except (KeyError, (ValueError,)) if False else (KeyError, ValueError): return x + 1
    return f(torch.ones(2))


# --- GB0053

@case("GB0053")
def fsdp(compile):
    m = torch.nn.Linear(2, 2); m._is_fsdp_managed_module = True; m._fsdp_use_orig_params = False
    @compile
    def f(x): return m(x)
    return f(torch.ones(2)).shape[0]

"""Programs for codes GB0110 to GB0110: see conditions.py."""

# fmt: off
import collections
import functools
import gc
import hashlib
import logging
import os
import random
import re
import string
import sys
import time
import types

import minidynamo as torch
from graph_breaks.conditions import lister


CASES = []
case = lister(CASES)


# --- GB0110 and others: the most common ones once more

@case("GB0007")
def c1(compile):
    @compile
    def f(x):
        t = time.time(); y = x * 2
        return y + (time.time() >= t)
    return f(torch.ones(2))

@case("GB0007")
def c2(compile):
    @compile
    def f(x):
        h = hashlib.md5(b"a"); return x + len(h.hexdigest())
    return f(torch.ones(2))

@case("GB0007")
def c4(compile):
    @compile
    def f(x): return x + len(os.listdir("/"))* 0
    return f(torch.ones(2))

@case("GB0007")
def c5(compile):
    @compile
    def f(x):
        gc.disable(); gc.enable()
        return x + gc.isenabled()
    return f(torch.ones(2))

@case("GB0007")
def c6(compile):
    @compile
    def f(x): return x + sorted([3, 1], key=lambda v: sys.getsizeof(v))[0]
    return f(torch.ones(2))

@case("GB0007")
def c7(compile):
    @compile
    def f(x, k=sys.getrefcount):
        return x + (k(x) > 0)
    return f(torch.ones(2))

@case("GB0059")
def b1(compile):
    def log(fmt, *a): print(fmt.format(*a))
    @compile
    def f(x):
        log("{}", 3); return x + 1
    return f(torch.ones(2))

@case("GB0059")
def b2(compile):
    @compile
    def f(x):
        for i in range(2): x = x + i
        print("x", x.shape)
        return x * 2
    return f(torch.ones(2))

@case("GB0059")
def b3(compile):
    class M(torch.nn.Module):
        def __init__(self): super().__init__(); self.l = torch.nn.ReLU()
        def forward(self, x):
            y = self.l(x)
            print("mean", y.mean())
            return self.l(y - 1)
    return compile(M())(torch.ones(2))

@case("GB0059")
def b4(compile):
    @compile
    def f(x): return x + sum(map(print, ["a"]) is not None for _ in range(1)) + len(list(map(print, ["q"])))
    return f(torch.ones(2))

@case("GB0059")
def b5(compile):
    p = functools.partial(print, end="|")
    @compile
    def f(x):
        p("z"); return x + 1
    return f(torch.ones(2))

@case("GB0059")
def b6(compile):
    @compile
    def f(x, o): return x + len(dir(o))*0 + len(vars(o))
    o = types.SimpleNamespace(a=1)
    return f(torch.ones(2), o)

@case("GB0124")
def i1(compile):
    @compile
    def f(x): return x * x.sum().item()
    return f(torch.ones(2))

@case("GB0124")
def i2(compile):
    def g(t): return float(t)
    @compile
    def f(x): return x * g(x.sum())
    return f(torch.ones(2))

@case("GB0124")
def i3(compile):
    @compile
    def f(x): return x * int(x.sum())
    return f(torch.ones(2))

@case("GB0170")
def d1(compile):
    @compile
    def f(x):
        while x.sum() < 5: x = x + 1
        return x
    return f(torch.ones(2))

@case("GB0124")
def d2(compile):
    @compile
    def f(x): return x + (1 if bool(x.sum() > 0) else 2)
    return f(torch.ones(2))

@case("GB0170")
def d3(compile):
    @compile
    def f(x): return x if x.any() and x.all() else -x
    return f(torch.ones(2))

@case("GB0170")
def d4(compile):
    @compile
    def f(x): return x + len([v for v in x if v > 0])
    return f(torch.ones(2))

@case("GB0088")
def e1(compile):
    class E(Exception): pass
    class M(torch.nn.Module):
        def check(self): raise E("bad")
        def forward(self, x):
            self.check(); return x
    return compile(M())(torch.ones(2))

@case("GB0088")
def e2(compile):
    @compile
    def f(x):
        try: raise KeyError("k")
        except KeyError as e: raise RuntimeError("r") from e
    return f(torch.ones(2))

@case("GB0088")
def e3(compile):
    @compile
    def f(x, l): return x + l.index(9)
    return f(torch.ones(2), [1])

@case("GB0088")
def e4(compile):
    @compile
    def f(x): return x + (lambda a, b: a)(1)
    return f(torch.ones(2))

@case("GB0033")
def q1(compile):
    class A:
        def same(self, ts): return all(torch.equal(a, b) for a, b in ts)
    @compile
    def f(x, y): return x + A().same([(x, y)])
    return f(torch.ones(2), torch.ones(2))

@case("GB0033")
def q2(compile):
    @compile
    def f(x, y): return x + torch.equal(input=x, other=y)
    return f(torch.ones(2), torch.ones(2))

@case("GB0033")
def q3(compile):
    p = functools.partial(torch.allclose, atol=1.0)
    @compile
    def f(x, y): return x + p(x, y)
    return f(torch.ones(2), torch.ones(2))

@case("GB0036")
def n1(compile):
    @compile
    def f(x): return x[torch.nonzero(x, as_tuple=True)] + 1
    return f(torch.tensor([1., 0.]))

@case("GB0036")
def n2(compile):
    @compile
    def f(x): return torch.unique(x, return_counts=True)[1] + 1
    return f(torch.tensor([1., 1.]))

@case("GB0036")
def n3(compile):
    @compile
    def f(x): return x.masked_select(x > 0).sum()
    return f(torch.tensor([1., -1.]))

@case("GB0008")
def s1(compile):
    class T(str):
        sub = re.sub
    @compile
    def f(x): return x + len(T("a").sub("b", "ca"))
    return f(torch.ones(2))

@case("GB0008")
def s2(compile):
    class A: ch = random.choice.__func__ if hasattr(random.choice, "__func__") else random.choice
    class B(list): pick = re.escape
    @compile
    def f(x): return x + B([1]).__len__() + len(string.ascii_letters) + len(S2("q.").esc())
    return f(torch.ones(2))
class S2(str): esc = re.escape

@case("GB0098")
def x1(compile):
    @torch.compiler.disable(reason="slow")
    def h(x): return x + 5
    class M(torch.nn.Module):
        def forward(self, x): return [h(t) for t in (x,)][0]
    return compile(M())(torch.ones(2))

@case("GB0104")
def gf(compile):
    @compile
    def f(x):
        y = x.exp()
        return y * (2 if y.grad_fn is not None else 3)
    return f(torch.ones(2, requires_grad=True))

@case("GB0109")
def tolist_module(compile):
    class M(torch.nn.Module):
        def forward(self, x): return x + sum(x.mean(0).tolist())
    return compile(M())(torch.ones(2, 2))

@case("GB0097")
def dqx(compile):
    b = types.SimpleNamespace(q=collections.deque([1], maxlen=2))
    def push(v): b.q.extend([v, v])
    @compile
    def f(x):
        push(3); return x + 1
    return f(torch.ones(2)), list(b.q)

@case("GB0097")
def dqy(compile):
    d = collections.deque([1, 2, 3], maxlen=3)
    @compile
    def f(x, d):
        d.rotate(1); d[0] = 9; return x
    return f(torch.ones(2), d), list(d)

@case("")
def dqz(compile):
    d = collections.deque([1, 2, 3], maxlen=3)
    @compile
    def f(x, d): return x + d[0] + len(d) + d.maxlen
    return f(torch.ones(2), d), list(d)

@case("GB0058")
def sa(compile):
    @compile
    def f(x):
        for n in ("imag",) if False else ("real",): setattr(x, n, torch.zeros(2))
        return x + 1
    return f(torch.ones(2))

@case("GB0055")
def al(compile):
    @torch._dynamo.allow_in_graph
    def g(x, fn=None): return x * 2
    @compile
    def f(x): return g(x, {"a": object()})
    return f(torch.ones(2))

@case("GB0081")
def sy(compile):
    @compile(dynamic=True)
    def f(x): return x + len([x.shape[0].to_bytes(2, byteorder="big") for _ in (1,)])
    return f(torch.ones(5))

@case("GB0006" if sys.version_info < (3, 13) else "GB0147")  # partial has a __get__ from 3.13 on
def sp(compile):
    class A(torch.nn.Module):
        norm = functools.partial(torch.add, 1)
    class B(A):
        def forward(self, x): return [super(B, self).norm(v) for v in (x,)][0]
    return compile(B())(torch.ones(2))

@case("GB0026")
def ct(compile):
    class S(torch.Tensor): pass
    @compile
    def f(x): return (x + [S([1., 2.]) for _ in (1,)][0].sum())
    return f(torch.ones(2)).as_subclass(torch.Tensor)

@case("GB0023")
def en(compile):
    def same(a, b): return a == b
    @compile
    def f(x): return x + same(enumerate([1]), enumerate([1]))
    return f(torch.ones(2))

@case("GB0023")
def rv(compile):
    @compile
    def f(x): return x + (reversed([1]) == reversed([1])) + (iter([1]) in [iter([1])])
    return f(torch.ones(2))

@case("GB0094")
def se(compile):
    class N:
        def __next__(self): raise StopIteration(5)
    class I:
        def __iter__(self): return N()
    def gen():
        v = yield from I()
        yield v
    @compile
    def f(x): return x + next(gen())
    return f(torch.ones(2))

@case("GB0091")
def ce(compile):
    class A:
        def go(self, flag):
            def show(): return val
            if flag: val = 1
            return show()
    @compile
    def f(x): return x + A().go(False)
    return f(torch.ones(2))
log = logging.getLogger("zz")

@case("GB0007")
def rchoice(compile):
    @compile
    def f(x): return x + random.choice([1, 1])
    return f(torch.ones(2))

@case("GB0007")
def rshuffle(compile):
    @compile
    def f(x):
        l = [1]; random.shuffle(l); return x + l[0]
    return f(torch.ones(2))

"""Statements that belong together. {i} is an int, {l} a list of ints, {d} a dict of str to int, {t} a tensor, {n} a
number that makes names new. Lines may be taken out when a program is made small."""

CLASSES = """
class C{n}:
    k = {i}
    def get(self): return self.k + {i}
out.append(C{n}().get())
---
class C{n}(Box):
    def grow(self, k=1): return super().grow(k) + {i}
out.append(C{n}({i}).grow())
---
class C{n}(Box):
    def __init__(self, *args):
        super(C{n}, self).__init__(*args)
        self.t = {t}
out.append(C{n}({i}))
---
class E{n}(ValueError): pass
try:
    raise E{n}({i}) from KeyError('c')
except ValueError as error:
    out.append((type(error).__name__, error.args, repr(error.__cause__)))
---
class A{n}:
    @classmethod
    def make(cls): return cls
    @property
    def me(self): return self
out.append(A{n}.make()().me.__class__.__name__)
---
class M{n}:
    def __getattr__(self, name): return name * 2
    def __setattr__(self, name, value): out.append((name, value))
m{n} = M{n}()
m{n}.abc = {i}
out.append(m{n}.xy)
---
class R{n}:
    def __radd__(self, k): return ('radd', k)
    def __rmatmul__(self, k): return 'rmatmul'
    def __index__(self): return 1
out.append(({i} + R{n}(), {l} @ R{n}(), [4, 5][R{n}()]))
---
class W{n}:
    def __eq__(self, other): raise Oops('eq')
try:
    out.append(W{n}() in [1, {i}])
except Oops as error:
    out.append(str(error))
---
class T{n}:
    def __torch_function__(self, *args): return 'mine'
out.append(type(T{n}()).__name__)
---
class S{n}:
    __slots__ = ('a', 'b')
s{n} = S{n}()
s{n}.a = {t} + 1
out.append((hasattr(s{n}, 'b'), s{n}.a))
---
class N{n}(int):
    def __mul__(self, k): return N{n}(int(self) * k + 1)
out.append(N{n}({i}) * 2 * 3)
---
gauge{n} = Gauge({i})
try:
    gauge{n}.level = {i} * 9
    gauge{n}.other = 1
except (AttributeError, ValueError) as error:
    out.append(type(error).__name__ + gauge{n}.label)
---
box{n} = Box({i})
box{n}.__class__ = type('Odd', (Box,), {{'odd': True}})
out.append(box{n}.odd)
---
import weakref
box{n} = Box(1)
ref{n} = weakref.ref(box{n})
out.append(ref{n}() is box{n})
del box{n}
out.append(ref{n}() is None)
---
p{n} = Point({i}, tags=[1])
match p{n}:
    case Point(x, y=2) if x > 0: out.append(('p', x))
    case Point(): out.append('other')
---
p{n} = Point({i})
p{n}.x += 2
p{n}.tags.append({i})
out.append(p{n})
---
row{n} = Row({l})
row{n}.append({i})
row{n} += [1]
row{n}[0] = 5
out.append((row{n}, row{n}[0], row{n}[1:]))
---
sparse{n} = Sparse({d})
sparse{n}['a'] += 2
sparse{n}.setdefault('b', {i})
out.append((sparse{n}, 'zz' in sparse{n}, sparse{n}['zz']))
"""

FLOW = """
try:
    raise ExceptionGroup('g', [ValueError({i}), KeyError('k')])
except* ValueError as errors:
    out.append(len(errors.exceptions))
except* KeyError:
    out.append('k')
---
with contextlib.ExitStack() as stack{n}:
    stack{n}.enter_context(Guarded(True))
    stack{n}.callback(out.append, {i})
    {t}.add(1)
    raise Oops({i})
---
with contextlib.closing(counting({i}, {t}, out)) as it{n}:
    out.append(next(it{n}))
---
with contextlib.redirect_stdout(__import__('io').StringIO()) as io{n}:
    print('hidden', {i})
out.append(io{n}.getvalue())
---
def w{n}():
    try:
        return {i}
    finally:
        out.append('left')
out.append(w{n}())
---
def r{n}(k):
    for j in range(5):
        try:
            if j == k % 4: continue
            if j > 2: break
        finally:
            out.append(j)
    else:
        out.append('else')
    return j
out.append(r{n}({i}))
---
x{n} = {i}
del x{n}
try:
    x{n}
except NameError as error:
    out.append(str(error))
---
try:
    {d}[[1]]
except TypeError as error:
    out.append(str(error))
---
try:
    try:
        1 / 0
    finally:
        out.append('f')
        {{}}['inner']
except LookupError as error:
    out.append(type(error.__context__).__name__)
---
def g{n}(k):
    received = yield k
    while received:
        received = yield received * 2
    return 'end'
it{n} = g{n}({i})
out.append((next(it{n}), it{n}.send(3)))
try:
    it{n}.send(0)
except StopIteration as stop:
    out.append(stop.value)
---
def g{n}():
    try:
        yield {t} + 1
        yield 2
    except Oops as error:
        yield str(error)
    finally:
        out.append('closed')
it{n} = g{n}()
out.append(next(it{n}))
out.append(it{n}.throw(Oops('in')))
torch._dynamo.graph_break()
it{n}.close()
---
while True:
    try:
        {t}.add({i})
        break
    finally:
        print('round')
---
for j, u in enumerate({t}):
    if j > {i}: break
    out.append(u * j)
else:
    out.append('all')
---
def outer{n}(k):
    if k > 3: raise Oops(k)
    try:
        return outer{n}(k + 1)
    except Oops as error:
        error.add_note(str(k))
        if k: raise
        return error.__notes__
out.append(outer{n}(0))
"""

VALUES = """
def d{n}(x, seen=[]):
    seen.append(x)
    return len(seen)
out.append((d{n}(1), d{n}({i})))
---
def s{n}():
    s{n}.calls = getattr(s{n}, 'calls', 0) + 1
    return s{n}.calls
s{n}()
out.append(s{n}())
---
def o{n}():
    total = 0
    def add(k):
        nonlocal total
        total += k
        return total
    return add, lambda: total
add{n}, get{n} = o{n}()
add{n}({i})
torch._dynamo.graph_break()
add{n}(2)
out.append(get{n}())
---
f{n} = []
for j in {l}[:3]:
    f{n}.append(lambda: j)
out.append([g() for g in f{n}])
---
import math as m{n}
out.append(m{n}.comb(5, abs({i}) % 6))
---
import random as r{n}
rng{n} = r{n}.Random({i})
out.append((rng{n}.randint(0, 9), rng{n}.random()))
---
c{n} = collections.Counter({l})
c{n}[{i}] += 1
c{n}.update([1, 1])
out.append(c{n}.most_common(1))
---
dd{n} = collections.defaultdict(list)
dd{n}[{i} % 3].append({t})
dd{n}[0].append(1)
out.append(dict(dd{n}))
---
dq{n} = collections.deque({l}, maxlen=3)
dq{n}.appendleft({i})
dq{n}.rotate(1)
out.append(dq{n})
---
od{n} = collections.OrderedDict({d})
od{n}['new'] = {i}
od{n}.move_to_end('new', last=False)
out.append(list(od{n}))
---
g{n} = (k * {i} for k in {l})
out.append(next(g{n}, None))
out.append(list(g{n}))
---
x{n} = [*{l}]
x{n}[::2] = [0] * len(x{n}[::2])
out.append(x{n})
---
a{n} = b{n} = [{i}]
a{n}.append({i})
out.append((a{n} is b{n}, b{n}))
---
(a{n}, b{n}), c{n} = ({i}, {i}), {t}
a{n}, b{n} = b{n}, a{n}
out.append((a{n}, b{n}, c{n}))
---
lst{n} = []
lst{n}.append(lst{n})
out.append((len(lst{n}), lst{n}))
---
out.append([(j, k) for j in {l} if (h{n} := j * 2) > 1 for k in range(h{n} % 3)])
---
out.append({{k: [j for j in {l} if j != k] for k in {l}}})
---
out.append(sorted(zip({l}, 'abc'), key=lambda p: (p[1], p[0]), reverse=True))
---
out.append(list(zip({l}, {l}[::-1], strict=True)))
---
it{n} = iter({l})
out.append([*zip(it{n}, it{n})])
---
dict{n} = dict({d})
for key in list(dict{n}):
    dict{n}[key * 2] = dict{n}.pop(key)
out.append(dict{n})
---
view{n} = {d}.items()
{d}['later'] = {i}
out.append(list(view{n}))
"""

TENSORS = """
t{n} = {t}.clone()
t{n}[0], t{n}[1] = t{n}[1].clone(), t{n}[0].clone()
out.append(t{n})
---
v{n} = {t}.view(2, 2)
v{n}[0].mul_(2)
v{n}.t()[1].add_({i})
out.append((v{n}, {t}))
---
m{n} = {t} > {i}
if m{n}.any(): out.append({t}[m{n}])
---
out.append(float({t}[0]) + int({t}[1]))
---
s{n} = {t}.sum()
out.append(s{n} > 1 and s{n} < 5)
---
x{n}, y{n} = {t}.split(2)
x{n} += y{n}
out.append(torch.stack([x{n}, y{n}]))
---
k{n} = {t}.argsort()
out.append({t}[k{n}].cumsum(0).softmax(0))
---
rows{n} = [{t} * k for k in range(2)]
rows{n}[0] += 1
out.append(torch.cat(rows{n}).reshape(2, -1).max(1).values)
---
a{n} = {t}
a{n} = a{n} + 1
torch._dynamo.graph_break()
a{n} -= 2
out.append(a{n} is {t})
---
with torch.no_grad():
    w{n} = {t} * 2
    print(w{n}.requires_grad)
w{n}.copy_({t})
out.append(w{n})
---
def loss{n}(p, *, scale=1.0):
    return ((p - {t}) ** 2).mean() * scale
out.append(loss{n}({t} + 1, scale={i}))
---
sizes{n} = {t}.shape
out.append((sizes{n}[0], len(sizes{n}), *sizes{n}, torch.zeros(sizes{n})))
---
e{n} = torch.einsum('i,j->ij', {t}, {t})
e{n}.diagonal().fill_({i})
out.append(e{n}.tril().sum(1))
"""

SNIPPETS = tuple(
    tuple(line for line in snippet.strip("\n").split("\n"))
    for group in (CLASSES, FLOW, VALUES, TENSORS)
    for snippet in group.split("---\n")
)

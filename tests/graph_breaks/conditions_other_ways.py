"""Conditions of GB0111 to GB0221 reached in other ways: by keyword, map, partial and getters, as values.

A row is a code (or "" for what is traced), what makes the arguments, and texts: expressions of `x`, or statements after
a "!". Each is a program of its own, y = x * 2 before and after it.
"""

import array  # noqa: F401  for the texts
import contextlib
import dataclasses
import functools
import inspect  # noqa: F401  for the texts
import itertools  # noqa: F401  for the texts
import operator  # noqa: F401  for the texts
import types
import typing  # noqa: F401  for the texts

import numpy as np

import minidynamo as torch
from graph_breaks.conditions import lister

CASES = []
case = lister(CASES)
SCOPE = globals()


def vector():
    return torch.tensor([1.0, 2.0, 3.0])


def leaf():
    return torch.ones(3, requires_grad=True)


def rows(code, make, *texts):
    for text in texts:
        body = text[1:] if text.startswith("!") else f"r = {text}"
        exec(f"def f(x):\n    y = x * 2\n    r = 0\n    {body}\n    return y, r, x", SCOPE)
        f = SCOPE.pop("f")

        def program(compile, f=f, make=make):
            return compile(f)(make())

        program.__name__ = text
        case(code)(program)


def doubled(x):
    return x * 2


class Plain:
    pass


class Above:
    def method(self):
        return 1


class Below(Above):
    def missing(self):
        return super().nowhere()

    @classmethod
    def of_class(cls):
        return super().nowhere()

    @property
    def found(self):
        return super().found

    def __call__(self, x):
        return super().__call__(x)

    def __len__(self):
        return super().__len__()


rows(
    "GB0111",
    vector,
    "torch._dynamo.nonstrict_trace(traceable_fn={'a': 1})",
    "list(map(torch._dynamo.nonstrict_trace, [3.5]))",
    "torch._dynamo.nonstrict_trace(x)",
)
rows("", vector, "torch._dynamo.nonstrict_trace(traceable_fn=doubled)(x)")
rows(
    "GB0112",
    vector,
    "[torch.sum(v, dims=0) for v in (x, x)]",
    "functools.partial(torch.exp, bad=1)(x)",
    "list(map(torch.cos, [x], [x]))",
    "torch.flip(*[x], **{'dims': (0,), 'wrong': 1})",
    "torch.Tensor.mul(x)",
)
rows("GB0113", vector, "Below().missing()", "Below.of_class()", "x + Below().found", "Below()(x)", "len(Below())")
rows(
    "GB0114",
    vector,
    "list(itertools.accumulate([x, x], lambda a, b: a if a.sum() > 0 else b))",
    "list(itertools.accumulate([x, 'a']))",
    "list(itertools.accumulate([x], operator.getitem, initial='s'))",
)


def sending(x):
    def inner():
        yield (yield x)

    def outer():
        yield from inner()

    g = outer()
    next(g)
    return g.send(x * 2)


rows("GB0120", vector, "sending(x)", "[sending(v) for v in (x,)]", "list(map(sending, [x]))")
rows(
    "GB0123",
    leaf,
    "torch.Tensor.backward((x * 2).sum())",
    "operator.methodcaller('backward')(x.sum())",
    "list(map(lambda t: t.backward(), [x.sum(), (x * 2).sum()]))",
)
rows("GB0124", vector, "torch.Tensor.item(x.sum())", "sorted([x[2], x[0]], key=lambda t: t.item())", "x * float(x[1])")
rows("GB0125", vector, "torch.Tensor.requires_grad_(x)", "x.requires_grad_(requires_grad=True)")
rows("GB0126", vector, "torch.Tensor.resize_(x + 1, (2,)).shape", "getattr(x + 1, 'resize_')(2).shape")
rows("GB0128", vector, "(x * 2).set_(x.untyped_storage(), 1, (2,))", "torch.Tensor.set_(x + 1, x, 0, (3,), (1,))")


def __setitem__(d, k, v):  # noqa: N807  the name is the condition
    d[k] = v


set_item = __setitem__
rows(
    "GB0131",
    vector,
    "set_item(d={}, k=1, v=x)",
    "functools.partial(set_item, [1, 2], 1)(x)",
    "list(map(set_item, [[0]], [0], [x]))",
    "!d = {}; set_item(v=x, k='a', d=d); r = d",
)
rows("GB0132", vector, "list(itertools.accumulate(*([x, x], operator.add), **{'func': None}))")
rows("GB0133", vector, "list(itertools.accumulate())", "[list(a) for a in map(itertools.accumulate, [1.5])]")
rows(
    "GB0155",
    vector,
    "list(itertools.groupby('aab', keys=str.upper))",
    "functools.partial(itertools.groupby, fn=1)([1])",
)
rows("GB0135", vector, "!e = KeyError('a'); e.args = (1, 2)", "!e = OSError('z'); setattr(e, 'tag', x); r = e.tag")
rows("GB0136", vector, "getattr(range(3), 'size', 4)", "[r.first for r in (range(2), range(3))]")
rows(
    "GB0137",
    vector,
    "slice(1).__iter__",
    "slice(1).__len__()",
    "getattr(slice(3), 'length')",
    "slice(2).__contains__(1)",
)
rows("GB0150", vector, "getattr(slice(2), 'foo', 3)", "list(map(hasattr, [slice(1)], ['stop']))")


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

    def helper(x):
        return x + 1

    @staticmethod
    def free(x):
        return x * 3


rows(
    "GB0140",
    vector,
    "getattr(Twice, 'helper')(x=x)",
    "list(map(Twice.helper, [x]))",
    "functools.partial(Twice.helper, x)()",
    "[f(x) for f in (Twice.helper,)]",
    "len(Twice.__repr__(Twice)) > 0",
    "Twice.__eq__(Twice, 3)",
    "Twice.mro()[0] is Twice",
)
rows("", vector, "Twice.free(x)", "Twice.helper is Twice.helper or x", "Twice.__name__")


def context(text):
    """An autograd.Function whose forward does that with its context."""
    exec(
        f"class Made(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        {text}\n"
        "        return x * 2\n    @staticmethod\n    def backward(ctx, g):\n        return g * 2",
        SCOPE,
    )
    return SCOPE.pop("Made")


ODD = [context("ctx.register_hook(print)"), context("ctx.register_prehook(print)")]
ODD += [context(t) for t in ("ctx.__dir__()", "list(map(lambda m: getattr(ctx, m)(), ['__repr__']))", "ctx.name()")]
rows("GB0139", leaf, *[f"ODD[{i}].apply(x)" for i in range(len(ODD))])


@torch._dynamo.allow_in_graph
def kept_whole(ctx, x):
    return x * 2


GIVEN = [context(f"kept_whole({t})") for t in ("x=x, ctx=ctx", "ctx, x")]
rows("GB0205", vector, "GIVEN[0].apply(x)", "GIVEN[1].apply(x)")
rows("GB0142", vector, "!with memoryview(b'a') as m: r = x + m[0]", "!with np.errstate(all='ignore'): r = x / 2")
rows(
    "GB0143",
    vector,
    "!l = [1, 2]; l[:1] = 4",
    "!l = [1]; l.__setitem__(slice(0, 1), 3)",
    "operator.setitem([1], slice(None), Plain())",
)
rows("GB0146", vector, "len(torch.Event().__repr__()) > 0", "getattr(torch.Event(), '__hash__')() and 1")
rows("", vector, "x + torch.Event().query()")
rows("GB0147", vector, "array.array('d', [1.0]).typecode", "(lambda f: f(x))([1])", "list(map(3, [x]))")
rows("GB0151", vector, "len(inspect.signature(functools.partial(doubled)).parameters)")
rows("GB0152", vector, "[k for k, _ in itertools.groupby([1, 2], key=lambda v: x)]")


def floats():
    return np.arange(4.0)


rows(
    "GB0157", floats, "operator.attrgetter('dtype')(x)", "getattr(x, 'dtype', None)", "[v.flags.owndata for v in (x,)]"
)
rows(
    "GB0158", floats, "operator.methodcaller('tobytes')(x)", "np.ndarray.tobytes(x)", "len((x * 2).tobytes(order='F'))"
)
rows("GB0159", floats, "hasattr(x, '__version__')", "getattr(x, '__version__', 1)")


class Marked(torch.nn.Module):
    called = len
    held = Plain()
    number = 3

    def __init__(self):
        super().__init__()
        self.torchdynamo_force_dynamic = False


MARKED = Marked()
rows("GB0161", vector, "MARKED.called is len", "getattr(MARKED, 'held') is not None")
rows("", vector, "MARKED.number")
ENGINE = torch.autograd.Variable._execution_engine
rows(
    "GB0165",
    leaf,
    "ENGINE.run_backward((x.sum(),), (), False, False, (), accumulate_grad=True)",
    "getattr(ENGINE, '__hash__')() and 1",
    "list(map(lambda e: e.is_checkpoint_valid(), [ENGINE]))",
)
rows("GB0171", vector, "list(map(AssertionError, [1]))[0].args", "functools.partial(AssertionError, 3)().args")
rows("GB0174", vector, "typing.cast(int)", "list(map(typing.cast, [int]))", "typing.cast(typ=int)")
rows("", vector, "typing.cast(int, val=x)", "typing.cast(typ=int, val=x)")
rows("GB0175", vector, "[isinstance(getattr(x, n), int) for n in ['squeeze_']]")


@dataclasses.dataclass
class Point:
    a: int = 1


rows(
    "GB0180",
    vector,
    "len(dataclasses.fields(class_or_instance=Point))",
    "[len(f) for f in map(dataclasses.fields, [Point])]",
)
rows(
    "GB0183", vector, "dict.fromkeys(zip([1], [[2]]))", "functools.partial(dict.fromkeys, [[]])()", "{}.fromkeys([[x]])"
)
rows("", vector, "functools.wraps(torch.sin)(lambda v: v + 1)(x)", "functools.wraps(len)(lambda v: v + 1)(x)")
rows("GB0190", vector, "list(map(lambda n: getattr(Plain(), n, 3), [x]))", "getattr(Plain(), x[0], 3)")
rows("GB0193", vector, "functools.partial(len)(x, x)", "type(x, 2)", "super(1, 2, 3)", "[isinstance(v) for v in (x,)]")
rows("GB0195", vector, "functools.partial(issubclass, x)(int)", "issubclass(int, (str, x))")


class Alias:
    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return other == self.name


def optimizer(kind, key):
    w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    made = kind([w], lr=0.5)
    group = made.param_groups[0]
    group[key] = group.pop("params")
    w.grad = torch.ones(2)
    return w, made


def stepped(kind, key):
    def program(compile):
        w, made = optimizer(kind, key)

        @compile
        def step():
            with torch.no_grad():
                made.step()

        step()
        return w.detach()

    program.__name__ = f"{kind.__name__}-{key if isinstance(key, str) else 'alias'}"
    return program


class BySgd(torch.optim.SGD):
    def step(self):
        params, grads, buffers = [], [], []
        self._init_group(self.param_groups[0], params, grads, buffers)
        for param, grad in zip(params, grads):
            param.sub_(grad * 0.5)


class ByAdam(torch.optim.Adam):
    def step(self):
        lists = [[] for _ in range(6)]
        self._init_group(self.param_groups[0], *lists)
        for param, grad, mean in zip(*lists[:3]):
            param.sub_(grad + mean)


for kind in (BySgd, ByAdam, torch.optim.SGD, torch.optim.RMSprop):
    case("GB0196")(stepped(kind, Alias("params")))
    case("")(stepped(kind, "params"))


def tables(mutate):
    def program(compile):
        @compile
        def f(x, d, p):
            before = p["a"]
            mutate(d)
            return x + before

        return f(vector(), {"z": 1}, types.MappingProxyType({"a": 2}))

    return program


case("")(tables(lambda d: d.update(q=1)))
case("")(tables(lambda d: d.pop("z")))


def seen(function, *dicts):
    """Called with views of several dictionaries, one after another."""

    def program(compile):
        f = compile(function)
        return [f(vector(), view) for d in dicts for view in (d.keys(), d.values(), d.items())]

    return program


case("")(seen(lambda x, view: x + len(view), {"a": 1, "b": 2}, {"c": 3}))
case("")(seen(lambda x, view: [x for _ in view] + [sorted(view)], {"a": 1, "b": 2}, {"a": 1}))


@case("")
def view_of_what_the_trace_changes(compile):
    @compile
    def f(x, view, d):
        before = len(view)
        d["n"] = x
        return before, len(view), x + 1, list(view)

    d, other = {"a": 1}, {"b": 1}
    return f(vector(), d.keys(), d), f(vector(), d.keys(), other), f(vector(), other.keys(), d), len(d), len(other)


rows("GB0206", vector, "functools.partial(setattr, x, 'requires_grad')(True)", "!x.__setattr__('requires_grad', True)")
rows("GB0207", vector, "list.sort([x[1], x[0]])", "sorted({'a': x[1], 'b': x[0]}.items(), key=lambda p: p[1])")
rows(
    "GB0208",
    vector,
    "len(x.__dir__()) > 0",
    "x.__sizeof__() > 0",
    "x.__format__('') != ''",
    "list(map(torch.result_type, [x], [1]))",
)
rows("GB0218", vector, "[operator.index(v) for v in x.long()]", "x.long()[0].__index__()")


def data_cases():
    def program(compile, f, count):
        x, y = vector(), torch.ones(3)
        f = compile(f)
        return [f(x, y) for _ in range(count)], x, y

    def swapped(x, y):
        x.data, y.data = y * 1, x * 1
        return x + 0

    def shared(x, y):
        x.data = y
        y.add_(1)
        return x + 0

    def seen_through_a_view(x, y):
        v = x.view(-1)
        x.data = x * 3
        v.add_(1)
        return v + 0

    def other_sizes(x, y):
        x.data = y[:2] * 1
        x.mul_(2)
        return x.shape[0], x + 1

    def in_turn(x, y):
        for i in range(3):
            x.data = x + i
        return x + 0

    for f in (swapped, shared, seen_through_a_view, other_sizes, in_turn):
        made = functools.partial(program, f=f, count=2)
        made.__name__ = f.__name__
        case("")(made)


data_cases()
rows("GB0220", vector, "!x.data = x.double()", "functools.partial(setattr, x, 'data')(x.half())")


@case("GB0220")
def data_of_another_argument(compile):
    @compile
    def f(x, y):
        x.data = y
        return x + 1

    return f(vector(), torch.ones(3, dtype=torch.float64))


@contextlib.contextmanager
def not_a_generator(v=1):
    return iter([v])


rows("GB0221", vector, "!with functools.partial(not_a_generator, 6)() as r: pass")


@case("GB0219")
def backend_that_cannot_order_writes(compile):
    def backend(graph, inputs):
        raise torch._subclasses.fake_tensor.UnsupportedMutationAliasingException("shared memory")

    return compile(lambda x: x + 1, backend=backend)(vector())


def alone(text):
    """In a process group of one."""
    dist = torch.distributed

    def program(compile):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        try:
            f = eval(f"lambda x: ({text}, x * 2)", {"dist": dist, "torch": torch, "functools": functools})
            return compile(f)(vector())
        finally:
            dist.destroy_process_group()

    program.__name__ = text
    return program


for text in ("dist.all_reduce(x)", "dist.all_reduce(x, async_op=False)", "dist.broadcast(x, 0)"):
    case("")(alone(text))
for text in (
    "functools.partial(dist.all_reduce, async_op=True)(x).wait()",
    "dist.all_reduce(x, dist.ReduceOp.SUM, None, True).wait()",
    "dist.all_gather_into_tensor(torch.zeros(3), x, async_op=True).wait()",
):
    case("GB0172")(alone(text))

"""Programs that follow hints of GB0106 and later codes."""

import contextlib
import dataclasses
import datetime
import functools
import itertools
import time

import numpy as np

import minidynamo as torch
from graph_breaks.hint_tables import after, before

config = torch._dynamo.config
X = functools.partial(torch.tensor, [1.0, 2.0, 4.0])


@after("GB0108", 1)
def retained_outside(compile):
    w = torch.ones(2, requires_grad=True)
    y = compile(lambda w: w.sin())(w)
    y.retain_grad()
    y.sum().backward()
    return y.grad, w.grad


@after("GB0109", 1)
def list_outside(compile):
    return compile(lambda x: x * 2)(X()).tolist()


@after("GB0113", 1)
def parent_has_it(compile):
    class Base:
        def apply(self, x):
            return x * 2

    class Child(Base):
        def apply(self, x):
            return super().apply(x) + 1

    return compile(lambda x: Child().apply(x))(X())


@after("GB0114", 1)
def accumulated_in_a_loop(compile):
    @compile
    def f(x):
        sums = [x]
        for part in (x * 2, x * 3):
            sums.append(sums[-1] + part)
        return sums

    return f(X())


@after("GB0120", 1)
def sent_to_the_inner_one(compile):
    def inner(x):
        got = yield x
        yield x + got

    @compile
    def f(x):
        g = inner(x)
        return next(g) + g.send(3)

    return f(X())


@after("GB0124", 1)
def item_kept(compile):
    with config.patch(capture_scalar_outputs=True):
        return compile(lambda x: x * x.max().item())(X())


@after("GB0126", 1)
def allocated(compile):
    return compile(lambda x: torch.empty(2).copy_(x[:2]) + x.reshape(3, 1)[0])(X())


@after("GB0132", 1)
def function_once(compile):
    return compile(lambda x: list(itertools.accumulate([x, x], torch.add)))(X()), compile(
        lambda x: list(itertools.accumulate([x, x], func=torch.add))
    )(X())


@after("GB0133", 1)
def iterable_given(compile):
    return compile(lambda x: list(itertools.accumulate([x, x], torch.add, initial=x)))(X())


@after("GB0138", 1)
def ctx_of_forward(compile):
    class Squared(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.note = "kept"
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    w = X().requires_grad_()
    compile(lambda w: Squared.apply(w).sum())(w).backward()
    return w.grad


after("GB0139", 1)(ctx_of_forward)


def tripled(x):
    return x * 3


@after("GB0140", 1)
def at_module_level(compile):
    return compile(lambda x: tripled(x) + 1)(X())


@after("GB0142", 1)
def manager_outside(compile):
    import threading

    with threading.Lock():
        return compile(lambda x: x + 1)(X())


@contextlib.contextmanager
def scope(n):
    yield n


@after("GB0142", 2)
def managers_in_python(compile):
    class Own:
        def __enter__(self):
            return 2

        def __exit__(self, *error):
            return False

    @compile
    def f(x):
        with Own() as a, scope(3) as b, torch.no_grad():
            return x * a + b

    return f(X())


@before("GB0147_construct")
def makes_an_object(compile):
    return compile(lambda x: x + datetime.timedelta(minutes=2).seconds)(X())


@after("GB0147_construct", 1)
def made_outside(compile):
    moment = time.gmtime(0)
    return compile(lambda x, year: x + year)(X(), moment.tm_year)


@after("GB0148", 1)
def without_the_mark(compile):
    return compile(lambda x: tripled(x).unsqueeze(1))(X())


@after("GB0150", 1)
def class_asked(compile):
    return compile(lambda x: x[slice(0, 2)] if hasattr(slice, "start") else x)(X())


@after("GB0153", 1)
def string_as_key(compile):
    layers = torch.nn.ModuleDict({"up": torch.nn.ReLU(), "down": torch.nn.Tanh()})
    return compile(lambda x: torch.where(x.sum() > 0, layers["up"](x), layers["down"](x)))(X())


@after("GB0154", 1)
def keyword_of_accumulate(compile):
    return compile(lambda x: list(itertools.accumulate([x], initial=x)))(X())


@after("GB0155", 1)
def keyword_of_groupby(compile):
    return compile(lambda x: x * len(list(itertools.groupby([1, 1, 2], key=lambda n: n))))(X())


@before("GB0156_iterator")
def iterator_passed(compile):
    return compile(lambda x, it: x + it.__length_hint__())(X(), iter({1, 2}))


@after("GB0156_iterator", 1)
def length_instead(compile):
    return compile(lambda x, s: x + len(s))(X(), [1, 2])


@after("GB0156_iterator", 2)
def iterator_made_inside(compile):
    return compile(lambda x, s: x + next(iter(s)))(X(), [1, 2])


@after("GB0156_iterator", 3, breaks_elsewhere=True)
def used_up_before_the_break(compile):
    @compile
    def f(x):
        y = x + sum(iter([1, 2]))
        torch._dynamo.graph_break()
        return y + next(iter([3]))

    return f(X())


@after("GB0156_iterator", 4)
def loop_not_comprehension(compile):
    @compile
    def f(x):
        out = []
        for n in [1, 2]:
            out.append(x + n)
        return out

    return f(X())


@after("GB0164", 1)
def other_name_for_an_attribute(compile):
    class Labelled(torch.Tensor):
        rank = 3

    return compile(lambda x: x * x.rank)(X().as_subclass(Labelled)).tolist()


@after("GB0166", 1)
def without_the_callback(compile):
    return compile(lambda x: x + 1)(X())


@after("GB0170", 1)
def cond_instead(compile):
    return compile(lambda x: torch.cond(x.sum() > 5, lambda t: t / 2, lambda t: t * 2, (x,)))(X())


@after("GB0176", 1)
def compared_by_is(compile):
    y = X()
    return compile(lambda x: x + 1 if x is not y else x)(X())


@after("GB0179", 1)
def copied_by_comprehension(compile):
    return compile(lambda xs: [x.clone() for x in xs])([X(), X()])


@dataclasses.dataclass
class Size:
    rows: int = 2
    columns: int = 3


@after("GB0180", 1)
def fields_outside(compile):
    names = [field.name for field in dataclasses.fields(Size)]
    return compile(lambda x, size: x * getattr(size, names[0]))(X(), Size())


@after("GB0182", 1)
def shapes_compared(compile):
    return compile(lambda a, b: a >= b if a.shape == b.shape else a)(torch.ones(4), torch.ones(5))


@after("GB0185", 1)
def numeric_array(compile):
    return compile(lambda x, a: x + torch.from_numpy(a))(X(), np.array(["1", "2", "3"]).astype(np.float32))


@after("GB0191", 1)
def lists_compared_by_is(compile):
    @compile
    def f(x):
        a, b = [x], [x]
        return x + 1 if a is b else x - 1

    return f(X())


@after("GB0200", 1)
def set_switched_on(compile):
    with config.patch(inject_BUILD_SET_unimplemented_TESTING_ONLY=False):
        return compile(lambda x: x + len({1, 2, x.shape[0]}))(X())


@after("GB0206", 1)
def detached(compile):
    return compile(lambda w: w.detach() * 2)(torch.ones(2, requires_grad=True))


@after("GB0207", 1)
def sorted_by_torch(compile):
    return compile(lambda x: (torch.sort(x)[0], torch.argsort(x), sorted([3, 1, 2])))(X())


@after("GB0219", 1)
def without_the_operation(compile):
    def choosy(graph, inputs):
        if any(getattr(node.target, "__name__", node.target) == "cos" for node in graph.graph.nodes):
            raise NotImplementedError("cos")
        return graph

    return compile(lambda x: x.sin() + 1)(X())


@after("GB0106", 1)
def stays_with_tensors(compile):
    return compile(lambda x: (x + 1).sum() * x)(X())


@after("GB0107", 1)
def drawn_and_copied(compile):
    @compile
    def f(x):
        y = x.clone()
        y.copy_(torch.randint_like(y, 0, 9))
        return y * 0 + torch.randint(3, (3,)) * 0

    return f(X())


@after("GB0110", 1)
def bounds_by_position(compile):
    return compile(lambda x: x.clone().uniform_(0, 2) * 0)(X())


@after("GB0123", 1)
def backward_outside(compile):
    w = torch.ones(2, requires_grad=True)
    compile(lambda w: (w * w).sum())(w).backward()
    return w.grad


@after("GB0127", 1)
def shaped_by_functions(compile):
    @compile
    def f(x, y):
        return x.reshape(y.shape) + x.reshape(3, 1).expand(3, 2).reshape(-1)[: y.numel()].reshape(y.shape).clone()

    return f(X(), torch.ones(3, 1))


@after("GB0128", 1)
def views_instead(compile):
    return compile(lambda x: x.as_strided((2,), (1,)) + x[:2] + x.reshape(3, 1)[1:, 0])(X())


@after("GB0175", 1)
def tested_outside(compile):
    return compile(lambda x, is_list: x + 1 if is_list else x)(X(), isinstance([1], list))


@after("GB0192", 1)
def index_instead_of_cycle(compile):
    @compile
    def f(x, numbers):
        for i in range(4):
            x = x + numbers[i % len(numbers)]
        for _, n in zip(range(3), itertools.cycle([1, 2])):
            x = x + n
        return x

    return f(X(), [1, 2, 3])


@after("GB0218", 1)
def indexed_by_tensor(compile):
    return compile(lambda x, at, i: torch.stack([x, x + 1])[at] + [x, x * 2][i])(X(), torch.tensor(1), 1)


@after("GB0116", 1)
def plain_numbers_stored(compile):
    class Box:
        pass

    @compile
    def f(x):
        box = Box()
        box.value = (1, "a", [2.0])
        return x + box.value[0]

    return f(X())


@after("GB0161", 1)
def assigned_in_init(compile):
    class Scaled(torch.nn.Module):
        limit = 5

        def __init__(self):
            super().__init__()
            self.factor = 2.0

        @property
        def double(self):
            return self.factor * 2

        def forward(self, x):
            return x * self.double + self.limit

    return compile(Scaled())(X())


@after("GB0169", 1)
def returned_and_assigned(compile):
    @compile
    def f(x):
        count = 0

        def counted(n):
            return n + 1

        count = counted(count)
        return x + count

    return f(X())


@after("GB0181", 1)
def gradient_of_the_same_dtype(compile):
    w = torch.ones(3, requires_grad=True)
    w.grad = torch.ones(3, dtype=w.dtype)
    return compile(lambda w: w.detach() + w.grad)(w)


@after("GB0189", 1)
def asked_before_the_change(compile):
    class Counted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))
            self.calls = 0

        def forward(self, x):
            weight = self.weight
            self.calls += 1
            return (x * weight).detach()

    return compile(Counted())(X())


@after("GB0209", 1)
@after("GB0212", 1)
def profiled_outside(compile):
    with torch.profiler.profile():
        return compile(lambda x: x + 1)(X())

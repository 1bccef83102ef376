"""Programs that follow hints of GB0140 and later codes."""

import contextlib
import dataclasses
import functools
import itertools
import time

import numpy as np

import minidynamo as torch
from graph_breaks.hint_tables import after, before

config = torch._dynamo.config
X = functools.partial(torch.tensor, [1.0, 2.0, 4.0])


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


class Closing:
    """Its end runs code."""

    year = 1970

    def __del__(self):
        self.year = 0


@before("GB0147_uncallable")
def calls_a_number(compile):
    return compile(lambda x, n: x + (n() if x is None else n(2)))(X(), 3)


@after("GB0147_uncallable", 1)
def asked_whether_callable(compile):
    return compile(lambda x, n: x + (n(2) if callable(n) else n))(X(), 3)


@before("GB0147_class")
def class_of_a_name(compile):
    return compile(lambda x: x + type("Made", (dict,), {}, extra=1)().size)(X())


@after("GB0147_class", 1)
def class_made_before(compile):
    made = type("Made", (), {"size": 2})
    return compile(lambda x: x + made().size)(X())


@before("GB0147_construct")
def makes_an_object(compile):
    return compile(lambda x: x + Closing().year)(X())


@after("GB0147_construct", 1)
def made_outside(compile):
    made = Closing()
    return compile(lambda x, closing: x + closing.year)(X(), made)


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
def iterator_made_inside(compile):
    return compile(lambda x, s: x + next(iter(s)))(X(), [1, 2])


@after("GB0156_iterator", 2, breaks_elsewhere=True)
def used_up_before_the_break(compile):
    @compile
    def f(x):
        y = x + sum(iter([1, 2]))
        torch._dynamo.graph_break()
        return y + next(iter([3]))

    return f(X())


@after("GB0156_iterator", 3)
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


@after("GB0212", 1)
def profiled_outside(compile):
    with torch.profiler.profile():
        return compile(lambda x: x + 1)(X())


@after("GB0146", 1)
def timings_outside(compile):
    started = time.perf_counter()
    y = compile(lambda x: x + 1)(X())
    return y, time.perf_counter() >= started


@after("GB0172", 1)
def without_async(compile):
    return compile(lambda x: x * 1)(X())


@after("GB0198", 1)
def the_dict_itself(compile):
    @compile
    def f(x, table):
        table["b"] = 3
        return x + table["a"] + len(table)

    return f(X(), {"a": 2})


@after("GB0203", 1)
@after("GB0204", 1)
def numbers_and_strings_as_keys(compile):
    @compile
    def f(x, table):
        return x + sum(table[key] for key in list(table.keys()))

    return f(X(), {1: 2, "a": 3})


@after("GB0196", 1)
def plain_key_of_a_group(compile):
    w = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([w], lr=0.5)
    w.grad = torch.ones(3)
    compile(optimizer.step)()
    return w.detach()

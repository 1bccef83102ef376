"""Programs that follow a hint. The first hint of a code is followed by `fix` in GBxxxx.py; here are the others, other
ways a hint names, and programs that meet the variants of a code.

`before(id)` marks a program that meets the text `id` ("GB0007_numpy"), `after(id, n)` one that follows its n-th hint.
"""

import collections
import contextlib
import dataclasses
import datetime
import decimal
import functools
import itertools
import sys
import time
import types
import warnings

import numpy as np

import minidynamo as torch

BEFORE, AFTER = {}, []
config = torch._dynamo.config


def before(id_):
    def mark(program):
        BEFORE[id_] = program
        return program

    return mark


def after(id_, number, *, breaks_elsewhere=False):
    def mark(program):
        AFTER.append((id_, number, breaks_elsewhere, program))
        return program

    return mark


X = functools.partial(torch.tensor, [1.0, 2.0, 4.0])


@after("GB0005", 1)
def text_in_python(compile):
    class Price(decimal.Decimal):
        def __str__(self):
            return "free"

    price = Price(0)
    return compile(lambda x: (x + 1, str(price)))(X())


@before("GB0007")
def skipped(compile):
    return compile(lambda x: x + len(torch._dynamo.list_backends()))(X())


@after("GB0007", 1)
def skipped_before(compile):
    count = len(torch._dynamo.list_backends())
    return compile(lambda x: x + count)(X())


@before("GB0007_builtin")
def c_function(compile):
    return compile(lambda x: x + 0 * time.get_clock_info("time").resolution)(X())


@after("GB0007_builtin", 1)
def c_function_outside(compile):
    resolution = time.get_clock_info("time").resolution
    return compile(lambda x: x + 0 * resolution)(X())


@torch.library.custom_op("gbhints::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.asarray(x) / 2)


@halved.register_fake
def _(x):
    return torch.empty_like(x)


@after("GB0007_builtin", 2)
def c_function_as_operator(compile):
    return compile(lambda x: halved(x) + 1)(X())


@torch.compiler.allow_in_graph
def kept_whole(x):
    return x.sin() + len(bytes(3))


@after("GB0007_builtin", 2)
def c_function_kept_whole(compile):
    return compile(lambda x: kept_whole(x) + 1)(X())


@before("GB0007_numpy")
def numpy_form(compile):
    return compile(lambda x, a: x + np.packbits(a).sum())(X(), np.array([1, 0, 1], dtype=np.uint8))


@after("GB0007_numpy", 1)
def simpler_numpy_form(compile):
    return compile(lambda x, a: x + torch.from_numpy(np.sum(a, axis=0)))(X(), np.ones((2, 3), dtype=np.float32))


@after("GB0007_numpy", 2)
def numpy_outside(compile):
    total = int(np.packbits(np.array([1, 0, 1], dtype=np.uint8)).sum())
    return compile(lambda x: x + total)(X())


@before("GB0007_warning")
def warns(compile):
    @compile
    def f(x):
        warnings.warn("old", stacklevel=1)
        return x + 1

    return f(X())


@after("GB0007_warning", 1)
def warns_outside(compile):
    y = compile(lambda x: x + 1)(X())
    warnings.warn("old", stacklevel=1)
    return y


@after("GB0007_warning", 1)
def warns_later(compile):
    with config.patch(reorderable_logging_functions={warnings.warn}):
        return warns(compile)


@after("GB0014", 1)
def recurrent_outside(compile):
    cell = torch.nn.GRU(2, 2)
    state = cell(torch.ones(3, 2))[1].detach()
    return compile(lambda h: h.shape[0] * 2 + h * 0)(state)


@after("GB0022", 1)
def real_module(compile):
    module = types.ModuleType("gbhints_settings")
    module.rate = 3
    sys.modules["gbhints_settings"] = module

    @compile
    def f(x):
        import gbhints_settings

        return x * gbhints_settings.rate

    return f(X())


@after("GB0023", 1)
def lengths_and_elements(compile):
    @compile
    def f(x):
        ours, theirs = [1, 2], [1, 2]
        return x + 1 if len(ours) == len(theirs) and ours[0] == theirs[0] else x

    return f(X())


@after("GB0031", 1)
def plain_attribute_or_getattr(compile):
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.shift = 1

        def __getattr__(self, name):
            return 3 if name == "factor" else super().__getattr__(name)

        def forward(self, x):
            return x * self.factor + self.shift

    return compile(Scaled())(X())


@after("GB0035", 1)
def bool_before_branch(compile):
    level = torch.ones(2)
    high = bool(level.sum() > 1)
    return compile(lambda x, high: x + 1 if high else x - 1)(X(), high)


@after("GB0036", 1)
def captured_size(compile):
    with config.patch(capture_dynamic_output_shape_ops=True):
        return compile(lambda x: x[x > 1].sum())(X())


@after("GB0037", 1)
def functions_of_torch(compile):
    return compile(lambda x: torch.where(x > 1, x, 0).max())(X())


@after("GB0038", 1)
def narrowed(compile):
    return compile(lambda x: torch.narrow(x, 0, 0, 2) + x[torch.arange(2) + 1])(X())


@after("GB0039", 1)
def marked_dynamic(compile):
    f = compile(lambda x: x * 2)
    with config.patch(recompile_limit=1):
        results = []
        for n in (2, 3, 4):
            x = torch.ones(n)
            torch._dynamo.mark_dynamic(x, 0)
            results.append(f(x))
        return results


@after("GB0039", 2)
def higher_limit(compile):
    f = compile(lambda x, times: x * times, dynamic=False)
    with config.patch(recompile_limit=3):
        return [f(X(), n) for n in (2, 3, 4)]


@after("GB0043", 1)
def any_operator_allowed(compile):
    with config.patch(only_allow_pt2_compliant_ops=False):
        return compile(lambda x: halved(x) * 2)(X())


@after("GB0056", 1)
def copied_into(compile):
    @compile
    def f(x):
        y = x + 1
        y.copy_(x * 10)
        return y

    return f(X())


@after("GB0057", 1)
def raises_an_exception(compile):
    @compile
    def f(x):
        try:
            raise ValueError("too long")
        except ValueError:
            return x[:2]

    return f(X())


@before("GB0059")
def hash_of_a_tensor(compile):
    return compile(lambda x: (x, hash(x)))(X())[0]


@before("GB0059_effect")
def prints(compile):
    @compile
    def f(x):
        print("step")
        return x + 1

    return f(X())


@after("GB0059_effect", 1)
def prints_outside(compile):
    y = compile(lambda x: x + 1)(X())
    print("step")
    return y


@after("GB0059_effect", 2)
def prints_later(compile):
    with config.patch(reorderable_logging_functions={print}):
        return prints(compile)


@after("GB0066", 2, breaks_elsewhere=True)
def manager_of_the_library(compile):
    @compile
    def f(x):
        with torch.no_grad():
            y = x + 1
            torch._dynamo.graph_break()
            y = y * 2
        return y

    return f(X())


@torch._dynamo.nonstrict_trace
def doubled_by_python(x):
    return x + x


@after("GB0078", 2)
def decorated(compile):
    return compile(lambda x: doubled_by_python(x) - 1)(X())


@after("GB0094", 1)
def loop_over_it(compile):
    def numbers():
        for n in [1, 2]:
            yield n + 1

    return compile(lambda x: x + sum(numbers()))(X())


@after("GB0103", 1)
def another_name(compile):
    class Cells(torch.Tensor):
        def put(self, place, value):
            torch.Tensor.fill_(self[place], value)

    @compile
    def f(cells):
        cells.put(1, 5.0)
        return cells * 2

    return f(torch.zeros(3).as_subclass(Cells)).tolist()


@after("GB0104", 1)
def requires_grad_asked(compile):
    return compile(lambda w: w * 2 if w.requires_grad else w)(torch.ones(2, requires_grad=True)).detach()


@after("GB0105", 1)
def numpy_traced(compile):
    with config.patch(trace_numpy=True):
        return compile(lambda x: torch.from_numpy((x + 1).numpy() * 2))(X())


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


@after("GB0097", 1)
def list_as_queue(compile):
    kept = collections.deque([1, 2])

    @compile
    def f(x):
        kept.append(3)
        kept.popleft()
        return x + len(kept)

    return f(X()), list(kept)


@after("GB0007", 2)
def entered_anyway(compile):
    function = torch._dynamo.dont_skip_tracing(tripled)
    return compile(lambda x: function(x) + 1)(X())


@after("GB0070", 1)
def stacked_and_indexed(compile):
    return compile(lambda x, at: torch.stack([x, x * 2])[at])(X(), torch.tensor([0, 1, 1]))


@after("GB0079", 1)
def type_statement_outside(compile):
    if sys.version_info >= (3, 12):
        scope = {}
        exec("type Number = int\ndef same[T](x: T) -> T:\n    return x", scope)
        return compile(lambda x: scope["same"](x) + 1)(X())
    return compile(lambda x: x + 1)(X())


@after("GB0081", 1)
def method_of_a_size_outside(compile):
    bits = X().shape[0].bit_length()
    return compile(lambda x, bits: x * bits, dynamic=True)(X(), bits)


@after("GB0084", 1)
def deleted_by_statement(compile):
    class Box:
        pass

    @compile
    def f(box, x):
        y = x + box.value
        del box.value
        return y

    box = Box()
    box.value = 2
    return f(box, X()), hasattr(box, "value")


@after("GB0092", 1)
def returns_containers(compile):
    return compile(lambda x: ([x, 1], {"a": (x + 1, "b")}))(X())


@after("GB0092", 2)
def value_without_a_break(compile):
    return compile(lambda x: x + len({"a": 1}.keys()))(X())


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

"""Programs that follow hints of GB0060 to GB0139."""

import collections
import functools
import itertools
import sys

import minidynamo as torch
from graph_breaks.hint_tables import after

config = torch._dynamo.config
X = functools.partial(torch.tensor, [1.0, 2.0, 4.0])


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


@after("GB0097", 1)
def list_as_queue(compile):
    kept = collections.deque([1, 2])

    @compile
    def f(x):
        kept.append(3)
        kept.popleft()
        return x + len(kept)

    return f(X()), list(kept)


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


@after("GB0083", 1)
def module_without_hooks(compile):
    layer = torch.nn.Linear(3, 2)
    torch.nn.init.ones_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    layer.register_full_backward_hook(lambda *a: None).remove()
    return compile(lambda x: layer(x).sum())(X()).detach()


@after("GB0100", 1)
@after("GB0101", 1)
def handle_stored_outside(compile):
    w = torch.ones(3, requires_grad=True)
    y = compile(lambda w: w * 2)(w)
    kept = [y.register_hook(lambda g: g)]
    y.sum().backward()
    return w.grad, len(kept)


@after("GB0068", 1)
@after("GB0102", 1)
def decided_in_forward(compile):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.wide = x.dim() > 0
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 if ctx.wide else g

    w = torch.ones(3, requires_grad=True)
    compile(lambda w: Doubled.apply(w).sum())(w).backward()
    return w.grad


@after("GB0076", 1)
def another_name_in_the_comprehension(compile):
    @compile
    def f(x):
        n = 2
        return [x + k for k in range(n)], n

    return f(X())


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

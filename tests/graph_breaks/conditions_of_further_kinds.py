"""Codes of objects, modules, and regions, in the ways that the other tables leave out.

See conditions.py.
"""

import contextlib
import functools
import operator

import minidynamo as torch
from graph_breaks.conditions import leaf, lister, one

CASES = []
case = lister(CASES)
nn = torch.nn


class Caller:
    """Calls what it holds: a method between the compiled function and what breaks."""

    def __init__(self, held):
        self.held = held

    def call(self, *args):
        return self.held(*args)


# --- GB0004: deletions of what is not watched


class Forgetful(nn.Module):
    def __init__(self):
        super().__init__()
        self.note, self.mark = 3, 4

    def __getattribute__(self, name):
        return super().__getattribute__(name)

    def forget(self):
        super(Forgetful, self).__delattr__("note")  # noqa: UP008  the form with arguments

    def forward(self, x):
        del self.mark
        return x + 1


@case("GB0004")
def forgets_by_a_statement(compile):
    module = Forgetful()
    return compile(module)(one()), hasattr(module, "mark")


@case("GB0004")
def forgets_two_deep(compile):
    module = Forgetful()
    caller = Caller(module.forget)
    return compile(lambda x: (caller.call(), x * 2))(one()), hasattr(module, "note")


# --- GB0018: numbers without a value


@case("GB0018")
def number_times_a_tensor(compile):
    number = torch.fx.experimental.symbolic_shapes.ShapeEnv().create_unbacked_symint()
    return compile(lambda x, n: x + isinstance(n, str))(one(), number)


# --- GB0031: pinned modules that look attributes up themselves


class Reporting(nn.Module):
    torchdynamo_force_dynamic = False

    def __getattribute__(self, name):
        if name.startswith("told_"):
            print(name)
            return 2.0
        return super().__getattribute__(name)

    def forward(self, x):
        return x * getattr(self, "told_" + "b")


@case("GB0031")
def asked_by_getattr(compile):
    return compile(Reporting())(one())


@case("GB0031")
def asked_from_outside(compile):
    module = Reporting()
    return compile(lambda x: x + module.told_a)(one())


# --- GB0039: one more call than there may be compilations


def scaled(x, by):
    return x * (2 if by == "a" else 3)


class Scale:
    @staticmethod
    def of(name):
        return scaled(torch.ones(2), name)


@case("GB0039", recompile_limit=1)
def limit_of_a_method(compile):
    of = compile(Scale.of)
    return [of(name) for name in "abc"]


@case("GB0039", recompile_limit=1)
def limit_of_types(compile):
    f = compile(lambda x, y: x + y)
    return [f(one(), y) for y in (2, 2.5, torch.ones(1))]


@case("GB0039", recompile_limit=2)
def limit_of_a_module(compile):
    class Level(nn.Module):
        level = 0

        def forward(self, x):
            return x + len(self.level)

    module = Level()
    call, results = compile(module), []
    for level in ("a", "bc", "def", "ghij"):
        module.level = level
        results.append(call(one()))
    return results


# --- GB0040 and GB0041: regions two calls deep


def itself(t):
    return t


def raised(t):
    return t.add_(1)


def chosen(body, x):
    return torch.cond(x.sum() > 1, body, lambda t: t * 2, (x,))


@case("GB0040")
def gives_itself_two_deep(compile):
    return compile(lambda x: Caller(functools.partial(chosen, itself)).call(x))(one())


@case("GB0041")
def writes_two_deep(compile):
    return compile(lambda x: Caller(functools.partial(chosen, raised)).call(x + 1))(one())


# --- GB0044: wrappers around nested tensors


class Padded(torch.Tensor):
    @staticmethod
    def __new__(cls, rows, width):
        return torch.Tensor._make_wrapper_subclass(cls, (2, width), dtype=rows.dtype)

    def __init__(self, rows, width):
        self.rows, self.width = rows, width

    def __tensor_flatten__(self):
        return ["rows"], self.width

    @staticmethod
    def __tensor_unflatten__(inner, width, size, stride):
        return Padded(inner["rows"], width)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError(str(func))


def padded():
    return Padded(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), 3)


@case("GB0044")
def padded_attribute_two_deep(compile):
    caller = Caller(len)
    caller.rows = padded()
    return compile(lambda x, c: (lambda d: x + d.rows.size(1))(c))(one(), caller)


@case("GB0044")
def padded_argument(compile):
    return compile(lambda x, rows: x + rows.shape[0])(one(), padded())


# --- GB0071: functions with a __self__ of their own


def of_its_own(x):
    return x * 2


of_its_own.__self__ = "a"


@case("GB0071")
def own_self_two_deep(compile):
    return compile(lambda x: Caller(of_its_own).call(x))(one())


@case("GB0071")
def own_self_mapped(compile):
    return compile(lambda x: list(map(of_its_own, [x])))(one())


# --- GB0084: names of deletions that are no constants


class Box:
    kept = 1

    def forget(self, name):
        super().__delattr__(name)

    def forget_all(self, names):
        for name in names:
            object.__delattr__(self, name)


@case("GB0084")
def forgets_a_tensor(compile):
    return compile(Box().forget)(one())


@case("GB0084")
def forgets_a_list(compile):
    return compile(lambda x, box: (x + 1, box.forget([x])))(one(), Box())


@case("GB0084")
def forgets_an_object(compile):
    name = Box()
    return compile(lambda x: (x * 2, Box.forget(Box(), name)))(one())


# --- GB0096: stores that cannot be left to Python where they stand


@contextlib.contextmanager
def entered():
    yield


def counted(function, x):
    with contextlib.ExitStack():
        function.calls = x
    return x * 2


@case("GB0096")
def stores_to_a_partial_two_deep(compile):
    function = functools.partial(min, 3)
    return compile(lambda x: Caller(functools.partial(counted, function)).call(x))(one()), function.calls


@case("GB0096")
def stores_within_a_generator(compile):
    function = functools.partial(min, 3)

    @compile
    def f(x):
        with entered():
            function.calls, function.last = 1, 2
        return x + 1

    return f(one()), function.calls, function.last


# --- GB0102: attributes of gradients


class Signed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return Caller(Signed.by_layout).call(grad)

    @staticmethod
    def by_layout(grad):
        return grad * 2 if grad.layout is torch.strided else -grad


@case("GB0102")
def layout_two_deep(compile):
    w = leaf()
    compile(lambda w: Signed.apply(w).sum())(w).backward()
    return w.grad


# --- GB0113


class Base:
    pass


class Below(Base):
    def ask(self, x):
        return super().other(x)


@case("GB0113")
def asked_of_nothing(compile):
    return compile(Below().ask)(one())


# --- GB0120: values sent on


def scaling(x):
    factor = yield x
    while True:
        factor = yield x * factor


class Through:
    def steps(self, x):
        return (yield from scaling(x))


def sent(x):
    steps = Through().steps(x)
    return next(steps) + steps.send(3) + operator.methodcaller("send", 4)(steps)


@case("GB0120")
def sent_by_a_methodcaller(compile):
    return compile(sent)(one())


# --- GB0162: constructors again


class Restarting(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = 2.0

    def restart(self):
        super().__init__()

    def forward(self, x):
        y = x * self.factor
        self.restart()
        return y


@case("GB0162")
def constructed_again_by_super(compile):
    return compile(Restarting())(one())


# --- GB0169: variables of functions around a class


def counters():
    count = 0

    class Counter:
        @property
        def next(self):
            nonlocal count
            count = count + 1
            return count

        def __len__(self):
            nonlocal count
            count += 2
            return count

    return Counter


@case("GB0169")
def counted_by_a_property(compile):
    Counter = counters()
    return compile(lambda x: Caller(lambda y: y + Counter().next).call(x))(one()), Counter().next


@case("GB0169")
def counted_by_len(compile):
    Counter = counters()
    return compile(lambda x: x * len(Counter()))(one()), Counter().next


# --- GB0172: work begun and waited for later


@case("GB0172")
def gathered_two_deep(compile):
    dist = torch.distributed
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

    def gather(x):
        out = torch.zeros(2)
        dist.all_gather_into_tensor(output_tensor=out, input_tensor=x, async_op=True).wait()
        return out

    try:
        return compile(lambda x: Caller(gather).call(x * 2))(one())
    finally:
        dist.destroy_process_group()


# --- GB0209 and GB0212: what may not leave


@case("GB0209")
def guard_in_a_list(compile):
    def made(x):
        return [torch.autograd._unsafe_preserve_version_counter(x)]

    return len(compile(lambda x: (x + 1, Caller(made).call(x)))(one()))


@case("GB0209")
def guard_kept_by_an_object(compile):
    caller = Caller(len)

    def f(x):
        caller.guard = torch.autograd._unsafe_preserve_version_counter((x, x))
        return x + 1

    return compile(f)(one()), caller.guard is not None


@case("GB0212")
def profiler_in_a_dict(compile):
    return sorted(compile(lambda x: {"a": x, "p": torch.profiler.profile(record_shapes=True)})(one()))


@case("GB0212")
def profiler_kept_by_an_object(compile):
    caller = Caller(len)

    def f(x):
        caller.profiler = torch.autograd.profiler.profile()
        return x + 1

    return compile(f)(one()), caller.profiler is not None

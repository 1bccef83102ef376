"""Other ways to meet codes that few programs meet, and neighbours that are traced: see conditions.py."""

import collections
import functools
import itertools
import typing

import minidynamo as torch
from graph_breaks.conditions import leaf, lister, one

CASES = []
case = lister(CASES)
nn = torch.nn


def pair():
    return torch.tensor([[1.0, 2.0], [3.0, 4.0]])


class Held:
    """What is found only by way of an attribute."""

    def __init__(self, value):
        self.value = value


def rows():
    return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])


# --- nested and sparse tensors


@case("GB0016")
def nested_two_deep(compile):
    def size(batch):
        return batch.size(0)

    return compile(lambda x, batch: x + size(batch))(one(), rows())


@case("GB0016")
def nested_of_an_object(compile):
    held = Held(rows())
    return compile(lambda x: x + held.value.dim())(one())


@case("")
def list_of_rows(compile):
    return compile(lambda x, batch: x + sum(row.numel() for row in batch))(one(), [torch.ones(2), torch.ones(3)])


@case("GB0129")
def sparse_resize_by_method(compile):
    class Grow:
        def __call__(self, y):
            return y.sparse_resize_(size=(4, 4), sparse_dim=2, dense_dim=0)

    grow = Grow()

    def f(x):
        return grow(x * 2)

    return attempted(compile, f)


@case("GB0130")
def sparse_clear_two_deep(compile):
    def clear(y):
        return torch.Tensor.sparse_resize_and_clear_(y, (4, 4), 2, 0)

    return attempted(compile, lambda x: clear(x + 1))


@case("GB0130")
def sparse_clear_in_a_loop(compile):
    def f(x):
        for n in (1, 2):
            x = x + n
        return x.sparse_resize_and_clear_((4, 4), 2, 0)

    return attempted(compile, f)


@case("GB0129")
def sparse_resize_by_partial(compile):
    resize = functools.partial(torch.Tensor.sparse_resize_, size=(4, 4), sparse_dim=2, dense_dim=0)
    return attempted(compile, lambda x: resize(x * 2))


@case("")
def dense_of_the_size(compile):
    return compile(lambda x: torch.zeros(4, 4) + x.sum())(pair())


def attempted(compile, f):
    """Plain Python refuses a dense tensor as well."""
    try:
        compile(f)(pair())
    except RuntimeError:
        return "refused"


# --- autograd functions


class Jvp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        return grad * 3

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 3


class Vjp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def vjp(ctx, grad):
        return grad * 3


@case("GB0144")
def jvp_of_a_module(compile):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return Jvp.apply(self.w) + x

    return compile(M())(one()).detach()


@case("GB0144")
def jvp_inherited(compile):
    class Below(Jvp):
        pass

    def twice(w):
        return Below.apply(Below.apply(w))

    return compile(lambda w: twice(w))(leaf()).detach()


@case("")
def jvp_without_gradients(compile):
    return compile(lambda x: Jvp.apply(x))(one())


@case("GB0145")
def vjp_of_a_callee(compile):
    def tripled(w):
        return Vjp.apply(w)

    return compile(lambda w: tripled(w) + 1)(leaf()).detach()


@case("GB0145")
def vjp_inherited_in_a_loop(compile):
    class Below(Vjp):
        pass

    @compile
    def f(w):
        for _ in range(2):
            w = Below.apply(w)
        return w

    return f(leaf()).detach()


@case("")
def vjp_without_gradients(compile):
    return compile(lambda x: Vjp.apply(x))(one())


# --- identity


@case("GB0141")
def identity_in_a_dict(compile):
    def remember(seen, y):
        seen[id(y)] = 1
        return len(seen)

    return compile(lambda x: x + remember({}, x * 2))(one())


@case("GB0141")
def identity_of_a_result_in_a_method(compile):
    class Seen:
        def __init__(self):
            self.known = set()

        def new(self, y):
            return id(y) not in self.known

    seen = Seen()
    return compile(lambda x: x + 1 if seen.new(x * 2) else x)(one())


@case("")
def compared_as_objects(compile):
    def f(x):
        y = x * 2
        return y if y is not x else x

    return compile(f)(one())


# --- transforms


@case("GB0149")
def compiled_inside_grad(compile):
    inner = compile(lambda x: (x * x).sum(), backend="inductor")
    return torch.func.grad(inner)(one())


@case("GB0149")
def compiled_method_inside_vmap(compile):
    class M(nn.Module):
        def forward(self, x):
            return x * 2

    return torch.vmap(compile(M(), backend="inductor"))(pair())


@case("")
def transform_inside(compile):
    return compile(lambda x: torch.func.grad(lambda y: (y * y).sum())(x))(one())


# --- itertools


@case("GB0152")
def groups_of_tensors_two_deep(compile):
    def grouped(rows):
        return [list(g) for _, g in itertools.groupby(rows, key=lambda row: row[0])]

    return compile(lambda x: grouped([x[0], x[1]])[0])(pair())


@case("GB0134")
def key_by_position_two_deep(compile):
    def count(rows, key):
        return len(list(itertools.groupby(rows, key)))

    return compile(lambda x: x * count([1, 1, 2], lambda n: n > 1))(one())


@case("GB0134")
def key_by_position_in_a_method(compile):
    class Grouper:
        def __init__(self, key):
            self.key = key

        def __call__(self, rows):
            return [k for k, _ in itertools.groupby(rows, self.key)]

    grouper = Grouper(len)
    return compile(lambda x: x * grouper(["a", "b", "cc"])[0])(one())


@case("")
def key_by_keyword(compile):
    return compile(lambda x: x * len(list(itertools.groupby([1, 1, 2], key=lambda n: n > 1))))(one())


@case("GB0154")
def wrong_keyword_two_deep(compile):
    def totals(values):
        return list(itertools.accumulate(values, function=max))

    return raised(compile, lambda x: totals([x, x]), TypeError)


@case("GB0155")
def wrong_keyword_of_groupby(compile):
    options = {"by": len}

    def count(values):
        return len(list(itertools.groupby(values, **options)))

    return raised(compile, lambda x: x * count(["a"]), TypeError)


def raised(compile, f, kind):
    """Plain Python fails as well."""
    try:
        compile(f)(one())
    except kind as error:
        return type(error).__name__


# --- modules


@case("GB0211")
def getattr_of_an_object_in_c(compile):
    class Scaled(nn.Module):
        __getattr__ = functools.partialmethod(lambda self, name: 3)

        def forward(self, x):
            return x * self.factor

    scaled = Scaled()
    return compile(lambda x: scaled(x) + 1)(one())


@case("")
def getattr_in_python(compile):
    class Scaled(nn.Module):
        def __getattr__(self, name):
            return 3 if name == "factor" else super().__getattr__(name)

        def forward(self, x):
            return x * self.factor

    return compile(Scaled())(one())


@case("GB0162")
def initialised_again_two_deep(compile):
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = 2

        def reset(self):
            nn.Module.__init__(self)
            self.factor = 3

        def forward(self, x):
            self.reset()
            return x * self.factor

    layer = Layer()
    return compile(lambda x: layer(x))(one())


@case("GB0202")
def buffers_by_a_tensor(compile):
    layer = nn.BatchNorm1d(2)

    def count(flag):
        return len(list(layer.buffers(flag)))

    return compile(lambda x: x + count(x.sum() > 0))(one())


@case("")
def buffers_by_a_constant(compile):
    layer = nn.BatchNorm1d(2)
    return compile(lambda x: x + len(list(layer.buffers(True))))(one())


# --- objects


class Slotted:
    __slots__ = ("x", "y")


@case("GB0194")
def slot_in_a_callee(compile):
    def is_property(value):
        return isinstance(value, property)

    slot = Slotted.y
    return compile(lambda x: x - 1 if is_property(slot) else x + 1)(one())


@case("GB0194")
def slot_of_an_object(compile):
    held = Held(Slotted.x)
    return compile(lambda x: x + isinstance(held.value, (classmethod, property)))(one())


@case("")
def tuple_that_holds_itself(compile):
    items = [1]
    whole = (items, 2)
    items.append(whole)
    return compile(lambda x, t: x + t[1])(one(), whole)


@case("")
def list_in_an_attribute(compile):
    items = [1]
    items.append([items])
    held = Held(items)

    def first(h):
        return h.value[0]

    return compile(lambda x: x + first(held))(one())


@case("")
def list_that_holds_its_copy(compile):
    items = [1]
    items.append(list(items))
    return compile(lambda x, t: x + t[1][0])(one(), items)


class Name(str):
    def __hash__(self):
        return str.__hash__(self)

    def __eq__(self, other):
        return str.__eq__(self, other)


def powered(x, power=1, **more):
    return x**power


@case("GB0186")
def partial_with_such_a_key_in_a_module(compile):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = functools.partial(powered, **{Name("power"): 2})

        def forward(self, x):
            return self.act(x)

    return compile(M())(one())


@case("GB0186")
def partial_with_such_a_key_two_deep(compile):
    act = functools.partial(powered, **{Name("more"): 2})

    def apply(f, x):
        return f(x)

    return compile(lambda x: apply(act, x))(one())


@case("")
def partial_with_a_plain_key(compile):
    act = functools.partial(powered, **{"power": 2})
    return compile(lambda x: act(x))(one())


@case("GB0217")
def default_dict_asked_for_a_name(compile):
    def known(d):
        return hasattr(d, "sizes")

    return compile(lambda x: x + known(collections.OrderedDict(a=1)))(one())


@case("GB0177")
def function_in_c_of_a_class(compile):
    class Named:
        size = classmethod(len)

        def __len__(self):
            return 3

    class Meta(type):
        def __len__(cls):
            return 2

    class Sized(metaclass=Meta):
        size = classmethod(len)

    def count(x):
        return x + Sized.size()

    return compile(lambda x: count(x))(one())


@case("GB0174")
def cast_by_keywords_two_deep(compile):
    def typed(value):
        return typing.cast(torch.Tensor)

    return raised(compile, lambda x: typed(x), TypeError)


@case("")
def cast_of_a_value(compile):
    return compile(lambda x: typing.cast(int, 3) + x)(one())

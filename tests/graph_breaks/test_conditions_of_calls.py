"""Codes GB0111 to GB0160 by their conditions: plain, inlined, other things of the kind, and what does not break."""

import collections
import contextlib
import datetime
import enum
import functools
import inspect
import itertools
import operator
import threading
from fractions import Fraction

import numpy as np
import pytest

import minidynamo as torch
from graph_breaks.condition_rows import check, leaf, vector


class Base:
    def own(self, x):
        return x


class Below(Base):
    def ask(self, x):
        return super().other(x)

    def named(self, x):
        return super(Below, self).value  # noqa: UP008  the form with arguments

    @classmethod
    def of_class(cls, x):
        return super().nothing(x)

    def own(self, x):
        return super().own(x) * 2

    def probe(self):
        return getattr(super(), "other", 3)

    def has(self):
        return hasattr(super(), "own")


class Level(enum.Enum):
    HALF = Fraction(1, 2)
    DAY = datetime.timedelta(1)
    ONE = 1


class Counter:
    def __init__(self):
        self.n = 0

    def __enter__(self):
        self.n += 1
        return self

    def __exit__(self, *error):
        self.n += 10


class Never(torch.nn.Module):
    def __init__(self):
        pass


class Alias(torch.nn.Module):
    shown, listed = object.__repr__, object.__dir__

    def asked(self):
        return len(self.shown()) > 0, "shown" in self.listed()


def leave(a, b):
    torch._dynamo.graph_break()
    return a + b


def fail(*args):
    raise ArithmeticError("no")


def deep(f):
    """The same, two calls further in."""
    return lambda *args: (lambda *given: f(*given))(*args)


def called(f, *args):
    return f(*args)


def inner():
    got = yield 1
    yield got


def outer():
    yield from inner()


def sent(make, value):
    g = make()
    next(g)
    return g.send(value)


def handled(f, *errors):
    def caught(x):
        try:
            return f(x)
        except errors:
            return x + 1

    return caught


def __setitem__(container, key, value):
    container[key] = value


def set_item(x):
    d = {}
    __setitem__(d, "a", x)
    return d


def slice_set(value):
    def f(x):
        items = [1, 2]
        items[0:1] = value
        return items, x

    return f


def within(manager):
    def f(x):
        with manager:
            return x * 2

    return f


def set_error(error, name):
    def f(x):
        setattr(error(), name, 5)
        return x

    return f


def with_argument(x, manager):
    with manager as m:
        return x * m.n


def with_own(x):
    with Counter() as c:
        x = x * c.n
    return x + c.n


def with_null(x, manager):
    with manager:
        return x * 2


def pair():
    return torch.ones(2), Counter()


def two(a, b=1):
    return a


ROWS = [
    ("GB0111", lambda x: torch._dynamo.nonstrict_trace([1])(x)),
    ("GB0111", lambda x: torch._dynamo.nonstrict_trace(traceable_fn="sin")(x)),
    ("GB0112", lambda x: torch.sum(x, dimension=0)),
    ("GB0112", deep(lambda x: x.sin(3))),
    ("GB0112", lambda x: x.item(3)),
    ("GB0112", deep(lambda x: x.storage_offset(1))),
    ("GB0112", lambda x: x.is_conj(1)),
    ("GB0112", lambda x: torch.nn.functional.relu(x, bogus=1)),
    ("GB0112", lambda x: torch.nn.functional.linear(x)),
    ("GB0112", handled(lambda x: torch.softmax(x), TypeError)),
    ("GB0112", lambda x: functools.partial(torch.add, x)("s")),
    (None, lambda x: torch.nn.functional.relu(x, inplace=False)),
    ("GB0113", lambda x: Below().ask(x)),
    ("GB0113", deep(lambda x: Below().named(x))),
    ("GB0113", lambda x: Below.of_class(x)),
    ("GB0113", handled(lambda x: Below().ask(x), AttributeError)),
    (None, lambda x: Below().own(x)),
    ("GB0114", lambda x: list(itertools.accumulate([x, x], leave))),
    ("GB0114", lambda x: list(itertools.accumulate([x, x], fail))),
    ("GB0114", deep(lambda x: list(itertools.accumulate([x, 1, "a"])))),
    ("GB0114", handled(lambda x: list(itertools.accumulate([x, x], fail)), ArithmeticError)),
    (None, lambda x: list(itertools.accumulate([x, x], lambda a, b: a * b))),
    ("GB0115", lambda x: [k for k, g in itertools.groupby([1, 2], key=lambda i: {1: 2}[i])]),
    ("GB0115", deep(lambda x: [k for k, g in itertools.groupby([1, "a"], key=operator.neg)])),
    ("GB0115", lambda x: [k for k, g in itertools.groupby([1, 2], key=len)]),
    ("GB0115", handled(lambda x: dict((k, 1) for k, g in itertools.groupby([[]], key=lambda i: i[0])), IndexError)),
    (None, lambda x: (x, [(k, list(g)) for k, g in itertools.groupby([1, 3, 2], key=lambda i: i % 2)])),
    ("GB0116", lambda x: x * Level["HALF"].value.denominator),
    ("GB0116", deep(lambda x: x * Level["DAY"].value.days)),
    (None, lambda x: x * Level["ONE"].value),
    (None, lambda x: x * Level.HALF.value.denominator),
    ("GB0117", lambda x: x.size(0, 1)),
    ("GB0117", deep(lambda x: x.dim(1))),
    ("GB0117", lambda x: x.is_contiguous(1, 2)),
    ("GB0117", lambda x: x.tolist(1)),
    ("GB0117", lambda x: x.type(1, 2, 3, 4)),
    ("GB0117", lambda x: x.addcmul_(x, x, values=2)),
    ("GB0117", lambda x: x.backward(1, 2, 3, 4, 5, 6)),
    ("GB0117", lambda x: x.numpy(1, 2)),
    ("GB0117", lambda x: x.requires_grad_(1, 2)),
    ("GB0117", lambda x: x.register_hook()),
    ("GB0117", lambda x: x.as_subclass()),
    ("GB0117", lambda x: x.get_device(1)),
    (None, lambda x: (x.size(dim=0), x.numel(), x.get_device(), x.stride(dim=-1))),
    ("GB0120", lambda x: sent(outer, x)),
    (None, lambda x: sent(inner, x)),
    ("GB0131", set_item),
    ("GB0131", deep(set_item)),
    ("GB0132", lambda x: list(itertools.accumulate([x, x], operator.mul, func=operator.add))),
    ("GB0133", lambda x: list(itertools.accumulate([x], operator.mul, 1))),
    ("GB0133", lambda x: list(itertools.accumulate(5))),
    ("GB0133", deep(lambda x: list(itertools.accumulate(None, func=operator.add)))),
    ("GB0134", lambda x: (x, [k for k, g in itertools.groupby([1, 2], lambda i: i % 2)])),
    ("GB0135", set_error(ValueError, "args")),
    ("GB0135", set_error(KeyError, "code")),
    ("GB0136", lambda x: range(3).size),
    ("GB0136", handled(lambda x: range(3).size, AttributeError)),
    (None, lambda x: x * range(3).stop),
    ("GB0137", lambda x: slice(3).size),
    ("GB0142", within(threading.Lock())),
    ("GB0142", with_argument, pair),
    ("GB0142", deep(with_argument), pair),
    (None, with_own),
    (None, with_null, lambda: (torch.ones(2), contextlib.nullcontext())),
    ("GB0143", slice_set(5)),
    ("GB0143", slice_set(object)),
    ("GB0143", handled(slice_set(None), TypeError)),
    (None, slice_set([5])),
    ("GB0147", lambda x: called([1, 2], x)),
    ("GB0147", deep(lambda x: called({"a": 1}, x))),
    ("GB0147", handled(lambda x: called(5, x), TypeError)),
    ("GB0147", lambda x: Counter()(x)),
    ("GB0147", lambda x: x * datetime.timedelta(seconds=2).total_seconds()),
    ("GB0148", lambda x: x.unsqueeze_(0) * 2),
    ("GB0148", deep(lambda x: x.t_())),
    ("GB0150", lambda x: (x, hasattr(slice(1), "start"))),
    ("GB0150", lambda x: (x, Below().has())),
    ("GB0150", deep(lambda x: x * Below().probe())),
    ("GB0151", lambda x: (x, list(inspect.signature(functools.partial(two, 1)).parameters))),
    ("GB0156", lambda x: (x, iter([1, 2]).__length_hint__())),
    ("GB0156", lambda x: (x, collections.deque([1]).__copy__())),
    ("GB0156", deep(lambda x: (x, range(3).__reduce__()))),
    ("GB0160", lambda x: next({"a": 1})),
    ("GB0160", handled(lambda x: next(x), TypeError)),
    ("GB0160", deep(lambda x: next(3, 4))),
    (None, lambda x: (x, next(iter({"a": 1})))),
]


def array():
    return (np.array([1.0, 2.0], dtype=np.float32),)


ARRAYS = [
    ("GB0157", lambda a: (a * 2, str((a / 2).dtype))),
    ("GB0157", deep(lambda a: (a * 2, a.dtype == np.float32))),
    ("GB0157", lambda a: (a * 2, a.flags.writeable)),
    (None, lambda a: (a * 2).astype(np.float64).shape),
    (None, lambda a: np.zeros_like(a) + a),
    ("GB0158", lambda a: a.tobytes()),
    ("GB0159", lambda a: (a * 2, getattr(a, "__version__", 3))),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r[0])
def test_condition(row):
    check(row[0], row[1], *row[2:] or (vector,))


@pytest.mark.parametrize("row", ARRAYS, ids=lambda r: r[0])
def test_condition_of_arrays(row):
    check(row[0], row[1], array)


BORN = [
    ("GB0119", lambda x, m: m.forward(x), lambda: (torch.ones(2), Never())),
    ("GB0119", lambda x, m: m.forward(x), lambda: (torch.ones(2), torch.nn.Module.__new__(torch.nn.ReLU))),
    ("GB0121", lambda x, m: (x, m.asked()), lambda: (torch.ones(2), Alias())),
]


@pytest.mark.parametrize("row", BORN, ids=lambda r: r[0])
def test_condition_of_odd_modules(row):
    check(*row)


GRADIENTS = [
    ("GB0123", lambda w: [(w * 2).sum().backward(), w.grad]),
    ("GB0123", deep(lambda w: [torch.Tensor.backward((w * 2).sum()), w.grad])),
    ("GB0124", lambda w: w.detach() * w.detach().sum().item()),
    ("GB0125", lambda w: w.requires_grad_(False) * 2),
    (None, lambda w: w.requires_grad_(True) * 2),
    ("GB0126", lambda w: (w.detach() * 2).resize_(1)),
    ("GB0127", lambda w: (w.detach() * 2).resize_as_(torch.zeros(1))),
    ("GB0128", lambda w: (w.detach() * 2).set_(torch.zeros(4), 0, (2,), (1,))),
]


@pytest.mark.parametrize("row", GRADIENTS, ids=lambda r: r[0])
def test_condition_of_leaves(row):
    check(row[0], row[1], leaf)

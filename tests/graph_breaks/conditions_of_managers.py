"""Codes of context managers, look-ups and backends, in the ways that the other tables leave out.

See conditions.py.
"""

import contextlib
import functools

import minidynamo as torch
from graph_breaks.conditions import lister, one

CASES = []
case = lister(CASES)
nn = torch.nn
fake = torch._subclasses.fake_tensor


# --- GB0066: breaks while a manager of the program's is entered


class Manager:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return 2

    def __exit__(self, *error):
        self.log.append("out")


def printed(x):
    print("printed")
    return x * 3


class Entering:
    def __init__(self, log):
        self.log = log

    def run(self, x):
        with Manager(self.log) as factor:
            y = printed(x) * factor
        return y + 1


@case("GB0066")
def broken_two_deep(compile):
    log = []
    return compile(lambda x: (lambda y: Entering(log).run(y))(x))(one()), log


@case("GB0066")
def broken_by_a_callee(compile):
    log = []
    return compile(Entering(log).run)(one()), log


# --- GB0211: modules that look attributes up by what is no function


class Bound(nn.Module):
    torchdynamo_force_dynamic = False
    __getattr__ = functools.partial(lambda extra, name: extra, 3)

    def forward(self, x):
        return x * self.factor


class Measured(nn.Module):
    __getattr__ = len

    def forward(self, x):
        return x + self.called


@case("GB0211")
def looked_up_by_a_partial(compile):
    return compile(Bound())(one())


@case("GB0211")
def looked_up_by_len(compile):
    module = Measured()
    return compile(lambda x: x + getattr(module, "abc", 2))(one())


# --- GB0219: backends that refuse


def refusing(error):
    def backend(graph, inputs):
        raise error

    return backend


@case("GB0219")
def backend_without_values(compile):
    error = fake.DataDependentOutputException(torch.ops.aten.item.default)
    return compile(lambda x: x.sin(), backend=refusing(error))(one())


@case("GB0219")
def backend_without_sizes(compile):
    error = fake.DynamicOutputShapeException(torch.ops.aten.nonzero.default)
    return compile(nn.Sequential(nn.ReLU()), backend=refusing(error))(one())


# --- GB0221: managers whose function does not yield


@contextlib.contextmanager
def listing():
    return [3]


class Managers:
    @contextlib.contextmanager
    def own(self):
        return map(abs, (-2, 1))


@case("GB0221")
def manager_of_a_list(compile):
    @compile
    def f(x):
        with listing() as n:
            return x * n

    return f(one())


@case("GB0221")
def manager_of_a_method(compile):
    @compile
    def f(x):
        y = x + 1
        with Managers().own() as n:
            y = y * n
        return y

    return f(one())

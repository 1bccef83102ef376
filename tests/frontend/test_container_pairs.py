"""Every operator of every builtin container, by operands of every kind; and what gives itself back, and what does not.

Plain and compiled in one loop: a table of thousands of pairs is too long for a test each.
"""

import collections
import copy
import operator
import types
from collections import OrderedDict

import pytest

import minidynamo as torch
from frontend.differential import Defects, codes, same
from minidynamo._dynamo.utils import counters


class ListBelow(list):
    pass


class SetBelow(set):
    pass


class DictBelow(dict):
    pass


class FrozenBelow(frozenset):
    pass


class TupleBelow(tuple):
    pass


CONTAINERS = [
    lambda: [3, 4],
    lambda: {3, 4},
    lambda: {3: 4},
    lambda: collections.deque([3, 4]),
    lambda: bytearray(b"ab"),
    lambda: OrderedDict({3: 4}),
    lambda: collections.defaultdict(int, {3: 4}),
    lambda: collections.Counter("aab"),
    lambda: ListBelow([3, 4]),
    lambda: SetBelow({3, 4}),
    lambda: DictBelow({3: 4}),
]
OPERANDS = [
    *CONTAINERS,
    lambda: frozenset([1, 3]),
    lambda: frozenset(),
    lambda: frozenset([3]),
    lambda: FrozenBelow([1, 3]),
    lambda: [(1, 2)],
    lambda: ((1, 2),),
    lambda: types.MappingProxyType({1: 2}),
    lambda: "ab",
    lambda: b"ab",
    lambda: 2,
    lambda: True,
    lambda: None,
    lambda: 1.5,
    lambda: range(2),
    lambda: {1: 2, 3: 4}.keys(),
    lambda: {1: 2}.items(),
    lambda: (pair for pair in ((1, 2),)),
]
pytestmark = pytest.mark.filterwarnings("ignore:`.*is implemented in C")
OPERATORS = ("+", "-", "*", "|", "&", "^")
PROGRAM = """
def changes(a, b, x):
    before = a
    a {0}= b
    return a is before, a, before, x + 1

def changes_after_a_break(a, b, x):
    torch._dynamo.graph_break()
    before = a
    a {0}= b
    torch._dynamo.graph_break()
    return a is before, a, before, x + 1

def makes(a, b, x):
    return a {0} b, a, x + 1
"""


def text(value):
    if isinstance(value, types.GeneratorType):
        return list(value)
    if type(value) is tuple:
        return [text(v) for v in value]
    return type(value).__name__, str(value)


def outcome(function, make_args):
    args = [make() for make in make_args]
    try:
        result = text(function(*args, torch.ones(2)))
    except Exception as error:  # noqa: BLE001  whatever it raises is its behaviour
        result = type(error).__name__, str(error)
    return result, [text(a) for a in args]


def differences(functions, rows):
    """What compiled functions do otherwise. Calls that raise nothing have a graph, or there is a reason why not."""
    found, graphs = [], 0
    with Defects() as defects:
        for function in functions:
            for row in rows:
                wanted = outcome(function, row)
                torch._dynamo.reset()
                counters.clear()
                counter = torch._dynamo.testing.CompileCounter()
                got = outcome(torch.compile(function, backend=counter), row)
                graphs += counter.frame_count
                assert counter.frame_count or codes() or "Error" in wanted[0][0]
                if got != wanted:
                    found.append((function.__name__, wanted, got))
    assert defects == []
    assert graphs
    return found


def functions_of(source, **names):
    space = {"torch": torch, "operator": operator, **names}
    exec(source, space)
    return [f for f in space.values() if isinstance(f, types.FunctionType) and f.__globals__ is space]


@pytest.mark.parametrize("symbol", OPERATORS)
def test_operators_of_containers(symbol):
    rows = [(a, b) for a in CONTAINERS for b in OPERANDS]
    assert differences(functions_of(PROGRAM.format(symbol)), rows) == []


def test_a_frozen_set_changes_the_set_that_takes_it_in():
    def f(s, members, x):
        s |= members
        s -= members & {1}
        return x + len(s)

    s = {3, 4}
    counters.clear()
    counter = torch._dynamo.testing.CompileCounter()
    assert torch.compile(f, backend=counter)(s, frozenset([1, 2]), torch.ones(1)).item() == 4
    assert s == {2, 3, 4}
    assert (counter.frame_count, len(torch._dynamo.utils.counters["graph_break"])) == (1, 0)


@pytest.mark.parametrize(
    "f", [lambda d, k, x: x + d.get(k, 3), lambda d, k, x: x + (k in d), lambda d, k, x: d.pop(k, x)]
)
def test_a_key_that_guards_cannot_compare(f):  # all keys are guarded
    same(f, lambda: ({"a": 2}, range(2), torch.ones(1)), breaks=())


SELVES = [
    "v[:]", "v[0:]", "v[::1]", "v[:2]", "v + v[:0]", "v[:0] + v", "v + ()", "() + v", "v * 1", "1 * v", "v * 0",
    "(*v,)", "tuple(v)", "frozenset(v)", "type(v)(v)", "operator.getitem(v, slice(None))", "operator.concat(v, v[:0])",
    "v.__getitem__(slice(None))", "v.__mul__(1)", "v.__add__(())", "sum([v], v[:0])", "v.copy()", "v | v",
    "v.union()", "v - frozenset()", "v.__reduce__()", "copy.copy(v)",
]  # fmt: skip
VALUES = {
    "tuple": "(one, 2)",
    "empty": "()",
    "TupleBelow": "TupleBelow((one, 2))",
    "frozenset": "frozenset([one, 2])",
    "FrozenBelow": "FrozenBelow([one, 2])",
    "size": "torch.Size([one, 2])",
}


@pytest.mark.parametrize("made", VALUES.values(), ids=VALUES)
def test_what_gives_itself_back(made):
    source = "".join(
        f"""
def given{i}(v, one, x):
    r = {expression}
    return r is v, type(r), r, x + 1
def made{i}(v, one, x):
    v = {made}
    r = {expression}
    return r is v, type(r), r, x + 1
"""
        for i, expression in enumerate(SELVES)
    )
    names = {"TupleBelow": TupleBelow, "FrozenBelow": FrozenBelow, "copy": copy}
    functions = functions_of(source, **names)
    make = eval(f"lambda: {made}", {"torch": torch, "one": 1, **names})
    assert differences(functions, [(make, lambda: 1)]) == []

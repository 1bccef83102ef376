"""Every operator of every builtin container, by operands of every kind; and what gives itself back, and what does not.

Plain and compiled in one loop: a table of thousands of pairs is too long for a test each.
"""

import collections
import operator
import types

import pytest

import minidynamo as torch
from minidynamo._dynamo import config


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
    lambda: collections.OrderedDict({3: 4}),
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
# In place, by an operand that a function gave after a break; and looked for.
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
    found = []
    for function in functions:
        for row in rows:
            wanted = outcome(function, row)
            torch._dynamo.reset()
            got = outcome(torch.compile(function, backend="eager"), row)
            if got != wanted:
                found.append((function.__name__, wanted, got))
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
    torch._dynamo.utils.counters.clear()
    counter = torch._dynamo.testing.CompileCounter()
    assert torch.compile(f, backend=counter)(s, frozenset([1, 2]), torch.ones(1)).item() == 4
    assert s == {2, 3, 4}
    assert (counter.frame_count, len(torch._dynamo.utils.counters["graph_break"])) == (1, 0)


def test_a_range_is_a_key_like_others():
    def f(d, k, x):
        return x + d.get(k, 3)

    compiled = torch.compile(f, backend="eager")
    with config.patch(error_on_recompile=False):
        for key in (range(2), range(0, 2, 1), range(3), "a"):
            d = {range(2): 1, "a": 2}
            assert torch.equal(compiled(d, key, torch.ones(1)), f(d, key, torch.ones(1)))


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
    import copy

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

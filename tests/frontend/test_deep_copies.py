"""copy.deepcopy of what holds no tensors is traced; a tensor on the way is GB0179."""

import collections
import copy
import dataclasses

import pytest

import minidynamo as torch
from frontend.differential import same


class Plain:
    def __init__(self, value):
        self.value = value
        self.list = [value]


class Below(Plain):
    pass


class Own(Plain):
    def __copy__(self):
        return Own(self.value + 1)

    def __deepcopy__(self, memo):
        return Own(copy.deepcopy(self.value, memo) + 2)


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left, self.right = left, right


class Reduced:
    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        return Reduced, (self.value + 10,), {"state": [1]}


class WithState:
    def __init__(self, value):
        self.value = value

    def __getstate__(self):
        return {"kept": self.value}

    def __setstate__(self, state):
        self.value = state["kept"] + 5


@dataclasses.dataclass
class Pair:
    first: object
    second: list


Point = collections.namedtuple("Point", "x y")


class Listed(list):
    pass


def cyclic():
    values = [1]
    values.append(values)
    return values


def shared():
    part = [1]
    return {"a": part, "b": (part, part)}


MADE = [
    lambda: 3,
    lambda: "text",
    lambda: None,
    lambda: len,
    lambda: Plain,
    lambda: [1, [2, [3]]],
    lambda: (1, [2]),
    lambda: (1, (2, 3)),
    lambda: {"a": [1], 2: {"b": (3,)}},
    lambda: {1, (2, 3)},
    lambda: frozenset([1]),
    lambda: collections.deque([1, [2]], maxlen=5),
    lambda: collections.OrderedDict(a=[1]),
    lambda: collections.defaultdict(list, {1: [2]}),
    lambda: collections.Counter("aab"),
    lambda: Point(1, [2]),
    lambda: Plain(1),
    lambda: Below([1]),
    lambda: [Own(1)],
    lambda: Slotted(1, [2]),
    lambda: Reduced(1),
    lambda: WithState(1),
    lambda: Pair(1, [Plain(2)]),
    lambda: Listed([1, [2]]),
]


def told(value, depth=0):
    if depth > 6:
        return "..."
    if isinstance(value, dict):
        return type(value).__name__, [(k, told(v, depth + 1)) for k, v in value.items()]
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value).__name__, [told(v, depth + 1) for v in value]
    if isinstance(value, Slotted):
        return "Slotted", told(value.left), told(value.right)
    return (type(value).__name__, told(vars(value), depth + 1)) if type(value).__module__ == __name__ else value


@pytest.mark.parametrize("copies", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("number", range(len(MADE)))
def test_copied_in_one_graph(number, copies):
    torch._dynamo.reset()

    def f(x, value):
        made = copies(value)
        return x * 2, made, made is value

    given = MADE[number]()
    _, made, is_same = torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2), given)
    assert told(made) == told(copies(given)) and is_same == (copies(given) is given)
    assert (made is given) == is_same


def test_what_is_shared_or_holds_itself():
    def f(x, value):
        made = copy.deepcopy(value)
        return x + 1, made["a"] is made["b"][0] is made["b"][1], made["a"] is value["a"], made

    def g(x):
        value = cyclic()
        made = copy.deepcopy(value)
        return x + 1, made[1] is made, made is value

    same(f, lambda: (torch.ones(2), shared()), frames=1, breaks=[])
    same(g, lambda: (torch.ones(2),), frames=1, breaks=[])


def test_changes_of_the_copy():
    def f(x, values):
        made = copy.deepcopy(values)
        made["a"].append(len(made))
        return x * 2, made, values

    same(f, lambda: (torch.ones(2), {"a": [1]}), frames=1, breaks=[])


@pytest.mark.parametrize(
    "holder",
    [
        lambda x: x,
        lambda x: [1, x],
        lambda x: {"a": (x,)},
        lambda x: Plain(x),
        lambda x: torch.nn.Parameter(x),
        lambda x: (torch.manual_seed(0), torch.nn.Linear(2, 2))[1],
    ],
)
def test_tensors_break(holder):
    def f(x, value):
        copy.deepcopy(value)
        return x + 1

    same(f, lambda: (torch.ones(2), holder(torch.ones(2))), breaks=["GB0179"])


def test_a_memo_of_the_program():
    def f(x):
        memo = {}
        part = [1]
        made = copy.deepcopy([part, part], memo)
        return x + 1, made[0] is made[1], len(memo) > 0

    same(f, lambda: (torch.ones(2),))

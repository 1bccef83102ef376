"""What builtin functions, operators and containers ask of instances of classes below builtin ones."""

import collections
import enum

import pytest

import minidynamo as torch
from frontend.differential import same

pytestmark = pytest.mark.usefixtures("replaced_both_ways")

LOG = []


class Counted:
    """Tells the interpreter other things than its builtin base would."""

    def __iter__(self):
        LOG.append("iter")
        return iter([7, 8])

    def __len__(self):
        LOG.append("len")
        return 9


class CountedList(Counted, list):
    pass


class CountedTuple(Counted, tuple):
    pass


class CountedSet(Counted, set):
    pass


COUNTED = [Counted, CountedList, CountedTuple, CountedSet]


def logged(f, cls, breaks=()):
    def run(*args):
        LOG.clear()
        return f(cls() if cls is Counted else cls([1, 2])), list(LOG)

    same(run, tuple, breaks=list(breaks))


def as_arguments(c):
    return (lambda *args: args)(*c)


def as_bytes(c):
    return bytes(c)


@pytest.mark.parametrize("f", [as_arguments, as_bytes])
@pytest.mark.parametrize("cls", COUNTED)
def test_a_length_is_asked_for_where_c_asks(f, cls):
    logged(f, cls)


@pytest.mark.parametrize(
    "f",
    [
        lambda c: {*c},
        lambda c: set(c),
        lambda c: frozenset(c),
        lambda c: {1}.union(c),
        lambda c: {1, 2}.issuperset(c),
        lambda c: {1}.issubset(c),
        lambda c: {1}.isdisjoint(c),
        lambda c: {1, 3}.intersection(c),
        lambda c: {1, 3}.difference(c),
        lambda c: {1, 3}.symmetric_difference(c),
    ],
)
def test_sets_are_read_past_their_iter(f):
    logged(f, CountedSet)


def test_sets_are_changed_by_sets_past_their_iter():
    def f(c):
        a, b, d, e = {1, 3}, {1, 3}, {1, 3}, {1, 3}
        a.update(c)
        b.difference_update(c)
        d.intersection_update(c)
        e.symmetric_difference_update(c)
        return a, b, d, e

    logged(f, CountedSet)


class NoLength:
    def __len__(self):
        return 0


class EmptyList(NoLength, list):
    pass


class EmptyDict(NoLength, dict):
    pass


class EmptyStr(NoLength, str):
    pass


class LongList(list):
    def __len__(self):
        return super().__len__() + 100


class FalseInt(int):
    def __len__(self):
        return 0


@pytest.mark.parametrize(
    "make", [lambda: EmptyList("a"), lambda: EmptyDict(a=1), lambda: EmptyStr("a"), LongList, lambda: FalseInt(3)]
)
def test_length_decides_truth(make):
    def f():
        v = make()
        return bool(v), not v, 1 if v else 2, v and 3

    same(f, tuple)
    same(lambda v: (bool(v), 1 if v else 2), lambda: (make(),))


class Index:
    def __index__(self):
        LOG.append("index")
        return 3


class OddInt(int):
    def __index__(self):
        return 9


def test_bytes_of_numbers():
    def f(k):
        try:
            return bytes(k), bytes(-k)
        except ValueError as e:
            return e.args

    for k in (0, 1, 2):
        same(f, lambda k=k: (k,))

    def g(k):
        return bytes(k)

    calls = iter(range(100))
    same(g, lambda: (next(calls) % 4,), calls=4)
    logged(lambda c: (bytes(Index()), bytes(OddInt(2))), Counted)


class Plain(list):
    pass


class PlainSet(set):
    pass


class PlainDict(dict):
    pass


class PlainTuple(tuple):
    pass


def test_changing_a_builtin_by_an_instance_below_it_keeps_it():
    def f():
        a = b = [0]
        a += Plain([1])
        c = d = {1}
        c |= PlainSet([2])
        c -= PlainSet([1])
        e = g = {1: 2}
        e |= PlainDict(a=1)
        return a, c, e, a is b, c is d, e is g

    same(f, tuple)


def test_a_slice_of_all_of_a_tuple_below_tuple_is_a_tuple():
    def f():
        t = PlainTuple((1, 2))
        return type(t[:]), t[:] is t, t[:], type(t * 1)

    same(f, tuple)


class Right:
    """Reflected operators that mostly answer."""

    def __radd__(self, other):
        LOG.append("radd")
        return "right"

    def __rmul__(self, other):
        return "times"

    def __ror__(self, other):
        return "or"


class RightTuple(Right, tuple):
    pass


class RightList(Right, list):
    pass


class RightSet(Right, set):
    pass


class RightDict(Right, dict):
    pass


class RightInt(Right, int):
    pass


class Unwilling(tuple):
    def __radd__(self, other):
        LOG.append("asked")
        return NotImplemented


@pytest.mark.parametrize(
    "f",
    [
        lambda c: ([0] + RightTuple((1,)), (0,) + RightTuple((1,)), Plain([0]) + RightTuple((1,))),
        lambda c: ([0] + RightList([1]), Plain([0]) + RightList([1]), (0,) + RightList([1])),
        lambda c: ([0] * RightInt(2), "a" * RightInt(2), Plain([1]) * RightInt(2), PlainTuple((1,)) * RightInt(2)),
        lambda c: ([0] + Right(), "a" + Right(), [1] * Right(), Plain([1]) + Right(), {1} | Right(), {} | Right()),
        lambda c: ({1} | RightSet([3]), {} | RightDict(a=1), PlainSet([1]) | RightSet([2]), PlainDict() | RightDict()),
    ],
)
def test_a_sequence_asks_the_other_side_first(f):
    logged(f, Counted)


def test_a_sequence_asks_the_other_side_first_in_place():
    def f(c):
        a, b, d, e = [0], Plain([0]), {1}, {}
        a += RightList([1])
        b += RightTuple((1,))
        d |= RightSet([3])
        e |= RightDict(a=1)
        g, h, i = [0], [0], PlainTuple((0,))
        g += Right()
        h *= RightInt(2)
        i += RightTuple((1,))
        return a, b, d, e, g, h, i

    logged(f, Counted)


def test_the_other_side_is_asked_once():
    def f(c):
        a = [1]
        a += Unwilling((2,))
        b = (1,) + Unwilling((2,))
        try:
            [1] + Unwilling((2,))
        except TypeError as e:
            return a, b, e.args

    logged(f, Counted, ["GB0059"])


def test_a_dictionary_is_not_changed_by_what_is_no_mapping():
    def f():
        d = {}
        d |= Right()

    same(f, tuple)


class Keys(dict):
    def keys(self):
        LOG.append("keys")
        return ["q"]

    def __getitem__(self, key):
        return 9


class KeysAndIter(Keys):
    def __iter__(self):
        return iter("zz")


def test_a_dictionary_is_changed_by_keys_where_iter_is_replaced():
    def f(c):
        a, b = {1: 2}, {1: 2}
        a |= Keys(a=1)
        b |= KeysAndIter(a=1)
        return a, b, {} | Keys(a=1), {} | KeysAndIter(a=1), PlainDict() | KeysAndIter(a=1)

    logged(f, Counted)


class Forward(list):
    def __getitem__(self, at):
        return 5


class ForwardTuple(tuple):
    def __len__(self):
        return 1


class Not(list):
    __reversed__ = None


@pytest.mark.parametrize("make", [Plain, Forward, PlainTuple, ForwardTuple, Not])
def test_reversed_of_instances_below_builtins(make):
    def f():
        try:
            return list(reversed(make([1, 2])))
        except TypeError as e:
            return e.args

    same(f, tuple)


def told(f):
    try:
        return f()
    except Exception as e:
        return type(e).__name__, e.args


class Wrong:
    def __index__(self):
        return "no number"


@pytest.mark.parametrize("give", [Index, Wrong, object, lambda: len, lambda: "text", lambda: 2.5])
@pytest.mark.parametrize(
    "f",
    [
        lambda v: [1, 2, 3, 4].pop(v),
        lambda v: [1, 2].insert(v, 0),
        lambda v: [1, 2, 3, 4, 3].index(3, v),
        lambda v: [1, 2, 3, 4][v],
        lambda v: (1, 2, 3, 4)[v],
        lambda v: collections.deque([1, 2, 3, 4]).rotate(v),
    ],
)
def test_positions_that_are_objects(f, give):
    def run():
        return told(lambda: f(give()))

    same(run, tuple)


@pytest.mark.parametrize("give", [Index, object])
@pytest.mark.parametrize(
    "f", [lambda a, v: a[v], lambda a, v: a[:v], lambda a, v: a.sum(v), lambda a, v: torch.zeros(v), lambda a, v: a + v]
)
def test_operands_of_tensor_ops_that_are_objects(f, give):
    def run(a):
        return told(lambda: f(a, give()))

    same(run, lambda: (torch.arange(5.0),))


class Quiet:
    def __index__(self):
        return 3


def test_an_object_is_a_position_in_a_tensor():
    def f(a, i):
        a[i] = 7
        return a[i] + 1

    same(f, lambda: (torch.arange(5.0), Quiet()), frames=1, breaks=[])


@pytest.mark.parametrize(
    "f",
    [
        lambda a: divmod(a, 2),
        lambda a: divmod(7, a),
        lambda a: divmod([1], 2),
        lambda a: divmod(2, {1: 2}),
        lambda a: sorted([1, 2], reverse=None),
        lambda a: sorted([1, 2], reverse=1.0),
        lambda a: sorted([1, 2], reverse=Index()),
        lambda a: sorted([1, 2], reverse=object),
        lambda a: sorted([1, 2], reverse=True),
        lambda a: [1, 2].sort(reverse="a"),
    ],
)
def test_operands_that_c_refuses(f):
    def run(a):
        return told(lambda: f(a))

    same(run, lambda: (torch.ones(2),))
    same(f, lambda: (torch.ones(2),))


class Uncompared:
    pass


class Member(enum.Enum):
    A = 1


@pytest.mark.parametrize("make", [Uncompared, object, lambda: Member.A, lambda: int, lambda: "s", lambda: None, list])
def test_comparisons_of_tensors_with_objects(make):
    def both_ways(o, x):
        return o == x, x == o, o != x, x != o

    def ordered(o, x):
        return o < x

    def ordered_the_other_way(o, x):
        return x >= o

    for f in (both_ways, ordered, ordered_the_other_way):
        same(f, lambda: (make(), torch.tensor([1.0, 2.0])))


@pytest.mark.parametrize(
    "f", [lambda r: torch.zeros(r), lambda r: torch.ones(1).repeat(r), lambda r: torch.ones(1, 1).permute(r)]
)
def test_a_range_is_no_list_of_sizes(f):
    same(f, lambda: (range(2),))


def test_a_range_is_an_index():
    same(lambda x, r: (x[r], x[:, r], torch.tensor(r)), lambda: (torch.ones(3, 3), range(2)), breaks=())


class TextBelow(str):
    pass


@pytest.mark.parametrize("start", ["", b"", bytearray(b"a"), TextBelow("a")])
def test_sums_of_text_are_refused(start):
    same(lambda s: told(lambda: sum([], s)), lambda: (start,))


@pytest.mark.parametrize("spec", [int, len, range(2), [1], (1,), None, 3, "", TextBelow(">5")], ids=repr)
def test_a_format_specifier_that_is_no_text(spec):
    same(lambda v, s: told(lambda: format(v, s)), lambda: (7, spec))

"""types.SimpleNamespace: arguments, and those made in the function."""

import copy
import types

import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo._dynamo.testing import CompileCounter

Namespace = types.SimpleNamespace
ONE = torch.ones(2)


def made():
    return Namespace(k=2, t=torch.ones(2), nested=Namespace(a=[1]))


def reads(n, x):
    return x * n.k + n.t + n.nested.a[0], hasattr(n, "k"), hasattr(n, "no"), getattr(n, "no", 5), bool(n)


def asks(n, x):
    return x + 1, isinstance(n, Namespace), type(n) is Namespace, type(n).__name__, n.__class__, callable(n)


def misses(n, x):
    try:
        return n.no
    except AttributeError as e:
        text = str(e)
    try:
        del n.no
    except AttributeError as e:
        return x + 1, text, str(e)


def changes(n, x):
    n.z, n.k = x + 1, 7
    del n.t
    n.t = 4
    setattr(n, "w", n.z)  # noqa: B010
    delattr(n, "z")
    n.nested.a.append(2)
    n.nested.b = x * 2
    return n


def by_dictionary(n, x):
    vars(n)["new"] = x + 1
    n.__dict__.update(k=3, other=5)
    n.other += 1
    seen = list(n.__dict__), "k" in vars(n), vars(n) is n.__dict__
    return x + n.new, seen, n


def makes(n, x):
    one = Namespace(a=x + 1, **{"b": 2})
    one.c = one.b + n.k
    del one.b
    n.made = one
    return one, one.a, Namespace(), n.made is one


def compares(n, x):
    same_values = Namespace(k=2, t=n.t, nested=n.nested)
    ints = Namespace(a=1) == Namespace(a=1), Namespace(a=1) != Namespace(a=2), Namespace(a=1) == Namespace(b=1)
    return (
        x + 1,
        n == n,
        n != n,
        n.nested == Namespace(a=[1]),
        n.nested != Namespace(a=1),
        ints,
        n is same_values,
        n == 3,
        n != (),
    )


def writes(n, x):
    n.nested.a = "é"
    return x + 1, repr(n.nested), str(Namespace(b=[1], a=Namespace())), f"{n.nested}", f"{n.nested!a}"


def by_itself(n, x):
    n.me = n
    return x + 1, n.me.me.k


@pytest.mark.parametrize(
    "fn", [reads, asks, misses, changes, by_dictionary, makes, compares, writes, by_itself], ids=lambda f: f.__name__
)
def test_one_graph(fn):
    same(fn, lambda: (made(), torch.arange(2.0)), frames=1, breaks=[])


def test_changes_are_written_back_in_order():
    def f(n, x):
        n.a = 1
        n.b = x + 1
        del n.a
        n.a = 3
        return x

    namespace, compiled = Namespace(b=0, c=1), torch.compile(f, fullgraph=True)
    before = namespace.__dict__
    compiled(namespace, ONE)
    assert list(vars(namespace)) == ["b", "c", "a"] and namespace.a == 3 and namespace.b.tolist() == [2, 2]
    assert namespace.__dict__ is before


def test_what_is_read_is_guarded():
    counter = CompileCounter()
    f = torch.compile(lambda n, x: x * n.k + getattr(n, "more", 0), backend=counter, dynamic=False)
    n = Namespace(k=2.0, unused=1)
    assert f(n, ONE).tolist() == [2, 2] and f(Namespace(k=2.0), ONE).tolist() == [2, 2]
    n.unused = 3
    assert f(n, ONE).tolist() == [2, 2] and counter.frame_count == 1
    n.k = 3.0
    assert f(n, ONE).tolist() == [3, 3] and counter.frame_count == 2
    n.more = 1
    assert f(n, ONE).tolist() == [4, 4] and counter.frame_count == 3

    class Other:
        k = 2.0

    assert f(Other(), ONE).tolist() == [2, 2] and counter.frame_count == 4


def test_two_that_are_the_same():
    def f(a, b, x):
        a.k = x + 1
        b.k = b.k * 2
        return a.k

    compiled = torch.compile(f, fullgraph=True)
    one, other = Namespace(k=ONE), Namespace(k=ONE)
    assert compiled(one, other, ONE).tolist() == [2, 2]
    assert compiled(one, one, ONE).tolist() == [4, 4] and one.k.tolist() == [4, 4]


class Derived(Namespace):
    def twice(self):
        return self.k * 2


def test_left_to_plain_python():
    for fn in (
        lambda n, x: (x + 1, hash(n)),
        lambda n, x: (x + 1, n < n),
        lambda n, x: (x + 1, Namespace(3)),
        lambda n, x: (x + 1, Derived(k=1).twice(), Derived(k=1) == Namespace(k=1), Namespace(k=1) == Derived(k=1)),
        lambda n, x: (x + 1, setattr(n, "__dict__", {})),
        lambda n, x: (x + 1, copy.copy(n), copy.deepcopy(n)),
        lambda n, x: (by_itself(n, x), repr(n.me) == repr(n)),
    ):
        same(fn, lambda: (made(), torch.arange(2.0)))
    same(lambda n, x: x + n.twice(), lambda: (Derived(k=3), torch.ones(2)))

"""Constructs where a trace could lose an effect, an exception or a type: containers in themselves, generators left
inside try, views of dicts, slots, finalizers, sizes."""

import collections
import types

import pytest

import minidynamo as torch
from frontend.differential import same


def x():
    return torch.tensor([1.0, 2.0, 3.0])


def one():
    return (x(),)


@pytest.mark.parametrize("write", [repr, str, ascii, "{}".format, "%s".__mod__])
def test_a_list_in_itself_as_text(write):
    def f(x):
        inner = []
        inner.append(inner)
        return write(inner), x + 1

    same(f, one)


def test_a_dict_in_itself_as_text():
    def f(x):
        d = {}
        d["d"] = d
        return f"{d} {d!r}", x + 1

    same(f, one)


def test_a_list_in_itself_compared():
    def f(x):
        inner = [1]
        inner.append(inner)
        return inner == inner, inner != inner, inner in inner, inner in [inner], inner == [1], x + 1

    same(f, one)


@pytest.mark.parametrize("op", ["eq", "lt", "in"])
def test_lists_in_each_other_compared(op):
    def f(x):
        a, b = [], []
        a.append(b)
        b.append(a)
        try:
            return {"eq": lambda: a == b, "lt": lambda: a < b, "in": lambda: a in b}[op](), x + 1
        except RecursionError:
            return "too deep", x + 2

    same(f, one)


def test_a_list_in_itself_is_returned():
    def f(x):
        inner = [x.shape[0]]
        inner.append(inner)
        return inner, x + 1

    same(f, one)


PAIRS = [
    ({"a": 1}, {"a": 2}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"b": 1}, {"a": 1, "c": 2}),
    ({}, {}),
]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("view", ["keys", "items"])
def test_views_of_dicts_compare_as_sets(pair, view):
    def f(x, d, e):
        p, q = getattr(d, view)(), getattr(e, view)()
        order = (p == q, p != q, p < q, p <= q, p > q, p >= q, p == set(q), set(p) <= q, p == list(q))
        return order, p | q, p & q, p - q, p ^ q, set(p) | q, p - set(q), x + 1

    same(f, lambda: (x(), dict(pair[0]), dict(pair[1])))


def test_values_of_dicts_compare_by_identity():
    same(lambda x, d: (d.values() == d.values(), ("a", 1) in d.items(), 1 in d.items(), x + 1), lambda: (x(), {"a": 1}))


def test_items_that_are_tensors():
    same(lambda x, d, e: (d.items() == e.items(), d.keys() == e.keys(), x + 1), lambda: (x(), {"a": x()}, {"b": 1}))


def test_sets_of_objects_compare_by_members():
    def f(x, a, b):
        return {a, b} == {b, a}, {a} < {a, b}, {a} != {b}, x + 1

    same(f, lambda: (x(), collections.OrderedDict, int))


def closing(log):
    try:
        yield 1
        yield 2
    finally:
        log.append("closed")


def catching(log):
    try:
        yield 1
    except GeneratorExit:
        log.append("exit")
        raise


def entering(log):
    with Noted(log):
        yield 1


class Noted:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.log.append(error[0] and error[0].__name__)


def delegating(log):
    yield from closing(log)


def closed(x, log, make):
    g = make(log)
    next(g)
    g.close()
    log.append("after")
    return x + 1


def left(x, log, make):
    for _ in make(log):
        break
    log.append("after")
    return x + 1


def deleted(x, log, make):
    g = make(log)
    next(g)
    del g
    log.append("after")
    return x + 1


def asked(x, log, make):
    found = any(make(log))
    log.append("after")
    return found, x + 1


def inner(x, log, make):
    return closed(x, log, make) + left(x, log, make)


def broken(x, log, make):
    for _ in make(log):
        break
    torch._dynamo.graph_break()
    return x + 1


@pytest.mark.parametrize("make", [closing, catching, entering, delegating])
@pytest.mark.parametrize("use", [closed, left, deleted, asked, inner, broken])
def test_generators_left_inside_try(use, make):
    same(use, lambda: (x(), [], make))


def test_a_generator_run_to_its_end_stays_in_the_graph():
    def f(x, log):
        for v in closing(log):
            x = x + v
        return x

    same(f, lambda: (x(), []), frames=1, breaks=set())


def test_a_plain_generator_closes_in_the_graph():
    def counting():
        yield 1
        yield 2

    def f(x):
        g = counting()
        y = x + next(g)
        g.close()
        return y, list(g)

    same(f, one, frames=1, breaks=set())


class Slotted:
    __slots__ = ("a",)
    kind = "slotted"

    def __init__(self, a):
        self.a = a


class Fixed:
    @property
    def value(self):
        return 1


def refused(change):
    def f(x, p):
        y = x + 1
        try:
            change(p)
        except AttributeError as e:
            return y, str(e)
        return y, "done"

    return f


def put(name):
    return lambda p: setattr(p, name, 3)


def drop(name):
    return lambda p: delattr(p, name)


@pytest.mark.parametrize("change", [put("b"), put("kind"), put("a"), drop("a"), drop("b")])
def test_slots(change):
    same(refused(change), lambda: (x(), Slotted(1)), frames=1)

    def fresh(x):
        return refused(change)(x, Slotted(1))

    same(fresh, one)


@pytest.mark.parametrize("change", [put("value"), drop("value"), drop("zz")])
def test_attributes_that_cannot_change(change):
    same(refused(change), lambda: (x(), Fixed()))


def test_a_bare_object_takes_no_attribute():
    same(lambda x: refused(put("a"))(x, object()), one)


def test_an_instance_with_a_finalizer():
    log = []

    class Final:
        def __del__(self):
            log.append("gone")

    def f(x):
        def use():
            Final()
            return 1

        log.append("before")
        y = x + use()
        log.append("after")
        return y, list(log)

    def g(x):
        log.clear()
        return f(x)

    same(g, one)


ENDS = []


class Ending:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        ENDS.append(self.name)


def rebound(x, end):
    p, q = end("p"), end("q")
    x = x + 1
    print(end="")
    del p
    ENDS.append("p is gone")
    q = None
    ENDS.append(f"q is {q}")
    return x


def dropped(x, end):
    end("unused")
    ENDS.append("after")
    print(end="")
    end("unused too")
    ENDS.append("end")
    return x + 1


def shared(x, end):
    both = (end("first"), [end("second")])
    again = both
    print(end="")
    both = None
    ENDS.append("once")
    again = None
    ENDS.append("twice")
    return x, again, both


def inside(x, end):
    def inner(y):
        i = end("inner")
        print(end="")
        ENDS.append(i.name)
        return y + 1

    y = inner(x)
    ENDS.append("outer")
    return y


@pytest.mark.parametrize("f", [rebound, dropped, shared, inside])
def test_objects_go_when_variables_let_go_of_them(f):
    def ends(x):
        ENDS.clear()
        y = f(x, Ending)
        ENDS.append("returned")
        return y, list(ENDS)

    same(ends, one)


@pytest.mark.parametrize(
    "part",
    [
        lambda s: s[1:],
        lambda s: s[::-1],
        lambda s: s + (1,),
        lambda s: (1,) + s,
        lambda s: s + s,
        lambda s: s * 2,
        lambda s: 2 * s,
        lambda s: s[0],
    ],
)
def test_parts_of_a_size(part):
    def f(x):
        p = part(x.shape)
        return p, type(p).__name__, x + 1

    same(f, lambda: (torch.zeros(2, 3),), frames=1, breaks=set())


def test_parts_of_named_tuples_are_tuples():
    Pair = collections.namedtuple("Pair", "a b")
    same(lambda x: (Pair(1, x)[:1], Pair(1, 2) + (3,), Pair(1, 2) * 2, x + 1), one)


@pytest.mark.parametrize("target", [(1, 2), 5, "text"])
def test_deleting_items_of_what_has_none(target):
    def f(x, t):
        try:
            del t[0]
        except TypeError as e:
            return str(e), x + 1

    same(f, lambda: (x(), target))


def test_keys_compare_in_the_graph():
    def f(x, d, e):
        return d.keys() == e.keys(), d.keys() <= e.keys(), d.items() == e.items(), x + 1

    same(f, lambda: (x(), {"a": 1}, {"a": 2}), frames=1, breaks=set())


def test_special_methods_of_tensors_called_by_name():
    def write(x):
        x.__setitem__(1, 7.0)
        return x.__getitem__(0) + x.__len__()

    same(write, one, frames=1, breaks=[])

    def add(x):
        x.__iadd__(x)
        return x.__mul__(2), x.__repr__()

    same(add, one)

    def later(x):
        write = x.__setitem__
        print("before")
        write(0, 5.0)
        return x * 2

    same(later, one)


# --- globals ----------------------------------------------------------------------------------------------------------

FACTOR = 1


def set_then_read(x, d):
    d["FACTOR"] = 5
    return x * FACTOR


def read_then_item(x, d):
    global FACTOR
    FACTOR = 7
    return x * d["FACTOR"]


OTHER = types.ModuleType("other_module")
exec("FACTOR = 1\ndef scaled(x): return x * FACTOR", vars(OTHER))


def set_then_call(x, d):
    d["FACTOR"] = 5
    return OTHER.scaled(x)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("f", [set_then_read, read_then_item, set_then_call])
def test_a_dictionary_may_be_the_globals(f, first, backend):
    """A dict argument that is apart from the globals in one call and is these in another."""
    global FACTOR

    def calls(callee):
        global FACTOR
        out = []
        for d in [{"FACTOR": 2}, vars(OTHER) if f is set_then_call else globals(), {"FACTOR": 3}][first:]:
            FACTOR = OTHER.FACTOR = 1
            out.append((callee(torch.ones(1), d).item(), FACTOR, OTHER.FACTOR))
        return out

    torch._dynamo.reset()
    expected = calls(f)
    assert calls(torch.compile(f, backend=backend)) == expected
    FACTOR = OTHER.FACTOR = 1

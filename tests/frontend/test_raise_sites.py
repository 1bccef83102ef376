"""Each place that breaks a graph, reached by a program of its own: results as plain Python's, its code counted, and
raised by name where a single graph is demanded. Places that tests/graph_breaks reaches already are not repeated."""

import enum
import functools
import inspect
import itertools
import operator
import sys
import threading
import types
import warnings

import pytest

import minidynamo as torch
from frontend.differential import same

SITES = []


def x():
    return torch.tensor([1.0, 2.0, 3.0])


def one():
    return (x(),)


def breaks_at(code, args=one, also=(), frames=None):
    """The program breaks with `code`; `also` follows when the rest is resumed or the frame is left."""

    def add(f):
        SITES.append(pytest.param(f, code, args, {code, *also}, frames, id=f"{code}-{f.__name__}"))
        return f

    return add


class Box:
    def __init__(self, v):
        self.v = v


class Color(enum.Enum):
    RED = 1


# --- indexing


@breaks_at("GB0070", frames=2)
def list_indexed_by_a_tensor(a):
    return a + [1, 2, 3][a.sum().long() - 5]


@breaks_at("GB0038", lambda: (x(), torch.tensor(1)))
def slice_made_of_a_tensor(a, k):
    return a[k.sum() :]


@breaks_at("GB0038", lambda: (x(), slice(torch.tensor(0), 2)))
def slice_given_with_a_tensor(a, s):
    return a[s] + 1


# --- values that cannot be handed back to Python


@breaks_at("GB0092")
def groups_outlive_the_frame(a):
    groups = itertools.groupby([1, 1, 2])
    return Box(groups), a + 1


@breaks_at("GB0092")
def generator_outlives_the_frame(a):
    def numbers():
        yield a

    started = numbers()
    next(started)
    return Box(started), a + 1


@breaks_at("GB0092")
def chained_exception_outlives_the_frame(a):
    try:
        raise ValueError("outer") from KeyError("inner")
    except ValueError as e:
        return e, a + 1


@breaks_at("GB0092", lambda: (x(), Box(1)))
def super_outlives_the_frame(a, box):
    return Box(super(Box, box)), a + 1


# --- attributes


@breaks_at("GB0150", frames=1)
def hasattr_of_a_slice(a):
    return hasattr(slice(1), "start"), a + 1


@breaks_at("GB0113")
def super_of_a_partial(a):
    return super(Box, functools.partial(max)).v, a + 1


@breaks_at("GB0084", lambda: (x(), Box(1), Box("v")))
def delattr_by_a_name_that_is_no_constant(a, box, name):
    object.__delattr__(box, [name])
    return a + 1


# --- types and numbers


@breaks_at("GB0218", frames=2)
def index_of_a_tensor(a):
    return operator.index(a.sum().long()) + a


@breaks_at("GB0124", frames=2)
def int_of_a_tensor(a):
    return int(a.sum()) + a


@breaks_at("GB0170")
def not_of_a_tensor(a):
    return not a.sum()


@breaks_at("GB0054", frames=1)
def member_of_a_tensor(a):
    return Color(a.sum())


# --- builtins and operators without a rule


@breaks_at("GB0059")
def text_of_a_tensor(a):
    return str(a.sum()), a + 1


@breaks_at("GB0059", lambda: (x(), object()))
def sum_of_objects(a, o):
    try:
        return o + Box
    except TypeError:
        return a + 1


@breaks_at("GB0059")
def code_compiled(a):
    return compile("1", "", "eval") is None, a + 1


@breaks_at("GB0007", frames=1)
def warning_issued(a):
    warnings.warn("look", stacklevel=1)
    return a + 1


@breaks_at("GB0007", frames=1)
def thread_asked_for(a):
    return a + threading.get_native_id() * 0


@breaks_at("GB0007", frames=1)
def library_function_called(a):
    return a + len(inspect.cleandoc("a"))


# --- calls


@breaks_at("GB0055")
def class_given_to_an_operation(a):
    return torch.sin({"k": a})


@breaks_at("GB0112")
def operation_called_wrongly(a):
    return torch.sin(a, nope=3)


@breaks_at("GB0156", lambda: (x(), map(abs, [-1, -2])))
def iterator_asked_by_name(a, it):
    return it.__next__() + a


def seeded():
    torch.manual_seed(0)
    return (x(),)


@breaks_at("GB0107", seeded)
def random_in_place(a):
    return a.random_() + 1


@breaks_at("GB0127")
def resized_as_another(a):
    return (a + 0).resize_as_(a)


@breaks_at("GB0128")
def set_to_a_part_of_another(a):
    return (a + 0).set_(torch.arange(5.0), 1, (2,), (2,))


# --- generators


@breaks_at("GB0120")
def value_sent_into_a_list(a):
    def outer():
        yield from [1, 2]

    it = outer()
    next(it)
    try:
        it.send(5)
    except AttributeError as e:
        return a + 1, str(e)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function, code, args, counted, frames", SITES)
def test_raise_site(function, code, args, counted, frames):
    same(function, args, frames=frames, breaks=counted)
    torch._dynamo.reset()
    whole = torch.compile(function, backend="eager", fullgraph=True)
    if function is int_of_a_tensor:  # a whole graph reads numbers from tensors
        assert torch.equal(whole(*args()), function(*args()))
        return
    with pytest.raises(Exception) as failed:
        whole(*args())
    assert failed.value.gb_code == code


class Described:
    """Its dictionary is kept by a descriptor that C implements."""


class Renaming:
    """Stores through a callable object."""

    class Setter:
        def __call__(self, name, value):
            vars(STORED[-1])[name] = value * 2

    __setattr__ = Setter()


STORED = []


class Keeping:
    __delattr__ = None  # makes stores the class's business; only deleting is taken away

    def __init__(self):
        self.q = 1


def store_to_descriptor(a, o):
    o.__dict__ = {"kept": 6}
    return a + o.kept


def store_to_own_setattr(a, o):
    o.fresh = 3
    return a + o.fresh


@pytest.mark.parametrize(
    "function, cls",
    [(store_to_descriptor, Described), (store_to_own_setattr, Renaming)],
    ids=["descriptor", "setattr"],
)
def test_store_without_a_rule(function, cls):
    # A break without a code: its title is all there is.
    def arguments():
        STORED.append(cls())
        return x(), STORED[-1]

    same(function, arguments, frames=1, breaks=[])
    counted = torch._dynamo.utils.counters
    torch._dynamo.reset()
    counted.clear()
    torch.compile(function, backend="eager")(*arguments())
    assert any("STORE_ATTR-caused graph break" in message for c in counted.values() for message in c)


def test_store_where_only_deleting_is_the_programs_own():
    same(store_to_own_setattr, lambda: (x(), Keeping()), frames=1, breaks=[])


def test_import_that_gives_no_module(monkeypatch):
    monkeypatch.setitem(sys.modules, "odd_module", types.SimpleNamespace(v=2))

    def f(a):
        import odd_module

        return a + odd_module.v

    same(f, one, breaks=["GB0022"])


def test_value_shown_as_the_prompt_does(monkeypatch):
    monkeypatch.setattr(sys, "displayhook", print)
    f = types.FunctionType(compile("5", "<prompt>", "single"), {})
    same(f, breaks=["GB0079"])
    with pytest.raises(torch._dynamo.exc.Unsupported) as failed:
        torch.compile(f, backend="eager", fullgraph=True)()
    assert failed.value.gb_code == "GB0079"

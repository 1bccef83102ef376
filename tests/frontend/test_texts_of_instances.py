"""`format % values` with objects of the program among the values, and what str() of containers of its classes is."""

# ruff: noqa: F505, F507, UP031

import pytest

import minidynamo as torch
import minidynamo._dynamo as dynamo


class Whole(int):
    __str__ = int.__repr__


class Named(int):
    def __str__(self):
        return "named"


class Quoted(str):
    __str__ = str.__repr__


class Loud(str):
    def __str__(self):
        return "loud " + self.upper()


class Part(float):
    pass


class Plain:
    def __str__(self):
        return "plain"

    def __repr__(self):
        return "Plain()"


class Table(dict):
    __str__ = dict.__repr__


class Row(list):
    __str__ = list.__repr__


INSTANCES = [Whole(3), Named(3), Quoted("a"), Loud("a"), Part(2.5), Plain()]
FORMATS = [
    lambda o: "%s" % o,
    lambda o: "%s" % (o,),
    lambda o: "<%-9s|%r|%%>" % (o, o),
    lambda o: "%(a)5s %(b).2f" % {"a": o, "b": 1.5},
    lambda o: "%d of %s" % (2, o),
]
WRONG = [lambda o: "%s %s" % o, lambda o: "%s" % (o, o), lambda o: "%(b)s" % {}]


def outcome(f, o):
    try:
        return f(o)
    except Exception as e:  # noqa: BLE001  whatever plain Python raises
        return type(e).__name__, str(e)


@pytest.mark.parametrize("o", INSTANCES, ids=lambda o: type(o).__name__)
def test_percent_writes_instances_in_one_graph(o):
    for f in FORMATS:
        dynamo.reset()
        assert torch.compile(lambda x, f=f: (x + 1, f(o)), backend="eager", fullgraph=True)(torch.ones(1))[1] == f(o)
    for f in WRONG:
        dynamo.reset()
        assert torch.compile(lambda x, f=f: outcome(f, o), backend="eager")(torch.ones(1)) == outcome(f, o)


def test_numbers_of_classes_are_numbers():
    f = torch.compile(lambda x, a, b: (x, "%d %5.1f %x %s" % (a, b, a, a)), backend="eager", fullgraph=True)
    assert f(torch.ones(1), Named(10), Part(2.5))[1] == "10   2.5 a named"


@pytest.mark.parametrize("o", [Table(a=1), Row([1])], ids=lambda o: type(o).__name__)
def test_containers_of_classes_have_the_registry_s_code(o):
    dynamo.reset()
    with pytest.raises(dynamo.exc.Unsupported) as e:
        torch.compile(lambda x: (x, str(o)), backend="eager", fullgraph=True)(torch.ones(1))
    assert e.value.gb_code == "GB0005"
    assert torch.compile(lambda x: (x, str(o)), backend="eager")(torch.ones(1))[1] == str(o)
    with dynamo.config.patch(trace_more=True):
        assert torch.compile(lambda x: (x, str(o)), backend="eager", fullgraph=True)(torch.ones(1))[1] == str(o)

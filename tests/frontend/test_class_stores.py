"""Stores to attributes of classes: traced, replayed after the graph, seen by look-ups meanwhile."""

import enum

import pytest

import minidynamo as torch
from frontend.differential import same


class Counted:
    number = 0
    table = None

    def __init__(self):
        self.id = Counted.number
        type(self).number += 1

    @classmethod
    def bump(cls):
        cls.number += 1
        return cls.number


class Below(Counted):
    pass


class Shadowing(Counted):
    number = 3


class Doubling(type):
    def __setattr__(cls, name, value):
        super().__setattr__(name, value * 2)


class Doubled(metaclass=Doubling):
    value = 1


class Single:
    only = None

    def __new__(cls):
        if cls.only is None:
            cls.only = super().__new__(cls)
            cls.only.uses = 0
        return cls.only


class Switch:
    on = False

    def __enter__(self):
        self.before, Switch.on = Switch.on, True

    def __exit__(self, *args):
        Switch.on = self.before


class Layer(torch.nn.Module):
    calls = 0

    def forward(self, x):
        type(self).calls += 1
        return x * Layer.calls


class Old:
    __slots__ = ("slot",)

    @property
    def computed(self):
        return 1

    def method(self, x):
        return x + 1


class Level(enum.Enum):
    LOW = 1


CLASSES = (Counted, Below, Shadowing, Doubled, Single, Switch, Layer, Old, Level)
LAYER = Layer()


def attribute(x):
    Counted.number = 5
    return x + Counted.number + Below.number + Shadowing.number


def counted(x):
    Counted.number += 1
    return x + Counted.number


def by_class_method(x):
    return x + Counted.bump() + Below.bump() * 10 + Counted.number * 100 + Below.number * 1000


def numbered_objects(x):
    return x + sum(o.id for o in (Counted(), Counted(), Below()))


def read_by_instances(x):
    Counted.number = 4
    own = Counted()
    own.number = 9
    return (
        x + own.number + Below().number,
        hasattr(Below, "fresh"),
        setattr(Counted, "fresh", 1),
        hasattr(Below, "fresh"),
    )


def a_tensor(x):
    Counted.table = x * 2
    return Counted.table + 1, Counted.table is Below.table


def a_list(x):
    held = [x]
    Counted.table = held
    Below.table.append(x + 1)
    return held


def by_metaclass(x):
    Doubled.value = 3
    return x + Doubled.value


def by_type(x):
    type.__setattr__(Doubled, "value", 3)
    return x + Doubled.value


def one_object(x):
    Single().uses += 1
    return x + Single().uses, Single() is Single()


def in_with(x):
    with Switch():
        x = x + Switch.on
    return x * 10 + Switch.on


def in_generator(x):
    def count():
        for _ in range(3):
            Counted.number += 1
            yield Counted.number

    return x + sum(count())


def methods(x):
    old = Old.method
    Old.method = lambda self, y: old(self, y) * 2
    y = Old().method(x)
    Old.method = old
    return y + Old().method(x)


def caught(x):
    try:
        Counted.number = 1
        raise ValueError
    except ValueError:
        Counted.number += 10
    return x + Counted.number


def of_enumeration(x):
    try:
        Level.LOW = 3
    except AttributeError as e:
        Level.extra = str(e)
    return x + len(Level.extra)


def of_module(x):
    return LAYER(x) + LAYER(x)


WHOLE = (
    attribute, by_class_method, numbered_objects, read_by_instances, a_tensor, a_list, by_metaclass, by_type,
    one_object, in_with, in_generator, methods, caught, of_enumeration, of_module, counted,
)  # fmt: skip


def raised(x):
    Counted.number = 5
    raise RuntimeError(str(Counted.number))


def broken(x):
    Counted.number = 5
    print(Counted.number)
    Counted.number += 1
    return x + Counted.number


def over_a_property(x):
    Old.computed = 5
    return x + Old().computed


def over_a_slot(x):
    Old.slot = 5
    return x + Old().slot


def a_special_method(x):
    Counted.__len__ = lambda self: 3
    return x + len(Counted())


def namespace(x):
    Counted.fresh = 3
    return x + vars(Counted)["fresh"]


def by_super(x):
    Counted.number = 5
    return x + super(Below, Below()).number


def deleted(x):
    Counted.fresh = 1
    del Counted.fresh
    return x + hasattr(Counted, "fresh")


BROKEN = {
    raised: "GB0088",
    broken: "GB0059",
    a_special_method: "GB0156",
    namespace: "GB0147",
    deleted: "GB0156",
}


WHOLE += (over_a_property, over_a_slot, by_super)


@pytest.fixture
def fresh_classes():
    before = [{k: v for k, v in vars(c).items() if not k.startswith("_")} for c in CLASSES]

    def renew():
        for cls, held in zip(CLASSES, before):
            for name in [n for n in vars(cls) if n == "__len__" or (not n.startswith("_") and n not in held)]:
                type.__delattr__(cls, name)
            for name, value in held.items():
                if name not in vars(cls) or vars(cls)[name] is not value:
                    type.__setattr__(cls, name, value)
        return (torch.tensor([1.0, 2.0, 3.0]),)

    yield renew
    renew()


def with_classes(program):
    """The program, and what its classes hold afterwards."""

    def read():
        return [{k: v for k, v in vars(c).items() if type(v) in (int, str, bool, list, torch.Tensor)} for c in CLASSES]

    return lambda x: (program(x), read())


@pytest.mark.parametrize("program", WHOLE, ids=lambda p: p.__name__)
def test_stores_to_classes_are_traced(program, fresh_classes):
    same(program, fresh_classes, breaks=(), frames=1)
    compiled, results = torch.compile(program, backend="eager", fullgraph=True), []
    for function in (program, compiled):
        fresh_classes()
        results.append([repr(with_classes(function)(torch.ones(3))) for _ in range(3)])
    assert results[0] == results[1]


@pytest.mark.parametrize("program", BROKEN, ids=lambda p: p.__name__)
def test_others_break(program, fresh_classes):
    same(program, fresh_classes, breaks=[BROKEN[program]])


def test_a_count_is_compiled_twice():
    """The number that differs is an input from the second time on, where globals stay constants."""

    class Counter:
        number = 0

    def count(x):
        Counter.number += 1
        return x + Counter.number

    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(count, backend=counter)
    assert [compiled(torch.zeros(1)).item() for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    assert Counter.number == 6 and counter.frame_count == 2


def test_what_was_there_does_not_matter():
    """A tensor or a shape is stored anew by each call: one compilation."""

    class Last:
        result = shape = None

    def keep(x):
        Last.result, Last.shape = x * 2, x.shape
        return Last.result.reshape(Last.shape)

    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(keep, backend=counter)
    for k in range(5):
        assert compiled(torch.full((2,), float(k))).tolist() == Last.result.tolist() == [2.0 * k] * 2
    assert counter.frame_count == 1


def test_what_changes_outside_is_seen(fresh_classes):
    fresh_classes()
    compiled = torch.compile(attribute, backend="eager", fullgraph=True)
    x = torch.zeros(1)
    assert compiled(x).item() == 13
    Below.number = 1
    assert compiled(x).item() == 9


def classes():
    class Field:
        def __get__(self, instance, owner=None):
            return 7 if instance is None else 8

        def __set__(self, instance, value):
            instance.__dict__["z"] = value

    class Base:
        number = 1
        field = Field()

        @property
        def twice(self):
            return self.number * 2

        def add(self, x):
            return x + self.number

    class Slotted:
        __slots__ = ("slot",)

    class Derived(Base):
        def base_number(self):
            return super().number

        @property
        def twice(self):
            return super().twice + 1

        def add(self, x):
            return super().add(x) * 2

    return torch.ones(2), Base, Derived, Slotted, Derived()


def replacing_a_property(x, base, derived, slotted, o):
    base.twice = 10
    return x * base().twice, x * o.twice


def replacing_a_descriptor(x, base, derived, slotted, o):
    base.field = 3
    return x * base().field * o.field * derived.field


def replacing_a_slot(x, base, derived, slotted, o):
    slotted.slot = 3
    return x * slotted().slot


def seen_by_super(x, base, derived, slotted, o):
    base.number = 4
    return x * derived().base_number() * o.base_number()


def method_seen_by_super(x, base, derived, slotted, o):
    base.add = lambda self, x: x + 100
    return derived().add(x), o.add(x)


def not_seen_behind(x, base, derived, slotted, o):
    derived.number = 4
    return x * derived.number


def instance_after_class(x, base, derived, slotted, o):
    base.field = 3
    o.field = 4
    return x * o.field


@pytest.mark.parametrize(
    "f, whole",
    [
        (replacing_a_property, True),
        (replacing_a_descriptor, True),
        (replacing_a_slot, True),
        (seen_by_super, True),
        (method_seen_by_super, True),
        (not_seen_behind, True),
        (instance_after_class, False),
    ],
)
def test_over_descriptors_and_behind_super(f, whole):
    results = []
    for run in (f, torch.compile(f, backend="eager", fullgraph=whole)):
        args = classes()
        given = run(*args)
        told = {k: v if isinstance(v, int) else type(v).__name__ for k, v in vars(args[1]).items() if k != "__doc__"}
        results.append((str(given), told, vars(args[4]), vars(args[2]).get("number")))
    for name in ("__dict__", "__weakref__"):
        assert results[0][1].get(name) == results[1][1].get(name)
    assert results[0] == results[1]

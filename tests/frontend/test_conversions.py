"""What conversion methods may give, and what super() of a class finds."""

import pytest

import minidynamo as torch
from frontend.differential import same

pytestmark = pytest.mark.usefixtures("replaced_both_ways")


class Converts:
    def __init__(self, value):
        self.value = value

    def __int__(self):
        return self.value

    def __float__(self):
        return self.value


class Indexes:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


@pytest.mark.parametrize("made", [Converts, Indexes])
@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("value", [3, 2.5, "1", None])
def test_what_conversion_methods_may_give(made, kind, value):
    def f(x):
        try:
            return x + 1, kind(made(value))
        except TypeError as error:
            return x, str(error)

    same(f, lambda: (torch.ones(2),))


class Plain:
    def told(self, *args):
        return "plain", args

    @classmethod
    def of_class(cls, *args):
        return cls.__name__, args

    @staticmethod
    def of_none(*args):
        return args


class Covering(Plain):
    told = of_class = of_none = None


class Meta(type):
    pass


def test_super_of_a_class_finds_functions_that_are_not_bound():
    def f(x):
        above = Covering()
        kept = super(Covering, Covering)
        seen = [kept.told(1, 2), super(Covering, above).told(1), kept.of_class(3), kept.of_none(4)]
        seen += [kept.__eq__(above, above), kept.__str__(above)[:2], super(Covering, above).__eq__(above)]
        super(Covering, Covering).__setattr__(above, "mark", 5)
        seen.append(super(Covering, Covering).__init_subclass__())
        return x + 1, seen, above.mark

    same(f, lambda: (torch.ones(2),))

    def g(name):
        made = Meta(name, (Meta,), {})
        super(Meta, type(made)).__setattr__(made, "mark", 1)
        return made.mark

    same(g, lambda: ("Made",))

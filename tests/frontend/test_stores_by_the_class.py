"""Attributes stored by what the class has for it: slots of builtin bases, and __setattr__ of classes below Tensor."""

import pytest

import minidynamo as torch
from frontend.differential import same


class Config(dict):
    __setattr__ = dict.__setitem__
    __getattr__ = dict.__getitem__
    __delattr__ = dict.__delitem__


class Below(Config):
    def twice(self, name):
        return getattr(self, name) * 2


class Counting(torch.Tensor):
    def __setattr__(self, name, value):
        if name == "tag":
            value = value + 1
        super().__setattr__(name, value)

    def __delattr__(self, name):
        super().__delattr__("old_" + name)


class Named(Counting):
    def __setattr__(self, name, value):
        torch.Tensor.__setattr__(self, "old_" + name, value)


def stored_outside(x, config):
    config.b = 2
    return x + config.a + config.b


def made_inside(x, config):
    mine = Config(a=1)
    mine.b = x
    del mine.a
    return mine.b + len(mine), mine


def in_a_method(x, config):
    config.c = x * 3
    return config.twice("c") if isinstance(config, Below) else config.c


def deleted(x, config):
    config.a = 5
    del config.a
    return x + ("a" in config)


@pytest.mark.parametrize("make", [Config, Below])
@pytest.mark.parametrize("function", [stored_outside, made_inside, in_a_method, deleted])
def test_dictionaries_of_settings(function, make):
    same(function, lambda: (torch.ones(2), make(a=1)), frames=1, breaks=[])


def test_a_name_that_is_not_there():
    def f(x, config):
        try:
            return x + config.absent
        except KeyError as error:
            return x * 3, str(error)

    same(f, lambda: (torch.ones(2), Config(a=1)), frames=1, breaks=[])


def tagged(x, s):
    s.tag = 3
    return x + s.tag


def made_and_tagged(x, s):
    mine = x.as_subclass(Counting)
    mine.tag = 1
    mine.note = [2]
    return x + mine.tag + mine.note[0]


def kept_in_the_result(x, s):
    mine = (x * 2).as_subclass(Counting)
    mine.tag = 1
    return mine, s.sum()


@pytest.mark.parametrize("function", [tagged, made_and_tagged, kept_in_the_result])
def test_classes_below_tensor(function):
    seen = []
    for f in (function, torch.compile(function, backend="eager", fullgraph=True)):
        x, s = torch.ones(2), torch.ones(2).as_subclass(Counting)
        result = f(x, s)
        first = result[0] if isinstance(result, tuple) else result
        values = first.as_subclass(torch.Tensor).tolist()
        seen.append((type(first), values, getattr(first, "tag", None), getattr(s, "tag", None)))
    assert seen[0] == seen[1]


def test_what_is_kept_is_stored_once():
    def f(x):
        mine = (x * 2).as_subclass(Counting)
        mine.tag = 1
        return mine

    x = torch.ones(2)
    assert f(x).tag == torch.compile(f, backend="eager", fullgraph=True)(x).tag == 2


def test_other_names_are_stored_and_deleted():
    def f(x, s):
        s.note = 4
        n = s.old_note
        del s.note
        return x + n, hasattr(s, "old_note")

    def plain(s):
        return f(torch.ones(2), s)[1]

    assert plain(torch.ones(2).as_subclass(Named)) is False
    same(f, lambda: (torch.ones(2), torch.ones(2).as_subclass(Named)), frames=1, breaks=[])

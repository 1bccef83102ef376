"""Symbolic ints beside ints of classes of the program."""

import enum

import pytest

import minidynamo as torch


class Reflecting(int):
    def __ror__(self, other):
        return ("or", int(other), int(self))

    def __radd__(self, other):
        return ("add", int(other), int(self))

    def __rmod__(self, other):
        return ("mod", int(other), int(self))

    def __rfloordiv__(self, other):
        return ("floordiv", int(other), int(self))


class Metal(enum.IntFlag):
    IRON = 1
    TIN = 2


@pytest.mark.parametrize("right", [Reflecting(2), Metal.TIN, True], ids=repr)
def test_a_reflected_method_of_a_class_derived_from_int_comes_before_a_symbols(right):
    def f(n):
        return [n | right, n + right, n % right, n // right, n * right, right | n, n << right]

    compiled = torch.compile(f, dynamic=True, backend="eager")
    for n in (5, 6, 7):
        assert list(map(repr, compiled(n))) == list(map(repr, f(n)))

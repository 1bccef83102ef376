"""Iterators of builtin functions, and methods of builtin types that are a few lines of Python."""

BACKWARD = type(reversed([]))


def _ended_by_its_function():
    """What next() of iter(function, sentinel) raises where the call itself has drawn the iterator to its end, and the
    arguments: None where that goes unnoticed. A SystemError up to CPython 3.11.2, later StopIteration."""
    calls = []

    def function():
        calls.append(None)
        if len(calls) == 1:
            list(drawn)
            return 1
        return 0

    drawn = iter(function, 0)
    try:
        next(drawn)
    except (StopIteration, SystemError) as error:
        return type(error), error.args
    return None, ()


ENDED, ENDED_ARGUMENTS = _ended_by_its_function()


def _refused(function, *arguments):
    """The words of this Python, which differ between versions."""
    try:
        function(*arguments)
    except TypeError as error:
        return str(error)


NOT_CALLABLE = _refused(iter, None, None)


class callable_iterator:
    """iter(callable, sentinel)"""

    def __init__(self, function, sentinel):
        if not callable(function):
            raise TypeError(NOT_CALLABLE)
        self.function = function
        self.sentinel = sentinel
        self.stopped = False

    def __next__(self):
        if self.stopped:
            raise StopIteration
        try:
            value = self.function()
        except StopIteration:
            self.stopped = True
            raise
        if self.stopped and ENDED is not None:
            raise ENDED(*ENDED_ARGUMENTS)
        if self.sentinel is value or self.sentinel == value:
            self.stopped = True
            raise StopIteration
        return value

    def rebuilt(self):
        if self.stopped:
            return iter, (tuple, ()), 1
        return iter, (self.function, self.sentinel)


class backward:
    """reversed() of anything that has a length and takes positions; subclasses know what else matters."""

    def __init__(self, sequence, /):
        self.sequence = sequence
        self.at = len(sequence) - 1

    def __next__(self):
        if self.at < 0:
            raise StopIteration
        try:
            value = self.sequence[self.at]
        except (IndexError, StopIteration):
            self.at = -1
            value = None
        else:
            self.at -= 1
            return value
        raise StopIteration

    def rebuilt(self):
        count = len(self.sequence)
        return reversed, (self.sequence,), count - 1 - self.at if 0 <= self.at < count else count + 1


class backward_over_list(backward):
    """The list is read as it is by then."""

    def __next__(self):
        at = self.at
        if 0 <= at < len(self.sequence):
            self.at -= 1
            return self.sequence[at]
        self.at = -1
        raise StopIteration


class backward_over_deque(backward):
    def __init__(self, sequence, /):
        self.sequence = sequence
        self.size = len(sequence)
        self.at = self.size - 1

    def __next__(self):
        at = self.at
        if at < 0:
            raise StopIteration
        if len(self.sequence) != self.size:
            self.at = -1
            raise RuntimeError("deque mutated during iteration")
        self.at -= 1
        return self.sequence[at]


class backward_over_dict:
    def __init__(self, of, /):
        self.of = of
        self.values = list(of)
        self.drawn = 0
        self.failed = False

    def __next__(self):
        if self.failed or self.drawn > len(self.values):
            raise StopIteration
        if len(self.of) != len(self.values):
            self.failed = True
            raise RuntimeError("dictionary changed size during iteration")
        self.drawn += 1
        if self.drawn > len(self.values):
            raise StopIteration
        return self.values[-self.drawn]

    def rebuilt(self):
        return reversed, (self.of,), self.drawn


def add(self, value, /):
    return self + value


def multiply(self, value, /):
    return self * value


def right_multiply(self, value, /):
    return value * self


def inplace_add(self, value, /):
    self += value
    return self


def inplace_multiply(self, value, /):
    self *= value
    return self


def backward_of(self, /):
    return reversed(self)


def _alike(self, other):
    """Whether the type of `self` compares itself with such an object."""
    for kinds in ((list,), (tuple,), (dict,), (set, frozenset)):
        if isinstance(self, kinds):
            return isinstance(other, kinds)
    return False


def equal(self, value, /):
    return self == value if _alike(self, value) else NotImplemented


def unequal(self, value, /):
    return self != value if _alike(self, value) else NotImplemented


def less(self, value, /):
    return self < value if _alike(self, value) and not isinstance(self, dict) else NotImplemented


def less_or_equal(self, value, /):
    return self <= value if _alike(self, value) and not isinstance(self, dict) else NotImplemented


def greater(self, value, /):
    return self > value if _alike(self, value) and not isinstance(self, dict) else NotImplemented


def greater_or_equal(self, value, /):
    return self >= value if _alike(self, value) and not isinstance(self, dict) else NotImplemented


def either(self, value, /):
    return self | value if _alike(self, value) else NotImplemented


def right_either(self, value, /):
    return value | self if _alike(self, value) else NotImplemented


def both(self, value, /):
    return self & value if _alike(self, value) else NotImplemented


def minus(self, value, /):
    return self - value if _alike(self, value) else NotImplemented


def exclusive(self, value, /):
    return self ^ value if _alike(self, value) else NotImplemented


def inplace_either(self, value, /):
    if isinstance(self, set) and not _alike(self, value):
        return NotImplemented
    self |= value
    return self


def inplace_both(self, value, /):
    if not _alike(self, value):
        return NotImplemented
    self &= value
    return self


def inplace_minus(self, value, /):
    if not _alike(self, value):
        return NotImplemented
    self -= value
    return self


def inplace_exclusive(self, value, /):
    if not _alike(self, value):
        return NotImplemented
    self ^= value
    return self


def length(self, /):
    return len(self)


def contains(self, key, /):
    return key in self


def difference_update(self, /, *others):
    for other in others:
        if not isinstance(other, (set, frozenset)):
            for value in other:
                self.discard(value)
            other = frozenset()  # C clears up in its table after each of them
        set.difference_update(self, other)


def symmetric_difference_update(self, other, /):
    if not isinstance(other, dict):
        set.symmetric_difference_update(self, set(other))
        return
    for value in other:
        if value in self:
            self.discard(value)
        else:
            self.add(value)


def view_isdisjoint(self, other, /):
    if other is self:
        return not self
    for value in other:
        if value in self:
            return False
    return True


def dict_fromkeys(self, iterable, value=None, /):
    return type(self).fromkeys(iterable, value)


KEYS, VALUES, ITEMS = type({}.keys()), type({}.values()), type({}.items())
_COMPARISONS = {
    "__eq__": equal,
    "__ne__": unequal,
    "__lt__": less,
    "__le__": less_or_equal,
    "__gt__": greater,
    "__ge__": greater_or_equal,
}
_SEQUENCE = {"__add__": add, "__mul__": multiply, "__rmul__": right_multiply}
_SET = {"__or__": either, "__and__": both, "__sub__": minus, "__xor__": exclusive}
METHODS = {
    list: {
        **_COMPARISONS,
        **_SEQUENCE,
        "__iadd__": inplace_add,
        "__imul__": inplace_multiply,
        "__reversed__": backward_of,
    },
    tuple: {**_COMPARISONS, **_SEQUENCE},
    dict: {
        **_COMPARISONS,
        "__or__": either,
        "__ror__": right_either,
        "__ior__": inplace_either,
        "__reversed__": backward_of,
        "fromkeys": dict_fromkeys,
    },
    set: {
        **_COMPARISONS,
        **_SET,
        "__ior__": inplace_either,
        "__iand__": inplace_both,
        "__isub__": inplace_minus,
        "__ixor__": inplace_exclusive,
        "difference_update": difference_update,
        "symmetric_difference_update": symmetric_difference_update,
    },
    frozenset: {**_COMPARISONS, **_SET},
    KEYS: {"isdisjoint": view_isdisjoint, "__len__": length, "__contains__": contains, "__reversed__": backward_of},
    ITEMS: {"isdisjoint": view_isdisjoint, "__len__": length, "__contains__": contains, "__reversed__": backward_of},
    VALUES: {"__len__": length, "__reversed__": backward_of},
}


def _deque_type():
    from collections import deque

    return type(reversed(deque()))


TABLE = {
    type(iter(int, 1)): callable_iterator,
    reversed: backward,
    BACKWARD: backward_over_list,
    type(reversed({})): backward_over_dict,
    type(reversed({}.values())): backward_over_dict,
    type(reversed({}.items())): backward_over_dict,
    _deque_type(): backward_over_deque,
    **{(kind, name): function for kind, methods in METHODS.items() for name, function in methods.items()},
}

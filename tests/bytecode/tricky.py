"""Functions that are hard to split: every statement kind that leaves something odd on the stack or in a cell.

CASES lists (functions to split, callable, arguments). `log` records what they do.
"""

# ruff: noqa
# The odd spellings are the point.
import sys

log = []


class Manager:
    def __init__(self, name, swallow=False):
        self.name = name
        self.swallow = swallow

    def __enter__(self):
        log.append(("enter", self.name))
        return self

    def __exit__(self, kind, value, traceback):
        log.append(("exit", self.name, kind and kind.__name__))
        return self.swallow


def loops(count, step, *rest, scale=3, **options):
    total = 0
    for i in range(count):
        if i == 2:
            continue
        if i == 5:
            break
        total += i * step
    else:
        total = -total - 1
    while total > 100:
        total -= 7
    return total, rest, scale, sorted(options.items())


def handlers(count):
    with Manager("outer") as outer, Manager("inner", swallow=True):
        for i in range(count):
            try:
                if i == 1:
                    raise ValueError(i)
                log.append((i, outer.name))
            except ValueError as error:
                log.append((str(error), str(sys.exc_info()[1])))
            finally:
                log.append("finally")
        raise KeyError("swallowed")
    return sys.exc_info()[0]


def nested_finally(values):
    for value in values:
        try:
            try:
                log.append(10 // value)
            finally:
                log.append("inner")
                if value == 5:
                    continue
        except ZeroDivisionError:
            log.append("zero")
            if len(values) > 3:
                return "early"
        else:
            log.append("fine")
        finally:
            log.append("outer")
    return "late"


def raising():
    local = 1
    try:
        raise ValueError("first") from KeyError("cause")
    except ValueError as error:
        text = repr(error.__cause__) + str(local)
        raise TypeError(text)


def groups():
    try:
        try:
            1 / 0
        finally:
            log.append("finally")
    except* ZeroDivisionError as group:
        log.append(type(group).__name__)
    try:
        return undefined_name
    except NameError as error:
        return str(error)


def unbound():
    try:
        later
    except UnboundLocalError as error:
        log.append(str(error))
    later = 1
    del later
    try:
        return later
    except UnboundLocalError as error:
        return str(error)


def closures(count):
    total = 0

    def add(amount=2):
        nonlocal total
        total += amount
        return total

    odd = [add(i) for i in range(count) if i % 2 or add()]
    functions = {key: (lambda: key + count)() for key in odd}
    return total, odd, functions, [(lambda: item)() for item in odd], add.__defaults__


def captured_argument(value, other=4):
    def get():
        return value, other

    before = get()
    value += 1
    return before, get(), sorted(locals())


def triangle(rows):
    for i in range(rows):
        for j in range(i):
            cells = [x * y for x in range(i) for y in (lambda: range(j))() if x != y]
            log.append(tuple(cells))
    return [i for i in [i, [j for j in range(2)]]], i, j


class Base:
    def method(self, x):
        return ("base", x)


class Derived(Base):
    def plain(self, x):
        return super().method(x)

    def captured(self, x):
        get = lambda: self
        return super().method(x), get() is self, super(Derived, self).method(x + 1), __class__.__name__

    def aliased(self, x):
        parent = super
        result = parent(Derived, self).method(x)
        return super().method(x), result


def use_derived(x):
    derived = Derived()
    return derived.plain(x), derived.captured(x), derived.aliased(x)


def matching(value):
    match value:
        case {"a": [x, *y], **z}:
            return "mapping", x, y, z
        case Manager(name=name):
            return name
        case [1, (2 | 3) as w]:
            return w
        case str(text) if len(text) > 1:
            return text[::-1], text[1:], text[:2]
        case None:
            return "none"
    return "nothing"


def displays(items):
    numbers = [*items, 1, *items]
    mapping = {**{"x": 1}, "y": 2}
    numbers[0:1] = [7, 8]
    numbers[1] += 5
    first, *others = numbers
    del numbers[0], mapping["x"]
    text = f"{items!r:>10}{first}{others!s}{mapping}{first:{5}}"
    return numbers, mapping, {*items, 9}, (*items,), first, others, text, numbers[-1:], numbers[:-1]


def operators(p, q):
    return (
        not p,
        -p,
        +p,
        ~p,
        (p and q),
        (p or q),
        1 < p < 3,
        p if q else -p,
        p is q,
        p in (q, 1),
        p == q,
        p @ 2 if 0 else p,
    )


def calls(values):
    return (
        max(map(str, values), key=lambda s: len(s)),
        sorted(values, reverse=True),
        "x".join(str(v) for v in values),
        values.index(3),
        (lambda *a, **k: (a, k))(*[1, 2], *values, **{"q": values}, z=1),
        dict(a=1, **{"b": 2}),
    )


def definitions(value):
    import json
    import os.path as path
    from collections import OrderedDict as Ordered
    from collections import namedtuple

    assert value, "message"

    class Local(Base):
        attribute = value

        def method(self):
            return __class__, super().method(value)

    def annotated(a: value, *, b: int = value) -> json:
        return a, b

    pair = namedtuple("pair", "p q")
    return path.join("a", "b"), Ordered(a=1), Local().method()[1], Local.attribute, annotated(1), pair(1, 2)


def leaving(count):
    while count:
        count -= 1
        with Manager(count):
            if count == 2:
                continue
            if count == 1:
                return "early", count
    return "no"


def recursive(n):
    return n if n < 2 else recursive(n - 1) + recursive(n - 2)


def attributes(box):
    box.value = [1, 2]
    box.value[0] += 1
    box.value.append(box)
    del box.value[1]
    return len(box.value), box.value.pop() is box, box.__class__.__name__


def many_locals(a):
    b = c = d = e = f = g = h = i = j = k = m = n = o = p = q = r = s = a
    t, u = q, r
    return a + b + c + d + e + f + g + h + i + j + k + m + n + o + p + s + t + u


def none_tests(a, b):
    while a is not None and b is None:
        a = None
    if a is None:
        return "a"
    return "b" if b is not None else "c"


def deletes_self():
    return Deleter().run()


class Deleter(Base):
    def run(self):
        log.append(super().method(1))
        del self
        try:
            return super().method(2)
        except RuntimeError as error:
            return str(error)


CASES = [
    ((loops,), loops, (4, 2)),
    ((loops,), loops, (9, 60, 1, 2)),
    ((loops,), loops, (1, 2)),
    ((handlers,), handlers, (3,)),
    ((nested_finally,), nested_finally, ([1, 5, 0],)),
    ((nested_finally,), nested_finally, ([1, 2, 0, 4],)),
    ((raising,), raising, ()),
    ((groups,), groups, ()),
    ((unbound,), unbound, ()),
    ((closures,), closures, (5,)),
    ((captured_argument,), captured_argument, (3,)),
    ((triangle,), triangle, (4,)),
    ((use_derived, Derived.plain, Derived.captured, Derived.aliased), use_derived, (1,)),
    ((matching,), matching, ({"a": [1, 2, 3], "b": 4},)),
    ((matching,), matching, (Manager("m"),)),
    ((matching,), matching, ([1, 3],)),
    ((matching,), matching, ("hey",)),
    ((matching,), matching, (None,)),
    ((matching,), matching, (3.5,)),
    ((displays,), displays, ([3],)),
    ((operators,), operators, (2, 5)),
    ((operators,), operators, (0, 0)),
    ((calls,), calls, ([3, 22, 1],)),
    ((definitions,), definitions, (1,)),
    ((definitions,), definitions, (0,)),
    ((leaving,), leaving, (5,)),
    ((leaving,), leaving, (2,)),
    ((leaving,), leaving, (0,)),
    ((recursive,), recursive, (6,)),
    ((attributes,), attributes, (Base(),)),
    ((many_locals,), many_locals, (1,)),
    ((none_tests,), none_tests, (1, None)),
    ((none_tests,), none_tests, (1, 2)),
    ((Deleter.run,), deletes_self, ()),
]

"""operator: getters, callers, and the functions that have no rule of their own."""

import operator


class itemgetter:
    def __init__(self, item, /, *items):
        self.items = (item, *items)

    def __call__(self, obj, /):
        items = self.items
        if len(items) == 1:
            return obj[items[0]]
        return tuple([obj[item] for item in items])

    def rebuilt(self):
        return operator.itemgetter, self.items


class attrgetter:
    def __init__(self, attr, /, *attrs):
        for name in (attr, *attrs):
            if not isinstance(name, str):
                raise TypeError("attribute name must be a string")
        self.attrs = (attr, *attrs)

    def __call__(self, obj, /):
        found = []
        for attr in self.attrs:
            value = obj
            for name in attr.split("."):
                value = getattr(value, name)
            found.append(value)
        return found[0] if len(found) == 1 else tuple(found)

    def rebuilt(self):
        return operator.attrgetter, self.attrs


class methodcaller:
    def __init__(self, name, /, *args, **kwargs):
        if not isinstance(name, str):
            raise TypeError("method name must be a string")
        self.name = name
        self.args = args
        self.kwargs = kwargs

    def __call__(self, obj, /):
        return getattr(obj, self.name)(*self.args, **self.kwargs)

    def rebuilt(self):
        return operator.methodcaller, (self.name, *self.args), 0, self.kwargs


def call(obj, /, *args, **kwargs):
    return obj(*args, **kwargs)


def is_not(a, b, /):
    return a is not b


def lshift(a, b, /):
    return a << b


def rshift(a, b, /):
    return a >> b


def delitem(a, b, /):
    del a[b]


def concat(a, b, /):
    if not hasattr(a, "__getitem__") or isinstance(a, dict):
        raise TypeError(f"'{type(a).__name__}' object can't be concatenated")
    return a + b


def iconcat(a, b, /):
    if not hasattr(a, "__getitem__") or isinstance(a, dict):
        raise TypeError(f"'{type(a).__name__}' object can't be concatenated")
    a += b
    return a


def count_of(a, b, /):
    count = 0
    for value in a:
        if value is b or value == b:
            count += 1
    return count


def index_of(a, b, /):
    at = 0
    for value in a:
        if value is b or value == b:
            return at
        at += 1
    raise ValueError("sequence.index(x): x not in sequence")


def iand(a, b, /):
    a &= b
    return a


def ifloordiv(a, b, /):
    a //= b
    return a


def ilshift(a, b, /):
    a <<= b
    return a


def imatmul(a, b, /):
    a @= b
    return a


def imod(a, b, /):
    a %= b
    return a


def ior(a, b, /):
    a |= b
    return a


def ipow(a, b, /):
    a **= b
    return a


def irshift(a, b, /):
    a >>= b
    return a


def ixor(a, b, /):
    a ^= b
    return a


TABLE = {
    operator.itemgetter: itemgetter,
    operator.attrgetter: attrgetter,
    operator.methodcaller: methodcaller,
    operator.call: call,
    operator.is_not: is_not,
    operator.lshift: lshift,
    operator.rshift: rshift,
    operator.delitem: delitem,
    operator.concat: concat,
    operator.iconcat: iconcat,
    operator.countOf: count_of,
    operator.indexOf: index_of,
    operator.iand: iand,
    operator.ifloordiv: ifloordiv,
    operator.ilshift: ilshift,
    operator.imatmul: imatmul,
    operator.imod: imod,
    operator.ior: ior,
    operator.ipow: ipow,
    operator.irshift: irshift,
    operator.ixor: ixor,
}

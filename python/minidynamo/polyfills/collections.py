"""collections: counting, and the methods of deque and OrderedDict that are a few lines of Python."""

import collections

from . import facts


def count_elements(mapping, iterable, /):
    for value in iterable:
        mapping[value] = mapping.get(value, 0) + 1


def missing(self, key, /):
    if self.default_factory is None:
        raise KeyError(key)
    value = self.default_factory()
    self[key] = value
    return value


def move_to_end(self, key, last=True):
    value = self.pop(key)
    if last:
        self[key] = value
        return
    items = list(self.items())
    self.clear()
    self[key] = value
    for name, held in items:
        self[name] = held


def pop_item(self, last=True):
    if not self:
        raise KeyError("dictionary is empty")
    keys = list(self)
    key = keys[-1] if last else keys[0]
    return key, self.pop(key)


def deque_index(self, value, start=0, stop=None, /):
    size = len(self)
    if stop is None:
        stop = size
    start = max(start + size, 0) if start < 0 else start
    stop = max(stop + size, 0) if stop < 0 else stop
    for at in range(start, min(stop, size)):
        held = self[at]
        if held is value or held == value:
            return at
    return facts.missing_in_deque(value, True)


def deque_remove(self, value, /):
    for at in range(len(self)):
        held = self[at]
        if held is value or held == value:
            del self[at]
            return
    facts.missing_in_deque(value, False)


def deque_insert(self, at, value, /):
    size = len(self)
    if self.maxlen is not None and size >= self.maxlen:
        raise IndexError("deque already at its maximum size")
    if at >= size:
        self.append(value)
    elif at <= -size or at == 0:
        self.appendleft(value)
    else:
        self.rotate(-at)
        if at < 0:
            self.append(value)
        else:
            self.appendleft(value)
        self.rotate(at)


def deque_copy(self, /):
    return self.copy()


def deque_add(self, other, /):
    if not isinstance(other, collections.deque):
        raise TypeError(f'can only concatenate deque (not "{type(other).__name__}") to deque')
    joined = self.copy()
    joined.extend(other)
    return joined


def deque_multiply(self, times, /):
    if not isinstance(times, int):
        return NotImplemented
    values = list(self)
    repeated = self.copy()
    repeated.clear()
    for _ in range(times):
        repeated.extend(values)
    return repeated


def deque_inplace_add(self, values, /):
    self.extend(values)
    return self


def deque_inplace_multiply(self, times, /):
    if not isinstance(times, int):
        return NotImplemented
    values = list(self)
    if times <= 0:
        self.clear()
    for _ in range(times - 1):
        self.extend(values)
    return self


def backward(self, /):
    return reversed(self)


def length(self, /):
    return len(self)


def contains(self, value, /):
    return value in self


DEQUE = {
    "index": deque_index,
    "remove": deque_remove,
    "insert": deque_insert,
    "__copy__": deque_copy,
    "__add__": deque_add,
    "__mul__": deque_multiply,
    "__rmul__": deque_multiply,
    "__iadd__": deque_inplace_add,
    "__imul__": deque_inplace_multiply,
    "__reversed__": backward,
    "__len__": length,
    "__contains__": contains,
}
TABLE = {
    collections._count_elements: count_elements,
    (collections.defaultdict, "__missing__"): missing,
    (collections.OrderedDict, "move_to_end"): move_to_end,
    (collections.OrderedDict, "popitem"): pop_item,
    **{(collections.deque, name): function for name, function in DEQUE.items()},
}

"""itertools: iterators give a value when they are asked for it, and ask their source no earlier than CPython's do.

`rebuilt` tells what makes the real iterator: (callable, arguments, how many values to draw from it at once). Drawing
never runs the program's code: it goes over what has been read from the sources already.
"""

import itertools
import operator
import sys

TEE = type(itertools.tee(())[0])


class _Selection:
    """Tuples of elements of a finite pool, by positions: what product, permutations and combinations share."""

    def __next__(self):
        if self.stopped:
            raise StopIteration
        self.drawn += 1
        if self.positions is None:
            found = self.first()
        else:
            found = self.advance()
        if not found:
            self.stopped = True
            raise StopIteration
        return self.selected()

    def selected(self):
        pool = self.pool
        return tuple([pool[k] for k in self.positions])


class product(_Selection):
    """The last pool turns fastest."""

    def __init__(self, *iterables, repeat=1):
        times = operator.index(repeat)
        if times < 0:
            raise ValueError("repeat argument cannot be negative")
        self.pools = [tuple(values) for values in (iterables if times else ())] * times
        self.positions = None
        self.stopped = False
        self.drawn = 0

    def first(self):
        self.positions = [0] * len(self.pools)
        return all(self.pools)

    def advance(self):
        positions, pools = self.positions, self.pools
        at = len(pools) - 1
        while at >= 0:
            positions[at] += 1
            if positions[at] < len(pools[at]):
                return True
            positions[at] = 0
            at -= 1
        return False

    def selected(self):
        return tuple([pool[k] for pool, k in zip(self.pools, self.positions)])

    def rebuilt(self):
        return itertools.product, self.pools, self.drawn


class combinations(_Selection):
    """Positions rise."""

    def __init__(self, iterable, r):
        size = operator.index(r)
        self.pool = tuple(iterable)
        if size < 0:
            raise ValueError("r must be non-negative")
        self.size = size
        self.positions = None
        self.stopped = False
        self.drawn = 0

    def first(self):
        self.positions = list(range(self.size))
        return self.size <= len(self.pool)

    def advance(self):
        positions, size = self.positions, self.size
        spare = len(self.pool) - size
        at = size - 1
        while at >= 0 and positions[at] == at + spare:
            at -= 1
        if at < 0:
            return False
        start = positions[at] + 1
        positions[at:] = range(start, start + size - at)
        return True

    def rebuilt(self):
        return itertools.combinations, (self.pool, self.size), self.drawn


class combinations_with_replacement(combinations):
    """Positions never fall."""

    def first(self):
        self.positions = [0] * self.size
        return bool(self.pool) or not self.size

    def advance(self):
        positions, last = self.positions, len(self.pool) - 1
        at = self.size - 1
        while at >= 0 and positions[at] == last:
            at -= 1
        if at < 0:
            return False
        positions[at:] = [positions[at] + 1] * (self.size - at)
        return True

    def rebuilt(self):
        return itertools.combinations_with_replacement, (self.pool, self.size), self.drawn


class permutations(_Selection):
    """In lexicographic order of the positions: the rest of the positions stands behind those of the tuple."""

    def __init__(self, iterable, r=None):
        self.pool = tuple(iterable)
        if r is not None and not isinstance(r, int):
            raise TypeError("Expected int as r")
        size = len(self.pool) if r is None else operator.index(r)
        if size < 0:
            raise ValueError("r must be non-negative")
        self.size = size
        self.positions = None
        self.stopped = False
        self.drawn = 0

    def first(self):
        self.positions = list(range(self.size))
        return self.size <= len(self.pool)

    def advance(self):
        positions = self.positions
        used = [False] * len(self.pool)
        for k in positions:
            used[k] = True
        at = self.size - 1
        while at >= 0:
            used[positions[at]] = False
            higher = [k for k in range(positions[at] + 1, len(used)) if not used[k]]
            if higher:
                used[higher[0]] = True
                free = [k for k in range(len(used)) if not used[k]]
                positions[at:] = [higher[0]] + free[: self.size - at - 1]
                return True
            at -= 1
        return False

    def rebuilt(self):
        return itertools.permutations, (self.pool, self.size), self.drawn


class compress:
    def __init__(self, data, selectors):
        self.data = iter(data)
        self.selectors = iter(selectors)

    def __next__(self):
        while True:
            value = next(self.data)
            if next(self.selectors):
                return value

    def rebuilt(self):
        return itertools.compress, (self.data, self.selectors)


class takewhile:
    def __init__(self, predicate, iterable, /):
        self.predicate = predicate
        self.source = iter(iterable)
        self.stopped = False

    def __next__(self):
        if self.stopped:
            raise StopIteration
        value = next(self.source)
        if self.predicate(value):
            return value
        self.stopped = True
        raise StopIteration

    def rebuilt(self):
        return itertools.takewhile, (self.predicate, () if self.stopped else self.source)


class dropwhile:
    def __init__(self, predicate, iterable, /):
        self.predicate = predicate
        self.source = iter(iterable)
        self.started = False

    def __next__(self):
        value = next(self.source)
        while not self.started:
            if self.predicate(value):
                value = next(self.source)
            else:
                self.started = True
        return value

    def rebuilt(self):
        if self.started:  # drawing one value makes it stop to look
            return itertools.dropwhile, (operator.not_, itertools.chain((True,), self.source)), 1
        return itertools.dropwhile, (self.predicate, self.source)


class filterfalse:
    def __init__(self, function, iterable, /):
        self.function = function
        self.source = iter(iterable)

    def __next__(self):
        function = self.function
        while True:
            value = next(self.source)
            if function is None or function is bool:
                if not value:
                    return value
            elif not function(value):
                return value

    def rebuilt(self):
        return itertools.filterfalse, (self.function, self.source)


class starmap:
    def __init__(self, function, iterable, /):
        self.function = function
        self.source = iter(iterable)

    def __next__(self):
        values = next(self.source)
        return self.function(*tuple(values))

    def rebuilt(self):
        return itertools.starmap, (self.function, self.source)


def _pairs_with_what_it_held():
    """Whether the first of a pair is what pairwise() held before it drew the second, though that drawing drew pairs as
    well: fixed in CPython 3.12.1."""

    class drawn:
        count = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.count += 1
            return next(pairs) if self.count == 2 else self.count

    pairs = itertools.pairwise(drawn())
    return next(pairs) == (1, (1, 3))


PAIRS_WITH_HELD = _pairs_with_what_it_held()


class pairwise:
    def __init__(self, iterable, /):
        self.source = iter(iterable)
        self.before = None  # (value,)
        self.stopped = False

    def __next__(self):
        if self.stopped:
            raise StopIteration
        before = self.before
        try:
            if before is None:
                self.before = before = (next(self.source),)
                if self.stopped and PAIRS_WITH_HELD:
                    raise StopIteration
            value = next(self.source)
        except BaseException:
            self.stopped = True
            raise
        pair = (before[0] if PAIRS_WITH_HELD else self.before[0], value)
        self.before = (value,)
        return pair

    def rebuilt(self):
        if self.stopped:
            return itertools.pairwise, ((),)
        return itertools.pairwise, (itertools.chain(self.before, self.source) if self.before else self.source,)


class zip_longest:
    def __init__(self, *iterables, fillvalue=None):
        self.sources = [iter(values) for values in iterables]  # None once it has ended
        self.left = len(iterables)
        self.fillvalue = fillvalue

    def __next__(self):
        if not self.left:
            raise StopIteration
        row = []
        sources = self.sources
        for k in range(len(sources)):
            value = self.fillvalue
            if sources[k] is not None:
                try:
                    value = next(sources[k])
                except StopIteration:
                    sources[k] = None
                    self.left -= 1
                except BaseException:
                    self.left = 0
                    raise
                if not self.left:
                    break
            row.append(value)
        if not self.left:
            raise StopIteration
        return tuple(row)

    def rebuilt(self):
        sources = [() if source is None else source for source in self.sources]
        return itertools.zip_longest, sources, 0, {"fillvalue": self.fillvalue}


class chain_from_iterable:
    def __init__(self, iterable, /):
        self.source = iter(iterable)
        self.active = None
        self.stopped = False

    def __next__(self):
        while not self.stopped:
            if self.active is None:
                try:
                    self.active = iter(next(self.source))
                except BaseException:
                    self.stopped = True
                    raise
            try:
                return next(self.active)
            except StopIteration:
                self.active = None
        raise StopIteration

    def rebuilt(self):
        if self.stopped and self.active is None:
            return itertools.chain, ()
        return itertools.chain.from_iterable, (
            itertools.chain(() if self.active is None else (self.active,), self.source),
        )


class tee_object:
    """One of the iterators of tee(). `shared`: the source, what was read from it so far, and whether it is being read;
    `at`: a position.
    """

    def __init__(self, iterable, /):
        self.shared = (iter(iterable), [], [])
        self.at = 0
        self.base = None

    def __next__(self):
        source, values, reading = self.shared
        if self.at == len(values):
            if reading:
                raise RuntimeError("cannot re-enter the tee iterator")
            reading.append(True)
            try:
                value = next(source)
            finally:
                reading.pop()
            values.append(value)
        self.at += 1
        return values[self.at - 1]

    def __copy__(self):
        return _adopted(TEE(()), self.shared, self.at, _base_of(self))

    def rebuilt(self):
        if self.base is None:  # of it the others are copies
            return TEE, (itertools.chain(self.shared[1], self.shared[0]),), self.at
        return self.base.__copy__, (), self.at


def _base_of(self):
    if self.base is None:
        self.base = _adopted(TEE(()), self.shared, 0, None)
    return self.base


def _adopted(self, shared, at, base):
    self.shared = shared
    self.at = at
    self.base = base
    return self


def tee(iterable, n=2, /):
    count = operator.index(n)
    if count < 0:
        raise ValueError("n must be >= 0")
    if count == 0:
        return ()
    source = iter(iterable)
    duplicate = getattr(source, "__copy__", None)
    first = TEE(source) if duplicate is None else source
    made = [first]
    for _ in range(count - 1):
        made.append(first.__copy__() if duplicate is None else duplicate())
    return tuple(made)


class batched:
    def __init__(self, iterable, n, *, strict=False):
        size = operator.index(n)
        if size < 1:
            raise ValueError("n must be at least one")
        self.source = iter(iterable)
        self.size = size
        self.strict = strict
        self.stopped = False

    def __next__(self):
        values = []
        while not self.stopped and len(values) < self.size:
            try:
                values.append(next(self.source))
            except StopIteration:
                self.stopped = True
            except BaseException:
                self.stopped = True
                raise
        if not values:
            raise StopIteration
        if self.strict and len(values) < self.size:
            raise ValueError("batched(): incomplete batch")
        return tuple(values)

    def rebuilt(self):
        keywords = {"strict": True} if self.strict else {}
        return itertools.batched, (() if self.stopped else self.source, self.size), 0, keywords


TABLE = {
    itertools.product: product,
    itertools.combinations: combinations,
    itertools.combinations_with_replacement: combinations_with_replacement,
    itertools.permutations: permutations,
    itertools.compress: compress,
    itertools.takewhile: takewhile,
    itertools.dropwhile: dropwhile,
    itertools.filterfalse: filterfalse,
    itertools.starmap: starmap,
    itertools.pairwise: pairwise,
    itertools.zip_longest: zip_longest,
    (itertools.chain, "from_iterable"): chain_from_iterable,
    TEE: tee_object,
    itertools.tee: tee,
}
if sys.version_info >= (3, 12):
    TABLE[itertools.batched] = batched

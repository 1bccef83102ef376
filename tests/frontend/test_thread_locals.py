"""threading.local in traced code; compiled patterns as keys; hashes of tuples that hold objects; functools.wraps of
functions with attributes."""

import functools
import re
import sys
import threading

import pytest

import minidynamo as torch
from frontend.differential import same

LOCAL = threading.local()
LOCAL.v = 3
PATTERN = re.compile("a+")
KEYED = {PATTERN: 3, ("k", PATTERN): 4}


def x():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def text_of_error(action):
    try:
        action()
    except (TypeError, AttributeError) as error:
        return type(error).__name__, str(error)


def read_and_stored(v):
    LOCAL.v = LOCAL.v + 1
    y = v + LOCAL.v
    LOCAL.v -= 1
    return y


def missing(v):
    said = text_of_error(lambda: LOCAL.nothing), text_of_error(lambda: delattr(LOCAL, "nothing"))
    return v, said, hasattr(LOCAL, "v"), hasattr(LOCAL, "nothing"), getattr(LOCAL, "nothing", 5)


def new_and_deleted(v):
    LOCAL.new = [1]
    LOCAL.new.append(2)
    y = v + len(LOCAL.new)
    del LOCAL.new
    return y, hasattr(LOCAL, "new")


def by_dictionary(v):
    LOCAL.__dict__.setdefault("stack", []).append(3)
    y = v + LOCAL.stack[-1] + len(LOCAL.__dict__)
    LOCAL.stack.pop()
    del LOCAL.stack
    return y


def patterns_as_keys(v):
    found = re.search(PATTERN, "baa") is not None, re.sub(PATTERN, "b", "caat"), PATTERN.sub(r"\g<0>x", "aab")
    return v + KEYED[PATTERN] + KEYED["k", PATTERN], re.compile(b"a") in KEYED, found, hash(PATTERN) == hash(PATTERN)


class Keyed:
    def __init__(self, v):
        self.v = v

    def __hash__(self):
        return hash(("Keyed", self.v))


KEYED_OBJECT = Keyed(3)


def hashes_of_tuples(v):
    unhashable = text_of_error(lambda: hash((Keyed(1), [1])))
    return (
        v,
        hash((Keyed(1), "a", (Keyed(2), 3.5))),
        hash((KEYED_OBJECT, KEYED_OBJECT.v)),
        hash((1, Keyed(-1))),
        unhashable,
    )


def tagged(a):
    return a + 1


tagged.tag = 5
tagged.other = "x"


def decorated(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)

    return wrapper


def attributes_are_copied(v):
    tagged.tag = 6
    wrapper = decorated(tagged)
    y = wrapper(v) + wrapper.tag
    tagged.tag = 5
    return y, wrapper.other, wrapper.tag, wrapper.__wrapped__ is tagged


@pytest.mark.parametrize(
    "function",
    [read_and_stored, missing, new_and_deleted, by_dictionary, patterns_as_keys, hashes_of_tuples,
     attributes_are_copied],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_traced_whole(function):
    by_template = function is patterns_as_keys and sys.version_info >= (3, 13)  # not traced there
    same(function, x, breaks=None if by_template else [])


def test_each_thread_has_its_own():
    seen = []

    @torch.compile(fullgraph=True, backend="eager")
    def f(v):
        LOCAL.count = getattr(LOCAL, "count", 0) + 1
        return v + LOCAL.count

    def several(times):
        seen.append([float(f(torch.tensor(0.0))) for _ in range(times)])

    several(2)
    for _ in range(2):
        thread = threading.Thread(target=several, args=(3,))
        thread.start()
        thread.join()
    several(1)
    del LOCAL.count
    assert seen == [[1, 2], [1, 2, 3], [1, 2, 3], [3]]


def test_attributes_that_come_later():
    def plain(a):
        return a

    @torch.compile(fullgraph=True, backend="eager")
    def f(v):
        return v + len([n for n in ("one", "two") if hasattr(decorated(plain), n)])

    plain.one = 1
    assert float(f(torch.tensor(0.0))) == 1
    plain.two = 2
    assert float(f(torch.tensor(0.0))) == 2

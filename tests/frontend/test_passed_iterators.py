"""Iterators the program hands in: those over tuples and ranges and counts are followed, and stand where they would."""

import itertools

import pytest

import minidynamo as torch
from frontend.differential import same

MADE = {
    "tuple": lambda: iter((1, 2, 3, 4, 5)),
    "tuple under way": lambda: _moved(iter((1, 2, 3, 4, 5))),
    "range": lambda: iter(range(1, 9)),
    "range under way": lambda: _moved(iter(range(1, 20, 3))),
    "range backwards": lambda: reversed(range(6)),
    "count": lambda: itertools.count(3),
    "count of floats": lambda: itertools.count(0.5, 0.25),
    "large count": lambda: itertools.count(10**30, 7),
}


@pytest.fixture(autouse=True)
def no_entries():
    torch._dynamo.reset()


def _moved(iterator):
    next(iterator)
    return iterator


def first(x, it):
    return x + float(next(it)), list(itertools.islice(it, 2))


def two(x, it):
    value = next(it)
    next(it)
    return x + float(value)


def returned(x, it):
    next(it)
    return x + 1, it


def loop(x, it):
    for value in it:
        x = x + float(value)
        if value > 2:
            break
    return x


def zipped(x, it):
    return x + 1, list(zip("ab", it, strict=False))


def unpacked(x, it):
    a, b, *rest = itertools.islice(it, 4)
    return x + float(a), b, rest


def asked(x, it):
    return x + 1, iter(it) is it, type(it), 5 in it


def broken(x, it):
    x = x + float(next(it))
    print("between")
    return x + float(next(it))


def ended(x, it):
    return x + 1, list(it)


def left(it):
    return list(itertools.islice(it, 3))


FOLLOWED = [(f, made) for f in (first, two, loop, zipped, unpacked, asked) for made in MADE]
FOLLOWED.remove((asked, "large count"))  # which never comes to 5


@pytest.mark.parametrize("f, made", FOLLOWED)
def test_followed(f, made):
    states = []
    for compiled in (f, torch.compile(f, backend="eager", fullgraph=True)):
        it = MADE[made]()
        given = compiled(torch.ones(2), it)
        again = compiled(torch.ones(2), MADE[made]())
        states.append((str(given), str(again), left(it)))
    assert states[0] == states[1]


@pytest.mark.parametrize("made", MADE, ids=str)
def test_over_a_break(made):
    results = []
    for f in (broken, torch.compile(broken, backend="eager")):
        it = MADE[made]()
        results.append((str(f(torch.ones(2), it)), left(it)))
    assert results[0] == results[1]


@pytest.mark.parametrize("made", [name for name in MADE if "count" not in name])
def test_one_that_came_to_its_end_says_so(made):
    states = []
    for f in (ended, torch.compile(ended, backend="eager", fullgraph=True)):
        it = MADE[made]()
        f(torch.ones(2), it)
        states.append((it.__reduce__(), f(torch.ones(2), it)[1]))
    assert str(states[0]) == str(states[1])


def test_the_iterator_itself_comes_back():
    it = iter((1, 2, 3))
    y, back = torch.compile(returned, backend="eager", fullgraph=True)(torch.ones(2), it)
    assert back is it and next(it) == 2


def test_where_it_stands_is_guarded():
    counter = torch._dynamo.testing.CompileCounter()
    f = torch.compile(lambda x, it: x + next(it), backend=counter)
    for _ in range(2):
        assert f(torch.zeros(1), iter(range(5, 7))).item() == 5
    assert counter.frame_count == 1
    assert f(torch.zeros(1), iter(range(6, 7))).item() == 6
    tensors = torch.compile(lambda x, it: x + next(it), backend=counter)
    moved = iter((torch.ones(1), torch.ones(1) * 2, torch.ones(1) * 3))
    assert [tensors(torch.zeros(1), moved).item() for _ in range(3)] == [1, 2, 3]
    with pytest.raises(StopIteration):
        tensors(torch.zeros(1), moved)


def test_two_names_of_one():
    it = iter((1, 2, 3))
    f = torch.compile(lambda x, a, b: x + next(a) * 10 + next(b), backend="eager", fullgraph=True)
    assert f(torch.zeros(1), it, it).item() == 12
    assert next(it) == 3


def test_others_break():
    same(lambda x, it: (x + 1, next(it)), lambda: (torch.ones(2), iter([1, 2])), breaks=["GB0156"])

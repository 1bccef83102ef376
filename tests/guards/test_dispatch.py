"""Many entries of one function: an index picks those that may fit, and finds what trying one after the other finds."""

import gc
import random
import weakref

import pytest

import minidynamo as torch
from guards.programs import local
from minidynamo import _C
from minidynamo._dynamo.testing import CompileCounter

g = _C._guards
X, Y, Z = local(0, "x"), local(1, "y"), local(2, "z")


def new_code():
    return compile("1", "<dispatch test>", "eval")


class Cache:
    """Entries in the cache and, beside them, their programs to ask one after the other."""

    def __init__(self):
        self.code, self.programs, self.freed = new_code(), {}, []

    def insert(self, guards, region=1):
        program = g.compile(guards)
        number = len(self.programs)
        self.programs[number] = (region, program)
        g.cache_insert(self.code, region, program, number, self.freed)
        return number

    def find(self, *slots, region=1):
        found = g.cache_find(self.code, region, slots, {}, {})
        fitting = {n for n, (r, p) in self.programs.items() if r == region and p.check(slots, {}, {})}
        assert found in fitting if fitting else found == -1, (slots, found, fitting)
        return found


@pytest.fixture
def cache():
    return Cache()


class Point:
    def __init__(self, x):
        self.x = x


class Other(Point):
    pass


CONSTANTS = [0, 1, 2, -1, 2**70, 2**70 + 1, 1.0, 0.0, -0.0, True, False, None, "a", "b", b"a", (1, 2), (1, 3), 1 + 2j,
             torch.float32, torch.float64, torch.Size([1]), torch.Size([2]), range(2), range(3)]  # fmt: skip


def test_constants(cache):
    for value in CONSTANTS:
        cache.insert([(X, "EqualsMatch", value)])
    for number, value in enumerate(CONSTANTS):
        assert cache.find(value) == number
    for value in (3, 2.0, "c", b"", (1, 4), [], 1j, torch.int64, object()):
        assert cache.find(value) == -1


def test_equal_but_other_objects(cache):
    values = [10**6 + k for k in range(20)] + [f"name {k}" for k in range(20)] + [k + 0.5 for k in range(20)]
    for value in values:
        cache.insert([(X, "EqualsMatch", value)])
    for number, value in enumerate(values):
        assert cache.find(eval(repr(value))) == number


def test_none_true_and_false_are_values(cache):
    for kind in ("NoneMatch", "TrueMatch", "FalseMatch"):
        cache.insert([(X, kind, None)])
    for value in (1, 0, "None"):
        cache.insert([(X, "EqualsMatch", value)])
    assert [cache.find(v) for v in (None, True, False, 1, 0, "None")] == list(range(6))


def test_types_and_identities(cache):
    def made(k):
        return lambda: k

    kinds = [int, float, str, Point, Other, list, dict, tuple]
    for kind in kinds:
        cache.insert([(X, "TypeMatch", kind)])
    functions = [made(k) for k in range(8)]
    for f in functions:
        cache.insert([(X, "IdMatch", f)])
    objects = [1, 1.0, "", Point(1), Other(1), [], {}, ()]
    assert [cache.find(o) for o in [*objects, *functions]] == list(range(16))
    assert cache.find(made(9)) == -1 and cache.find(set()) == -1


def test_tensors(cache):
    tensors = [torch.ones(n) for n in range(2, 10)]
    tensors += [torch.ones(2, n) for n in range(3, 8)] + [torch.ones(n, 2).T for n in range(3, 8)]
    tensors += [torch.ones(2, dtype=d) for d in (torch.float64, torch.int64, torch.bool)]
    tensors += [torch.ones(2, requires_grad=True)]
    for t in tensors:
        cache.insert([(X, "TensorMatch", t)])
    for number, t in enumerate(tensors):
        assert cache.find(t) == number
    for other in (torch.ones(1), torch.ones(2, 2, 2), 5, None, [torch.ones(2)]):
        assert cache.find(other) == -1


def test_lengths_and_attributes(cache):
    for n in range(10):
        cache.insert([(X, "TypeMatch", list), (X, "LengthCheck", n)])
    for n in range(10):
        cache.insert([(X, "TypeMatch", Point), (("attr", X, "x"), "EqualsMatch", n)])
    for n in range(10):
        assert cache.find([0] * n) == n and cache.find(Point(n)) == 10 + n
    assert cache.find((0,)) == -1 and cache.find(Point("1")) == -1 and cache.find(Other(1)) == -1
    bare = Point(1)
    del bare.x
    assert cache.find(bare) == -1


def test_two_things_differ(cache):
    for x in range(12):
        for y in range(12):
            cache.insert([(X, "EqualsMatch", x), (Y, "EqualsMatch", str(y))])
    for x in range(12):
        for y in range(12):
            assert cache.find(x, str(y)) == 12 * x + y
    assert cache.find(12, "0") == cache.find(0, "12") == cache.find(0, 0) == -1


def test_entries_that_say_nothing_there_are_tried_too(cache):
    for x in range(10):
        cache.insert([(X, "EqualsMatch", x), (Y, "TypeMatch", int)])
    general = cache.insert([(Y, "TypeMatch", str)])
    cache.insert([(Y, "TypeMatch", float)])
    assert cache.find(3, "") == general and cache.find(99, "") == general and cache.find(3, 0) == 3
    assert cache.find(3, None) == -1


def test_what_is_looked_at_may_be_absent(cache):
    for x in range(10):
        cache.insert([(X, "EqualsMatch", x)])
    absent = cache.insert([(("attr", Y, "x"), "NotPresent", None)])
    for x in range(10):
        cache.insert([(("attr", Y, "x"), "EqualsMatch", x)])
    assert cache.find(..., 1) == absent
    assert cache.find(..., Point(4)) == absent + 5
    assert cache.find(4, Point(None)) == 4


def test_one_entry_of_two_that_fit(cache):
    """The entry an index points to comes before those it says nothing of."""
    for x in range(10):
        cache.insert([(X, "EqualsMatch", x)])
    cache.insert([(X, "TypeMatch", int)])
    assert cache.find(5) == 5 and cache.find(11) == 10 and cache.find(5) == 5


def test_regions_have_indexes_of_their_own(cache):
    for k in range(12):
        cache.insert([(X, "EqualsMatch", k)], region=1 + k % 2)
    for k in range(12):
        assert cache.find(k, region=1 + k % 2) == k and cache.find(k, region=2 - k % 2) == -1
    assert cache.find(0, region=3) == -1
    g.cache_remove_options(1)
    assert sorted(cache.freed) == [0, 2, 4, 6, 8, 10]
    cache.programs = {n: p for n, p in cache.programs.items() if n % 2}
    for k in range(12):
        assert cache.find(k, region=2) == (k if k % 2 else -1)
        assert g.cache_find(cache.code, 1, (k,), {}, {}) == -1


def test_dead_entries_leave_the_index(cache):
    """Also those under a class that is gone, whose address another class may have."""
    classes = [type(f"C{k}", (), {}) for k in range(20)]
    for cls in classes:
        cache.insert([(X, "TypeMatch", cls)])
    assert [cache.find(cls()) for cls in classes] == list(range(20))
    gone = [weakref.ref(cls) for cls in classes[::2]]
    cls = None
    del classes[::2]
    gc.collect()
    assert all(ref() is None for ref in gone)
    fresh = [type(f"D{k}", (), {}) for k in range(20)]
    assert all(cache.find(cls()) == -1 for cls in fresh)
    assert cache.freed == []
    g.cache_drop_dead(cache.code)
    assert sorted(cache.freed) == list(range(0, 20, 2))
    assert [cache.find(cls()) for cls in classes] == list(range(1, 20, 2))
    for cls in fresh:
        cache.insert([(X, "TypeMatch", cls)])
    assert [cache.find(cls()) for cls in fresh] == list(range(20, 40))


@pytest.mark.parametrize("seed", range(40))
def test_random_entries(seed):
    """Whatever the programs are, an entry is found exactly when there is one that fits."""
    rng = random.Random(seed)
    cache = Cache()
    places = [X, Y, Z, ("attr", X, "x"), ("item", Y, 0), ("item", Y, 1)]
    tensors = [torch.ones(n) for n in (2, 3, 4)] + [torch.ones(2, 3), torch.ones(2, dtype=torch.int64)]
    values = [0, 1, 2, 3, "a", "b", None, True, 1.0, *tensors, Point(1), Point("a"), Other(1), [1, 2], [2], ["a", 1]]

    def guard():
        place, value = rng.choice(places), rng.choice(values)
        if torch.is_tensor(value):
            return (place, "TensorMatch", value)
        if isinstance(value, list):
            return (place, "LengthCheck", len(value))
        if isinstance(value, Point) or rng.random() < 0.3:
            return (place, "TypeMatch", type(value))
        return (place, "EqualsMatch", value)

    for _ in range(rng.choice([6, 20, 60])):
        cache.insert([guard() for _ in range(rng.randint(1, 3))], region=rng.choice([1, 1, 1, 2]))
        for _ in range(5):
            cache.find(*(rng.choice(values) for _ in range(3)), region=rng.choice([1, 2]))
    for _ in range(300):
        cache.find(*(rng.choice(values) for _ in range(3)))


# --- compiled functions -----------------------------------------------------------------------------------------------


@pytest.fixture
def unlimited():
    with torch._dynamo.config.patch(recompile_limit=1000, accumulated_recompile_limit=1000):
        yield


def test_many_constants_compile_once_each(unlimited):
    counter = CompileCounter()
    compiled = torch.compile(lambda x, n, name: x * n + len(name), backend=counter, dynamic=False)
    for _ in range(3):
        for n in range(2, 22):
            for name in ("a", "bc", "def"):
                assert compiled(torch.ones(2), n, name).tolist() == [n + len(name)] * 2
    assert counter.frame_count == 60


def test_many_sizes_of_two_tensors(unlimited):
    counter = CompileCounter()
    compiled = torch.compile(lambda x, y: x.sum() + y.sum(), backend=counter, dynamic=False)
    for _ in range(2):
        for n in range(2, 9):
            for m in range(2, 9):
                assert compiled(torch.ones(n), torch.ones(m, 2)).item() == n + 2 * m
    assert counter.frame_count == 49


def test_functions_as_arguments(unlimited):
    counter = CompileCounter()

    def scaled(k):
        return eval(f"lambda x: x * {k}")

    functions = [scaled(k) for k in range(2, 14)]
    compiled = torch.compile(lambda x, f: f(x) + 1, backend=counter)
    for _ in range(2):
        for k, f in enumerate(functions, 2):
            assert compiled(torch.ones(1), f).item() == k + 1
    assert counter.frame_count == 12

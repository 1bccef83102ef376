"""Entries of a code object: look-up order, regions, and when they are freed."""

import gc
import weakref

import pytest

from guards.programs import local
from minidynamo import _C

g = _C._guards
X = local()


def new_code():
    return compile("1", "<cache test>", "eval")


def equals(value):
    return g.compile([(X, "EqualsMatch", value)])


@pytest.fixture
def freed():
    return []


def find(code, region, value):
    return g.cache_find(code, region, (value,), {}, {})


def test_first_passing_entry_moves_to_the_front(freed):
    code = new_code()
    assert find(code, 1, 0) == -1 and g.cache_order(code) == []
    for i in range(4):
        g.cache_insert(code, 1, equals(i), i, freed)
    assert g.cache_order(code) == [3, 2, 1, 0]
    assert find(code, 1, 1) == 1
    assert g.cache_order(code) == [1, 3, 2, 0]
    assert find(code, 1, 0) == 0
    assert g.cache_order(code) == [0, 1, 3, 2]
    assert find(code, 1, 9) == -1
    assert g.cache_order(code) == [0, 1, 3, 2]
    assert g.cache_entries(code, 1) == [3, 2, 1, 0], "newest first, whatever was used"


def test_regions_do_not_see_each_other(freed):
    code = new_code()
    g.cache_insert(code, 1, equals(5), 0, freed)
    g.cache_insert(code, 2, equals(5), 1, freed)
    assert find(code, 1, 5) == 0 and find(code, 2, 5) == 1 and find(code, 3, 5) == -1
    assert g.cache_entries(code, None) == [1, 0] and g.cache_entries(code, 2) == [1]
    g.cache_remove_options(1)
    assert freed == [0]
    assert find(code, 1, 5) == -1 and find(code, 2, 5) == 1


def test_entries_die_with_their_code(freed):
    code, other = new_code(), new_code()
    g.cache_insert(code, 1, equals(1), 0, freed)
    g.cache_insert(code, 1, equals(2), 1, freed)
    g.cache_insert(other, 1, equals(2), 2, freed)
    del code
    assert sorted(freed) == [0, 1]
    g.cache_remove_options(1)
    assert sorted(freed) == [0, 1, 2]
    assert g.cache_entries(other, None) == []


def test_entries_about_dead_objects_are_dropped(freed):
    def f():
        pass

    code = new_code()
    g.cache_insert(code, 1, g.compile([(X, "IdMatch", f)]), 0, freed)
    g.cache_insert(code, 1, equals(1), 1, freed)
    g.cache_drop_dead(code)
    assert find(code, 1, f) == 0
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None, "an entry does not keep its function alive"
    g.cache_drop_dead(code)
    assert freed == [0] and g.cache_order(code) == [1]


def test_freeing_an_entry_may_use_the_cache(freed):
    """What an entry owns may run Python code when it goes, which may come back to the cache."""
    code, seen = new_code(), []

    class Noisy(list):
        def __del__(self):
            seen.append((find(code, 1, 5), g.cache_entries(code, None)))

    g.cache_insert(code, 1, g.compile([(X, "EqualsMatch", (Noisy(),))]), 0, freed)
    g.cache_insert(code, 2, equals(5), 1, freed)
    g.cache_remove_options(1)
    assert seen == [(-1, [1])] and freed == [0]

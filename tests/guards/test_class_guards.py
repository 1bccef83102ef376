"""Guards on classes, and on objects being different ones."""

import abc
import gc
import weakref

import pytest

from guards.programs import local, run
from minidynamo import _C

program = _C._guards.compile


class Plain:
    pass


@pytest.mark.parametrize("count", [2, 8, 9, 40])
def test_different_objects(count):
    sources = [local(i, f"a{i}") for i in range(count)]
    p = program([(sources[0], "Distinct", tuple(sources[1:]))])
    lists, plain = [[] for _ in range(count)], [Plain() for _ in range(count)]
    assert run(p, *lists)[0] and run(p, *plain)[0]
    for i, j in ((0, 1), (0, count - 1), (count - 2, count - 1)):
        assert run(p, *lists)[0]
        same = list(lists)
        same[j] = same[i]
        assert not run(p, *same)[0]
        mixed = list(plain)
        mixed[j] = vars(mixed[i])
        assert not run(p, *mixed)[0], "attributes are also entries of a dictionary"
    if count == 2:
        assert run(p, lists[0], lists[0])[1] == "a0 is not a1"


def test_registrations_with_abstract_classes():
    class Abstract(abc.ABC):  # noqa: B024
        pass

    token = ("constant", abc.get_cache_token, "abc.get_cache_token")
    p = program([(token, "AbcToken", abc.get_cache_token())])
    assert run(p)[0]
    Abstract.register(Plain)
    assert not run(p)[0]


SAME, ABSENT, NO_SETTER, SUBCLASS, NO_SUBCLASS = range(5)


def test_class_lookups():
    class A:
        v = 2.5

        def m(self):
            pass

    class B(A):
        pass

    class C:
        pass

    lookups = (
        (SAME, "m", None, A.m),
        (SAME, "v", None, 2.5),
        (SAME, "m", B, A.m),
        (ABSENT, "gone", None, None),
        (NO_SETTER, "v", None, None),
        (SUBCLASS, None, A, None),
        (NO_SUBCLASS, None, C, None),
    )
    p = program([(("constant", B, "___class_B"), "ClassLookups", lookups)])
    method = A.m

    def fails(name):
        passed, reason = run(p)
        assert not passed and reason == (
            f"attribute '{name}' of class 'B' changed" if name else "bases of class 'B' changed"
        )

    def restored():
        A.m, A.v = method, 2.5
        for name in ("m", "v", "gone"):
            if name in vars(B):
                delattr(B, name)
        assert run(p)[0]

    restored()
    B.unrelated = 1
    assert run(p)[0]
    B.m = lambda self: 1
    fails("m")
    restored()
    A.m = lambda self: 1
    fails("m")
    restored()
    A.v = 5.0 / 2  # an equal constant is as good
    assert run(p)[0]
    A.v = 3.5
    fails("v")
    restored()
    B.v = property(lambda self: 2.5)
    fails("v")
    restored()
    A.gone = None
    fails("gone")
    del A.gone
    restored()
    B.__bases__ = (A, C)
    fails(None)
    B.__bases__ = (A,)
    restored()


def test_class_lookups_do_not_keep_the_class():
    class C:
        def m(self):
            pass

    lookups = ((SAME, "m", None, C.m), (ABSENT, "gone", None, None))
    p = program([(("constant", C, "___class_C"), "ClassLookups", lookups)])
    assert run(p)[0]
    gone = weakref.ref(C)
    del C, lookups
    gc.collect()
    assert gone() is None and p.dead() and not run(p)[0]

"""Methods, operators and errors of set, frozenset, range and slice."""

from .programs import check_expression, check_statement, each_line_of

# what is compared: (statements before, what to look at afterwards, expressions)
EXPRESSIONS = {
    "set": (
        "s={1,2,3}",
        "s",
        r"""
        s.add(4)
        s.add([])
        s.add()
        s.discard(1)
        s.discard(9)
        s.discard([])
        s.remove(1)
        s.remove(9)
        s.pop() in (1,2,3)
        set().pop()
        s.clear()
        s.copy()
        s.update([4],[5])
        s.update(3)
        s.union([4],{5})
        s.union()
        s.union(3)
        s.intersection([1,2],[2])
        s.difference([1])
        s.intersection_update([1,2])
        s.difference_update([1])
        s.symmetric_difference_update([1,9])
        s.issubset([1,2,3,4])
        s.issuperset([1])
        s.isdisjoint([9])
        s.issubset(3)
        s|{4}
        s|[4]
        s&{1}
        s-{1}
        s<={1,2,3,4}
        s<{1,2,3}
        s>={1}
        s>{1}
        s=={1,2,3}
        s!={1}
        s<[1]
        s|frozenset([7])
        frozenset([7])|s
        type(frozenset([7])|s).__name__
        hash(s)
        repr(s)
        str(set())
        len(s)
        2 in s
        [] in s
        {1} in {frozenset([1])}
        set("ab")=={"a","b"}
        set(3)
        set(1,2)
        frozenset([1,2])
        frozenset(3)
        frozenset([1]).union([2])
        frozenset([1]).add
        frozenset()
        hash(frozenset([1]))==hash(frozenset([1]))
        s.__len__()
        s.__contains__(1)
        s.__or__({5})
        s.__or__([5])
        s.__eq__({1,2,3})
        sorted(s)
        s.foo
        s.issuperset()
        s.isdisjoint()
        s.copy() is s
        frozenset(s)==s
        frozenset("a").copy()
        set.union(s,{4})
        set.union()
        min(s)
        sum(s)
        {*s,4}
        s.__ior__({7})
        s.__isub__({1})
        {i%2 for i in range(5)}
        """,
    ),
    "range": (
        "r=range(1,10,3)",
        None,
        r"""
        r.start
        r.stop
        r.step
        r.count(4)
        r.index(4)
        r.index(5)
        r.index()
        r[1]
        r[-1]
        r[9]
        r[1:]
        r[::-1]
        len(r)
        4 in r
        5.0 in r
        "a" in r
        r==range(1,10,3)
        r==range(1,11,3)
        hash(r)==hash(range(1,10,3))
        repr(r)
        list(r)
        bool(range(0))
        range()
        range(1,2,0)
        range(1.5)
        range("a")
        range(1,2,3,4)
        range(stop=3)
        r.__len__()
        r.__contains__(4)
        r.__getitem__(1)
        r.__iter__()
        r.__reversed__()
        list(reversed(r))
        r+r
        r["a"]
        tuple(r)
        sum(r)
        max(r)
        range(10**20)[5]
        len(range(10**20))
        range(True)
        type(r) is range
        """,
    ),
    "slice": (
        "s=slice(1,5,2)",
        None,
        r"""
        s.start
        s.stop
        s.step
        s.indices(10)
        s.indices(3)
        s.indices(-1)
        s.indices("a")
        s.indices()
        slice(None).indices(4)
        s==slice(1,5,2)
        s<slice(2)
        repr(s)
        slice()
        slice(1,2,3,4)
        slice(3)
        hash(s)
        slice("a").indices(3)
        slice(None,None,0).indices(3)
        [1,2,3][slice(1,None)]
        type(s) is slice
        """,
    ),
}
STATEMENTS = {
    "set": (
        "s={1,2,3}",
        "s",
        r"""
        s|={4}
        s|=[4]
        s&={1}
        s-={1}
        s^={1,9}
        for k in s: s.add(k+10)
        s=frozenset(s); s|={7}
        s-=s
        s^=s
        """,
    ),
}


test_expression = each_line_of(EXPRESSIONS, check_expression, globals())
test_statement = each_line_of(STATEMENTS, check_statement, globals())

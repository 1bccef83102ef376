"""collections: Counter, defaultdict, OrderedDict, ChainMap, namedtuple, deque."""

import collections

from .programs import check_expression, check_statement, each_line_of

NT = collections.namedtuple("NT", "a b", defaults=[5])

# what is compared: (statements before, what to look at afterwards, expressions)
EXPRESSIONS = {
    "Counter": (
        'c=collections.Counter("aabc")',
        "c",
        r"""
        c["a"]
        c["z"]
        c.most_common()
        c.most_common(1)
        sorted(c.elements())
        c.update("ab")
        c.update({"a":5})
        c.update(a=3)
        c.subtract("a")
        c.total()
        c+collections.Counter("a")
        c-collections.Counter("aa")
        c&collections.Counter("a")
        c|collections.Counter("zz")
        +c
        -c
        c==collections.Counter("abca")
        c<collections.Counter("aabcd")
        c.copy()
        len(c)
        list(c)
        dict(c)
        c.items()
        c.pop("a")
        repr(c)
        collections.Counter()
        collections.Counter(a=1)
        collections.Counter({"a":2})
        collections.Counter([1,1,2])
        collections.Counter(3)
        collections.Counter(1,2)
        isinstance(c,dict)
        type(c).__name__
        c.fromkeys("a")
        "a" in c
        sum(c.values())
        max(c,key=c.get)
        c.clear()
        """,
    ),
    "defaultdict": (
        "d=collections.defaultdict(list)",
        "d",
        r"""
        d["a"]
        d["a"].append(1)
        d.get("a")
        d.default_factory
        len(d)
        d.setdefault("a",3)
        d.pop("z",1)
        "a" in d
        d.copy()
        d|{"a":1}
        {"q":1}|d
        d.update(a=1)
        dict(d)
        d=={}
        type(d).__name__
        isinstance(d,dict)
        collections.defaultdict()
        collections.defaultdict(None)["a"]
        collections.defaultdict(int,{"a":1})
        collections.defaultdict(int,a=1)["b"]
        collections.defaultdict(3)
        collections.defaultdict(int,3)
        d.__missing__("a")
        collections.defaultdict(lambda: 7)["a"]
        list(d.items())
        collections.defaultdict(int,[("a",1)])
        d.clear()
        d.keys()
        d.foo
        """,
    ),
    "OrderedDict": (
        "d=collections.OrderedDict(a=1,b=2,c=3)",
        "d",
        r"""
        d["a"]
        d.move_to_end("a")
        d.move_to_end("c",last=False)
        d.move_to_end("z")
        d.popitem()
        d.popitem(last=False)
        d.popitem(False)
        list(d)
        list(d.items())
        list(reversed(d))
        d==collections.OrderedDict(b=2,a=1,c=3)
        d=={"b":2,"a":1,"c":3}
        d!=collections.OrderedDict()
        d.update(z=1)
        d.pop("a")
        d.pop("z",5)
        d.pop("z")
        d.setdefault("q",1)
        d.copy()
        d|{"z":1}
        {"z":1}|d
        collections.OrderedDict()
        collections.OrderedDict([("a",1)])
        collections.OrderedDict({"a":1},b=2)
        collections.OrderedDict(3)
        type(d).__name__
        isinstance(d,dict)
        len(d)
        "a" in d
        d.clear()
        d.get("a")
        d.keys()
        d.foo
        list(d.values())
        next(iter(d))
        dict(d)
        """,
    ),
    "ChainMap": (
        "c=collections.ChainMap({1:2},{3:4,1:9})",
        "c.maps",
        r"""
        c[3]
        c[1]
        c[9]
        c.get(9)
        c.get(1)
        len(c)
        list(c)
        list(c.items())
        1 in c
        c.maps
        c.new_child({5:6})
        c.parents
        c.copy()
        bool(c)
        dict(c)
        c.pop(1)
        c.pop(3)
        c.popitem()
        c=={1:2,3:4}
        c|{7:8}
        repr(c)
        type(c).__name__
        collections.ChainMap()
        c.clear()
        c.keys()
        sorted(c.values())
        isinstance(c,collections.abc.Mapping)
        c.setdefault(9,1)
        c.update({1:5})
        c.foo
        """,
    ),
    "namedtuple": (
        "n=NT(1,2)",
        None,
        r"""
        n._fields
        n._asdict()
        n._replace(a=4)
        n._replace(z=1)
        NT._make([1,2])
        NT._make([1])
        NT._fields
        NT._field_defaults
        n.a
        n[0]
        a+b if (a:=n[0]) and (b:=n[1]) else 0
        n==(1,2)
        n+(3,)
        repr(n)
        len(n)
        NT(1)
        NT()
        NT(1,2,3)
        NT(c=1)
        NT(a=1,b=2)
        n.count(1)
        n.index(2)
        hash(n)==hash((1,2))
        isinstance(n,tuple)
        type(n) is NT
        n._source
        n.foo
        list(n)
        n<(2,)
        {n:1}[(1,2)]
        copy.copy(n)
        n.__doc__
        NT.a
        getattr(n,"b")
        n[::-1]
        n*2
        """,
    ),
    "deque": (
        "d=collections.deque([1,2,3])",
        "d",
        r"""
        d.append(4)
        d.appendleft(0)
        d.extend([1])
        d.extendleft([1,2])
        d.pop()
        d.popleft()
        collections.deque().pop()
        d.rotate(1)
        d.rotate(-1)
        d.rotate("a")
        d.count(1)
        d.index(2)
        d.index(9)
        d.index(1,1)
        d.insert(1,9)
        d.insert(-1,9)
        d.remove(2)
        d.remove(9)
        d.reverse()
        d.copy()
        copy.copy(d)
        d.clear()
        d[0]
        d[9]
        d["a"]
        d[0:1]
        d+collections.deque([4])
        d+[1]
        d*2
        2*d
        d==collections.deque([1,2,3])
        d<collections.deque([2])
        d!=[1,2,3]
        len(d)
        2 in d
        bool(d)
        list(d)
        list(reversed(d))
        d.maxlen
        collections.deque(maxlen=2).maxlen
        collections.deque([1,2,3],2)
        collections.deque([1],-1)
        collections.deque(3)
        collections.deque([1],"a")
        collections.deque(1,2,3)
        d.append()
        d.pop(1)
        type(d).__name__
        hash(d)
        d.foo
        collections.deque([1,2],maxlen=2).insert(0,1)
        d.__len__()
        sum(d)
        max(d)
        sorted(d,reverse=True)
        tuple(d)
        d.__reversed__()
        d.__copy__()
        d.__contains__(1)
        """,
    ),
}
STATEMENTS = {
    "Counter": (
        'c=collections.Counter("aabc")',
        "c",
        r"""
        c["a"]+=1
        c["q"]+=1
        del c["zz"]
        c+=collections.Counter("a")
        c-=collections.Counter("aa")
        for ch in "hello": c[ch]+=1
        """,
    ),
    "defaultdict": (
        "d=collections.defaultdict(list)",
        "d",
        r"""
        for ch in "hello": d[ch].append(1)
        d["a"]=5
        del d["q"]
        d|={"z":1}
        """,
    ),
    "OrderedDict": (
        "d=collections.OrderedDict(a=1,b=2)",
        "d",
        r"""
        d["z"]=1
        del d["a"]
        d["a"]=9
        d|={"q":1}
        for k in d: d["q"]=1
        """,
    ),
    "deque": (
        "d=collections.deque([1,2])",
        "d",
        r"""
        d[0]=9
        del d[1]
        d+=[4]
        d*=2
        for v in d: d.append(1)
        d+=d
        d[9]=1
        """,
    ),
}


test_expression = each_line_of(EXPRESSIONS, check_expression, globals())
test_statement = each_line_of(STATEMENTS, check_statement, globals())

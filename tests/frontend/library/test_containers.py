"""Methods, operators and errors of list, tuple and dict."""

from .programs import check_expression, check_statement, each_line_of

# what is compared: (statements before, what to look at afterwards, expressions)
EXPRESSIONS = {
    "list": (
        "l=[3,1,2,1]",
        "l",
        r"""
        l.append(1)
        l.append()
        l.append(1,2)
        l.extend((1,2))
        l.extend(3)
        l.extend()
        l.extend(l)
        l.insert(1,9)
        l.insert(-1,9)
        l.insert(100,9)
        l.insert(1)
        l.insert("a",1)
        l.pop()
        l.pop(0)
        l.pop(-2)
        l.pop(10)
        l.pop("a")
        [].pop()
        l.remove(1)
        l.remove(9)
        l.remove()
        l.clear()
        l.index(1)
        l.index(1,2)
        l.index(1,2,3)
        l.index(9)
        l.index(1,-1)
        l.count(1)
        l.count()
        l.sort()
        l.sort(reverse=True)
        l.sort(key=lambda v:-v)
        l.sort(1)
        l.sort(foo=1)
        l.sort(key=3)
        l.reverse()
        l.copy()
        l.reverse(1)
        l+[1]
        l+(1,)
        l*2
        2*l
        l*-1
        l*1.5
        l==[3,1,2,1]
        l<[3,2]
        l!=[1]
        l[1:3]
        l[::-1]
        l["a"]
        l[10]
        l[1.0]
        l.__len__()
        l.__getitem__(1)
        l.__contains__(3)
        l.__add__([1])
        l.__eq__([1])
        l.__mul__(2)
        l.__iadd__([5])
        l.__reversed__()
        list(reversed(l))
        l.__iter__()
        hash(l)
        repr(l)
        str(l)
        f"{l}"
        bool(l)
        l.__setitem__(0,5)
        l.__delitem__(0)
        l.foo
        l.foo()
        list(1)
        list(1,2)
        list("abc")
        list(x=1)
        list({1:2})
        sorted(l)
        sorted(l,reverse=1)
        sorted(l,lambda v:v)
        sorted()
        sorted(3)
        sorted([1,"a"])
        3 in l
        l.__class__
        type(l) is list
        isinstance(l,(list,tuple))
        list.append(l,5)
        list.append(5,l)
        list.append()
        list.index(l,1)
        l is l.copy()
        max(l)
        min(l,key=lambda v:-v)
        sum(l)
        sum(l,5)
        sum(l,start=5)
        sum(["a"],"")
        sum([[1],[2]],[])
        sum(3)
        sum([1,"a"])
        max([])
        max([],default=3)
        max()
        max(1,2,default=3)
        max(1,2,foo=3)
        min("b","a")
        max("abc",key=ord)
        any(l)
        all([])
        any(3)
        len(3)
        len()
        len(l,l)
        enumerate(l).__next__()
        list(enumerate(l,5))
        list(enumerate(l,start=-2))
        enumerate()
        enumerate(l,"a")
        enumerate(l,1,2)
        enumerate(3)
        list(zip(l,"ab"))
        list(zip())
        zip(3)
        list(zip(l,[1],strict=True))
        list(map(lambda a,b:a+b,l,[1,2]))
        map(1)
        list(map(1,[2]))
        map()
        list(filter(None,l))
        filter(None)
        list(filter(lambda v:v>1,l))
        reversed(3)
        list(reversed("abc"))
        list(reversed((1,2)))
        list(reversed({1:2,3:4}))
        list(reversed(range(5)))
        reversed({1})
        iter(3)
        next([])
        next(iter([]),5)
        type(iter([])).__name__
        type(reversed([])).__name__
        type(iter(())).__name__
        type(iter({})).__name__
        type(iter("a")).__name__
        type(iter(range(3))).__name__
        type(enumerate([])).__name__
        type(zip()).__name__
        type(reversed(())).__name__
        type(iter(set())).__name__
        type(iter({}.items())).__name__
        type(iter({}.values())).__name__
        type(iter(b"")).__name__
        type({}.items()).__name__
        """,
    ),
    "tuple": (
        "t=(3,1,2,1)",
        None,
        r"""
        t.index(1)
        t.index(1,2)
        t.index(1,2,3)
        t.index(9)
        t.index()
        t.count(1)
        t+(1,)
        t+[1]
        t*2
        2*t
        t[1:]
        t[9]
        t["a"]
        t==(3,1,2,1)
        t<(4,)
        t<[4]
        hash(t)
        hash(([],))
        repr(t)
        str((1,))
        tuple("ab")
        tuple(3)
        tuple(1,2)
        t.__len__()
        t.__getitem__(0)
        t.__contains__(3)
        t.__add__((1,))
        t.__eq__(3)
        t.foo
        t.__class__.__name__
        f"{t}"
        "%s %s"%(1,2)
        "%s"%(t,)
        t.__hash__()
        t.__iter__()
        t.__getnewargs__()
        t.__mul__(2)
        1 in t
        sorted(t)
        tuple(t) is t
        t[:] is t
        """,
    ),
    "dict": (
        'd={"a":1,"b":2}',
        "d",
        r"""
        d.get("a")
        d.get("z")
        d.get("z",5)
        d.get()
        d.get(1,2,3)
        d.setdefault("a",5)
        d.setdefault("z",5)
        d.setdefault("z")
        d.setdefault()
        d.pop("a")
        d.pop("z")
        d.pop("z",1)
        d.pop()
        d.popitem()
        {}.popitem()
        d.popitem(1)
        d.update({"c":3})
        d.update(c=3)
        d.update([("c",3)])
        d.update([("c",3,4)])
        d.update([1])
        d.update(3)
        d.update({"c":1},d=4)
        d.update(1,2)
        d.update(["ab"])
        d.clear()
        d.copy()
        d.keys()
        d.values()
        d.items()
        list(d)
        list(d.items())
        d.keys()|{"z"}
        d.keys()&["a"]
        d.items()-{("a",1)}
        d.keys()^{"a"}
        d.keys()-["a"]
        d.keys().isdisjoint(["q"])
        d=={"b":2,"a":1}
        d!=3
        d<3
        d|{"q":1}
        d|3
        3|d
        d["a"]
        d["z"]
        d[[]]
        d.__getitem__("a")
        d.__contains__("a")
        d.__len__()
        d.__setitem__("q",1)
        d.__delitem__("a")
        d.__or__({"q":1})
        d.__or__(3)
        d.__eq__(3)
        d.__iter__()
        list(reversed(d))
        list(reversed(d.items()))
        list(reversed(d.values()))
        len(d.items())
        ("a",1) in d.items()
        "a" in d.keys()
        1 in d.values()
        hash(d)
        repr(d)
        str(d)
        f"{d}"
        bool(d)
        dict(d)
        dict(d,c=3)
        dict(a=1)
        dict([("a",1)])
        dict([1])
        dict(3)
        dict(1,2)
        dict([("a",1,2)])
        dict(zip("ab",[1,2]))
        dict.fromkeys("ab")
        dict.fromkeys("ab",3)
        dict.fromkeys(3)
        dict.fromkeys()
        d.fromkeys([1])
        d.foo
        d.__class__
        type(d) is dict
        {**d,"a":9}
        d.keys().foo
        d.keys()=={"a","b"}
        d.items()<=d.items()
        next(iter(d))
        sum(d.values())
        max(d,key=d.get)
        sorted(d.items(),key=lambda kv:-kv[1])
        d.keys().__len__()
        d.keys().__contains__("a")
        d.values().__len__()
        dict.get(d,"a")
        dict.update(d,{"x":1})
        dict.keys(d)
        {1:2}|{3:4}
        {k:v for k,v in d.items()}
        d.__ior__({"q":1})
        d.__reversed__()
        {1:1,1.0:2,True:3}
        {}.get([])
        d.pop([])
        d.setdefault([],1)
        [] in d
        """,
    ),
}
STATEMENTS = {
    "list": (
        "l=[3,1,2,1]",
        "l",
        r"""
        l[1:3]=[7,8,9]
        del l[1:3]
        l[::2]=[7,8]
        l[::2]=[7,8,9]
        del l[::2]
        l[-1]=5
        l+=(1,2)
        l+=3
        l*=2
        l*=1.5
        del l[9]
        l[:]=l
        l[0:1]=3
        a,*b=l; l=(a,b)
        a,b=l
        a,b,c,d,e=l
        l=l[::0]
        l[1:2]=(v for v in [1,2])
        l=l<3
        """,
    ),
    "tuple": (
        "t=(3,1)",
        "t",
        r"""
        t[0]=1
        del t[0]
        t+=(1,)
        t+=[1]
        """,
    ),
    "dict": (
        'd={"a":1,"b":2}',
        "d",
        r"""
        del d["a"]
        del d["z"]
        d|={"c":3}
        d|=[("c",3)]
        d|=3
        for k in d: d["q"]=1
        for k in d: d[k]=5
        for k in d: del d[k]
        d["a"]=9
        d.pop("a"); d["a"]=3
        """,
    ),
}


test_expression = each_line_of(EXPRESSIONS, check_expression, globals())
test_statement = each_line_of(STATEMENTS, check_statement, globals())

"""str, bytes, formatting, and builtin functions of all sorts."""

import pytest

from .programs import check_expression, lines

# what is compared: (statements before, what to look at afterwards, expressions)
EXPRESSIONS = {
    "str": (
        's="Hello, World"',
        None,
        r"""
        s.upper()
        s.lower()
        s.title()
        s.capitalize()
        s.swapcase()
        s.casefold()
        s.center(20,"*")
        s.ljust(20)
        s.rjust(20)
        s.zfill(20)
        s.strip("H")
        s.lstrip()
        s.rstrip("d")
        s.split(", ")
        s.split()
        s.rsplit(",",1)
        s.splitlines()
        s.partition(",")
        s.rpartition("o")
        s.find("o")
        s.rfind("o")
        s.index("z")
        s.rindex("o")
        s.count("l")
        s.replace("l","L",1)
        s.startswith("He")
        s.startswith(("a","H"))
        s.endswith("d",2)
        s.encode()
        s.encode("ascii","ignore")
        s.encode("zz")
        s.expandtabs()
        s.format()
        "{} {a}".format(1,a=2)
        "{0[0]} {1.real}".format([5],3)
        "{}".format([1,2])
        "{}".format()
        "{:>5}|{:<5}|{:^5}".format(1,2,3)
        "{a}".format_map({"a":1})
        s.isalpha()
        "12".isdigit()
        "12".isnumeric()
        "12".isdecimal()
        "ab1".isalnum()
        s.isascii()
        s.isidentifier()
        s.islower()
        s.isupper()
        s.isspace()
        s.istitle()
        s.isprintable()
        s.join(["a","b"])
        ",".join("abc")
        ",".join(str(i) for i in range(3))
        ",".join([1])
        ",".join(3)
        s.maketrans("a","b")
        "abc".translate(str.maketrans("a","x"))
        "abc".translate({97:"z"})
        str.maketrans({"a":None})
        s.removeprefix("He")
        s.removesuffix("ld")
        s[0]
        s[-1]
        s[1:5]
        s[::-1]
        s[99]
        s["a"]
        s+"x"
        s+1
        s*2
        s%()
        "%s %d %r"%("a",3,"b")
        "%s"%[1]
        "%(a)s"%{"a":1}
        "%d"%"a"
        "%5.2f|%-5s|%05d"%(1.5,"a",3)
        "%s"%None
        len(s)
        "o" in s
        1 in s
        s=="a"
        s<"a"
        s<1
        hash(s)==hash("Hello, World")
        repr(s)
        ascii("é")
        str(3)
        str([1])
        str(b"a","utf8")
        str(b"a")
        str()
        str(1,2,3)
        s.upper
        s.foo
        s.foo()
        s.upper(1)
        s.center()
        s.split(1)
        str.upper(s)
        str.upper(3)
        str.join(",",["a"])
        list(s)
        sorted("bca")
        max("abc")
        [c for c in "abc"]
        "a" "b"
        s.__len__()
        s.__contains__("H")
        s.__add__("a")
        s.__mod__(())
        s.__getitem__(0)
        s.__eq__(3)
        s.__hash__()==hash(s)
        s.__iter__()
        s.__format__(">20")
        f"{s!r:>20}"
        f"{s:{20}}"
        f"{3:#x}"
        f"{3!s}"
        f"{[1,2]}"
        f"{(1,)}"
        f"{ {1:2} }"
        f"{None}"
        s.encode().decode()
        "a".__class__
        s.__doc__[:5]
        tuple("ab")
        dict(zip("ab",range(2)))
        set("a")
        enumerate("ab").__next__()
        "ß".upper()
        str.__name__
        "abc".find("c",0,2)
        "abc".split(sep="b",maxsplit=1)
        "a\tb".expandtabs(tabsize=4)
        "x".zfill("a")
        """,
    ),
    "bytes": (
        'b=b"abc"',
        None,
        r"""
        b.decode()
        b.hex()
        b.hex("-")
        bytes.fromhex("6162")
        bytes.fromhex("zz")
        b[0]
        b[1:]
        b+b"d"
        b+"d"
        b*2
        b.upper()
        b.find(b"c")
        b.find(99)
        b.split(b"b")
        b.join([b"x",b"y"])
        b.replace(b"a",b"z")
        b.startswith(b"a")
        b.strip(b"a")
        bytes(3)
        bytes([1,2])
        bytes("a","utf8")
        bytes("a")
        bytes()
        bytes(b"x")
        bytes([300])
        bytes(-1)
        bytes(range(3))
        bytes(x for x in [1,2])
        len(b)
        97 in b
        b"b" in b
        list(b)
        b==b"abc"
        b<b"b"
        hash(b)==hash(b"abc")
        repr(b)
        b.translate(None,b"a")
        b.count(b"a")
        b.partition(b"b")
        b.isalpha()
        b.center(9)
        b.decode("zz")
        b"\xff".decode()
        b%()
        b"%d"%3
        b.foo
        b.__len__()
        bytes.maketrans(b"a",b"b")
        int.from_bytes(b,"big")
        b.rjust(5,b"-")
        b.zfill(5)
        b.title()
        b.endswith((b"c",b"d"))
        b.splitlines()
        b.removeprefix(b"a")
        b.index(b"z")
        sum(b)
        max(b)
        sorted(b)
        tuple(b)
        """,
    ),
    "misc": (
        "class_=int",
        None,
        r"""
        iter([1,2].pop,1)
        callable(len)
        callable(3)
        callable()
        isinstance(1,"a")
        issubclass(bool,(int,str))
        issubclass(1,int)
        getattr(3,"real")
        getattr(3,"foo")
        getattr(3,"foo",5)
        getattr(3)
        hasattr(3,"real")
        object()==3
        type(3)
        repr(None)
        ascii("é")
        slice(1).stop
        print
        len.__name__
        abs.__doc__[:3]
        sorted.__module__
        max.__self__ is not None
        min is min
        int is int
        any(x for x in [0,1])
        all(x for x in [0,1])
        sum(x for x in [0,1])
        list(x for x in [0,1])
        zip.__name__
        NotImplemented
        ...
        Ellipsis is ...
        __debug__
        type(None)
        type(...)
        type(NotImplemented)
        type(lambda:0)
        type(len)
        type([].append)
        type(type)
        isinstance(type,type)
        object
        super
        property
        staticmethod
        list[int]
        int|None
        typing.cast(int,"a")
        typing.cast("int",3)
        isinstance([],collections.abc.Sequence)
        issubclass(int,collections.abc.Hashable)
        isinstance(3,typing.SupportsInt)
        string.ascii_letters[:3]
        string.capwords("a b c")
        sys.maxsize
        types.SimpleNamespace(a=1).a
        types.SimpleNamespace(a=1)==types.SimpleNamespace(a=1)
        types.MethodType(len,[1])()
        copy.copy([1])
        copy.copy({1:2})
        copy.copy({1})
        copy.copy((1,))
        copy.copy("a")
        copy.copy(len)
        copy.copy(int)
        copy.copy(collections.deque([1]))
        collections.namedtuple
        functools.WRAPPER_ASSIGNMENTS
        operator.add.__name__
        random.Random(3).random()
        random.Random(3).randint(1,6)
        random.Random(3).choice([1,2,3])
        random.Random(3).sample(range(9),3)
        random.Random(3).uniform(1,2)
        random.Random(3).gauss(0,1)
        random.Random(3).getrandbits(9)
        random.Random("a").random()
        random.Random(3).shuffle([1,2,3])
        """,
    ),
}


@pytest.mark.parametrize(
    ("kind", "expression"), [(kind, e) for kind, (_, _, table) in EXPRESSIONS.items() for e in lines(table)]
)
def test_expression(kind, expression):
    setup, shown, _ = EXPRESSIONS[kind]
    check_expression(globals(), setup, expression, shown)

"""enum, dataclasses, functools, hash()."""

import collections
import dataclasses
import enum
import functools

import minidynamo as torch
from frontend.differential import same

from .programs import check_expression, check_statement, each_line_of


class En(enum.Enum):
    R = 1
    G = 2
    ALIAS = 1


class IE(enum.IntEnum):
    R = 1
    G = 2


class SE(enum.StrEnum):
    A = "a"
    B = "b"


class Fl(enum.Flag):
    R = 1
    G = 2
    B = 4
    RG = 3


class IFl(enum.IntFlag):
    R = 1
    G = 2


def match_(v):
    match v:
        case En.R:
            return 1
        case _:
            return 2


@dataclasses.dataclass
class DC:
    a: int
    b: int = 3
    c: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, order=True)
class FD:
    a: int
    b: int = 2


@dataclasses.dataclass
class DD(DC):
    d: int = 4

    def __post_init__(self):
        self.d *= 2


@dataclasses.dataclass(slots=True)
class SD:
    a: int = 1


@functools.singledispatch
def sd(a):
    return "base"


@sd.register
def _(a: int):
    return "int"


@sd.register(list)
def _(a):
    return "list"


@sd.register(collections.abc.Mapping)
def _(a):
    return "mapping"


class CP:
    def __init__(s):
        s.n = 0

    @functools.cached_property
    def f(s):
        s.n += 1
        return 3

    @functools.singledispatchmethod
    def g(s, a):
        return "b"

    @g.register
    def _(s, a: int):
        return "i"

    pm = functools.partialmethod(lambda s, a, b: (a, b), 1)


gcp = CP()


class TO:
    def __init__(s, v):
        s.v = v

    def __lt__(s, o):
        return s.v < o.v

    def __eq__(s, o):
        return s.v == o.v

    def __hash__(s):
        return hash(s.v)


TO = functools.total_ordering(TO)

# what is compared: (statements before, what to look at afterwards, expressions)
EXPRESSIONS = {
    "enum": (
        "pass",
        None,
        r"""
        En.R
        En(1)
        En(En.R)
        dict.fromkeys([En.R,En.G,En.R])
        En["R"]
        En.R.value
        En.R.name
        En(9)
        En["Z"]
        En.R is En(1)
        En.R==En.G
        En.R==1
        En.R<En.G
        list(En)
        len(En)
        En.R in En
        En.__members__
        isinstance(En.R,En)
        repr(En.R)
        str(En.R)
        f"{En.R}"
        hash(En.R)==hash(En.R)
        En.ALIAS
        En.ALIAS is En.R
        En.Q
        type(En.R)
        IE.R+1
        IE.R==1
        IE.R<IE.G
        IE(2)
        IE.R.value
        int(IE.G)
        x+IE.G
        x*IE.R
        [1,2,3][IE.R]
        range(IE.G)
        max(IE)
        sum(IE)
        f"{IE.R}"
        str(IE.R)
        repr(IE.R)
        IE.R|IE.G
        -IE.G
        IE.G**2
        divmod(IE.G,2)
        bool(IE.R)
        SE.A=="a"
        SE.A+"x"
        SE.A.upper()
        SE("a")
        f"{SE.A}"
        SE.A in ("a","b")
        {"a":1}[SE.A]
        Fl.R|Fl.G
        (Fl.R|Fl.G).value
        Fl.R&Fl.G
        Fl.R^Fl.RG
        ~Fl.R
        Fl.R in Fl.RG
        bool(Fl.R&Fl.G)
        Fl(5)
        Fl(0)
        list(Fl.RG)
        len(Fl.RG)
        repr(Fl.R|Fl.B)
        str(Fl.RG)
        (Fl.R|Fl.B).name
        Fl.RG is (Fl.R|Fl.G)
        Fl(99)
        IFl.R|IFl.G
        IFl.R|4
        IFl.R+1
        x+IFl.G
        IFl.R&1
        ~IFl.R
        (IFl.R|IFl.G)==3
        isinstance(IFl.R,int)
        En.R.__class__
        [e.name for e in En]
        En.R.__hash__() is not None
        En._member_names_
        enum.auto
        match_(En.R)
        """,
    ),
    "dataclass": (
        "d=DC(1)",
        "d",
        r"""
        d
        d.a
        dataclasses.replace(d,a=5)
        dataclasses.replace(d,z=5)
        len(dataclasses.fields(d))
        [f.name for f in dataclasses.fields(d)]
        dataclasses.asdict(d)
        dataclasses.astuple(d)
        dataclasses.is_dataclass(d)
        dataclasses.is_dataclass(DC)
        dataclasses.asdict(DC(DC(1),2,[DC(3)]))
        d==DC(1)
        d!=DC(2)
        repr(d)
        FD(1)<FD(2)
        FD(1)
        FD(1)==FD(1)
        DD(1,d=3).d
        DD(1)
        DC()
        DC(1,2,3,4)
        DC(a=1,z=2)
        hash(d)
        SD(3).a
        SD()
        copy.copy(d)
        d.__dataclass_fields__.keys()
        dataclasses.replace(FD(1),b=9)
        dataclasses.asdict(3)
        d.__dict__
        vars(d)
        FD.__match_args__
        [f.default for f in dataclasses.fields(FD(1))]
        """,
    ),
    "functools": (
        "p=functools.partial(lambda *a,**k:(a,k),1,b=2)",
        None,
        r"""
        p(3)
        p(3,b=4,c=5)
        p.func(1)
        p.args
        p.keywords
        functools.partial(p,5,z=1)(6)
        p.__class__
        p.foo
        functools.partial(3)
        functools.reduce(operator.add,[1,2,3])
        functools.reduce(operator.add,[],5)
        functools.reduce(operator.add,[])
        functools.reduce(operator.add,3)
        functools.reduce(lambda a,b:a+[b],[1,2],[])
        sd(1)
        sd("a")
        sd([])
        sd({})
        sd(True)
        sd.dispatch(int)(3)
        sd()
        gcp.f+gcp.n
        TO(1)<=TO(2)
        TO(1)>TO(2)
        TO(1)>=TO(1)
        hash(TO(3))
        max([TO(1),TO(2)]).v
        min(TO(3),TO(2)).v
        inspect.isfunction(prog)
        inspect.isclass(CP)
        inspect.ismethod(CP().g)
        """,
    ),
    "hash": (
        "pass",
        None,
        r"""
        hash(TO(3))
        hash(object)==hash(object)
        hash([])
        hash({})
        hash(None)==hash(None)
        hash(len)==hash(len)
        hash(CP)==hash(CP)
        hash("a")==hash("a")
        TO(1) in [TO(1)]
        [TO(1)].index(TO(1))
        (TO(1),).count(TO(1))
        [TO(1)]==[TO(1)]
        {1:TO(1)}=={1:TO(1)}
        (TO(1),2)<(TO(1),3)
        """,
    ),
}
STATEMENTS = {
    "dataclass": (
        "d=DC(1)",
        "d",
        r"""
        d.a=9
        f=FD(1); f.a=2
        del d.a
        f=FD(1); del f.a
        """,
    ),
}


test_expression = each_line_of(EXPRESSIONS, check_expression, globals())
test_statement = each_line_of(STATEMENTS, check_statement, globals())


def test_a_method_dispatched_by_type():
    """CPython 3.13 keeps what it found in a WeakKeyDictionary, whose keys hash as the program says: a break there."""

    def f(x):
        return x + 1, CP().g(1), CP().g("a")

    caches = hasattr(vars(CP)["g"], "_method_cache")
    same(f, lambda: (torch.ones(3),), breaks=["GB0147"] if caches else [])

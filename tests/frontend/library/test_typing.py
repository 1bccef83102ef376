"""Types as annotations have them, in traced code: subscripts, isinstance(), what they are made of."""

import abc
import collections.abc
import sys
import typing
from typing import Generic, NewType, Protocol

import pytest

import minidynamo as torch
from frontend.differential import same

T = typing.TypeVar("T")


class Box(Generic[T]):
    def __init__(self, value):
        self.value = value


@typing.runtime_checkable
class Goes(Protocol):
    def go(self, x): ...


@typing.runtime_checkable
class Has(Protocol):
    number: int


class Goer:
    def go(self, x):
        return x


class Holder:
    def __init__(self):
        self.number = 4


class Base(abc.ABC):
    @abc.abstractmethod
    def go(self, x): ...


class Registered:
    pass


Base.register(Registered)
UserId = NewType("UserId", int)
USED = """Annotated Callable Dict Hashable Iterator List Literal Mapping Optional Sequence Sized Tuple Union cast
get_args get_origin"""
NAMES = {
    **{n: v for n, v in globals().items() if not n.startswith("_")},
    **{n: getattr(typing, n) for n in USED.split()},
    "goer": Goer(),
    "holder": Holder(),
    "abstract": collections.abc,
}
NAMES["ALIAS"] = eval("Union[int, List[int]]", dict(NAMES))

EXPRESSIONS = """
get_args(Annotated[int, "meta"])
get_args(Dict[str, int]), get_args(list[int]), get_args(int | str), get_args(Tuple[int, ...]), get_args(Literal["a"])
get_origin(Union[int, str]) is Union, get_origin(List[int]) is list, get_origin(Callable[[int], str]), get_origin(int)
Union[int, str] == Union[str, int], Optional[int] == Union[int, None], List[int] == List[str]
get_args(ALIAS)[0], ALIAS.__args__[1].__origin__
(int | str).__args__, list[int].__origin__
abstract.Callable[[int], str].__args__
isinstance({}, Mapping), isinstance([], Mapping), isinstance([], (str, Hashable)), isinstance((), Sequence)
isinstance(3, Union[int, str]), isinstance(x, Optional[int]), isinstance(3, int | str), isinstance(None, Optional[int])
isinstance((i for i in []), Iterator), isinstance(len, Callable), isinstance(x, Sized), isinstance(goer, Callable)
issubclass(dict, Mapping), issubclass(list, Union[int, list]), issubclass(Registered, Base)
isinstance(Registered(), Base), isinstance(goer, Base), len(Goer.__annotations__), len(Goes.__annotations__)
UserId(3) + 1, UserId.__name__, UserId(x) is x
Box[int](3).value, Box[int] is Box[int], Box[int](3).__orig_class__.__args__
list[int]([1, 2]), dict[str, int](a=1), cast(List[int], x) is x
""".strip().splitlines()

REFUSED = """
int[3]
Goer[int]
Box[int, str]
List[int, str]
"""


def function(expression):
    names = dict(NAMES)
    exec(f"def program(x):\n    y = {expression}\n    return x + 1, y\n", names)
    return names["program"]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_in_one_graph(expression):
    same(function(expression), lambda: (torch.ones(2),), frames=1, breaks=(), backends=("eager",))


def test_protocols():
    """From 3.12 on its members are looked up by inspect.getattr_static(), which breaks."""
    whole = sys.version_info < (3, 12)
    asked = ("goer, Goes", "holder, Goes", "holder, Has", "goer, Has")
    program = function(", ".join(f"isinstance({pair})" for pair in asked))
    same(program, lambda: (torch.ones(2),), breaks=() if whole else None, backends=("eager",))


@pytest.mark.parametrize("expression", REFUSED.strip().splitlines())
def test_refused(expression):
    names = {**NAMES}
    exec(
        f"def program(x):\n    try:\n        {expression}\n    except TypeError as e:\n        return x + 1, str(e)\n",
        names,
    )
    same(names["program"], lambda: (torch.ones(2),), frames=1, breaks=(), backends=("eager",))


def test_another_type_is_seen():
    compiled = torch.compile(lambda x, kind: x + isinstance(3, kind), backend="eager", fullgraph=True)
    x = torch.zeros(1)
    for text in ("Union[int, str]", "Union[str, bytes]", "Hashable", "Mapping", "int | str", "str | None"):
        kind = eval(text, dict(NAMES))
        assert compiled(x, kind).item() == isinstance(3, kind)

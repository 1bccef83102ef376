"""Any function with any arguments answers or raises a proper Python exception: no crash, no SystemError."""

import random
import types

import numpy as np
import pytest

import minidynamo as torch

pytestmark = pytest.mark.filterwarnings("ignore")
PROPER = (
    TypeError,
    BufferError,
    ValueError,
    IndexError,
    RuntimeError,
    NotImplementedError,
    ZeroDivisionError,
    OverflowError,
    MemoryError,
    AttributeError,
    KeyError,
    AssertionError,  # of devices that are not there
)


def pool():
    """Fresh objects of every kind, small enough that any op on them is quick."""
    return [
        torch.ones(2, 3),
        torch.arange(6).reshape(2, 3),
        torch.tensor(2.5),
        torch.tensor(3),
        torch.zeros(0),
        torch.zeros(2, 0),
        torch.ones(2, 3) > 0,
        torch.ones(3, 2).t(),
        torch.ones(1).expand(3),
        torch.ones(2, 2, 2),
        torch.ones(3, dtype=torch.float64),
        torch.ones(3, requires_grad=True),
        0,
        1,
        -1,
        2,
        5,
        2**40,
        -(2**63),
        2**70,
        0.5,
        -2.5,
        float("nan"),
        float("inf"),
        True,
        False,
        None,
        ...,
        "a",
        "floor",
        "",
        b"a",
        1j,
        [],
        [1],
        [1, 2],
        (0, 1),
        (2, 3),
        (-1,),
        [1.5],
        [None],
        [torch.ones(2), torch.ones(2)],
        ((),),
        slice(None),
        slice(1, None, 2),
        {},
        {"a": 1},
        set(),
        object(),
        int,
        torch.Tensor,
        torch.float32,
        torch.int64,
        torch.bool,
        torch.float16,
        torch.complex64,
        torch.qint8,
        torch.device("cpu"),
        torch.device("cuda"),
        torch.strided,
        torch.Size([2, 3]),
        np.float32(1.5),
        np.int64(2),
        np.bool_(True),
        np.ones(2),
        np.ones((2, 3), np.float32),
        np.array(1),
        np.array("a"),
        lambda: None,
    ]


KEYWORDS = (
    "dim",
    "keepdim",
    "dtype",
    "device",
    "other",
    "self",
    "input",
    "alpha",
    "size",
    "out",
    "requires_grad",
    "min",
    "max",
    "",
    "é",
)
SETTINGS = {"set_default_dtype", "set_num_threads", "set_printoptions", "manual_seed", "set_grad_enabled"}


def functions():
    found = {}
    for name in dir(torch):
        thing = getattr(torch, name)
        if name in SETTINGS or name.startswith("__") or isinstance(thing, types.ModuleType):
            continue
        if callable(thing) and type(thing).__name__ in ("op_function", "type") and thing is not torch.no_grad:
            found[name] = thing
    for name in dir(torch.Tensor):
        thing = getattr(torch.Tensor, name)
        if type(thing).__name__ == "op_method":
            found[f"Tensor.{name}"] = thing
    return found


FUNCTIONS = functions()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    function = FUNCTIONS[name]
    generator = random.Random(name)
    done = 0
    for _ in range(120):
        things = pool()
        args = [generator.choice(things) for _ in range(generator.randint(0, 4))]
        if name.startswith("Tensor.") and generator.random() < 0.9:
            args.insert(0, generator.choice(things[:12]))
        kwargs = {
            generator.choice(KEYWORDS): generator.choice(things) for _ in range(generator.choice((0, 0, 0, 1, 2)))
        }
        if too_large(args, kwargs):
            continue
        try:
            repr(function(*args, **kwargs))
            done += 1
        except PROPER:
            pass


def too_large(args, kwargs):
    """Huge sizes allocate huge tensors: those have tests of their own."""
    return any(isinstance(a, int) and abs(a) >= 2**40 for a in (*args, *kwargs.values()))


OPERATIONS = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a // b,
    lambda a, b: a % b,
    lambda a, b: a**b,
    lambda a, b: a @ b,
    lambda a, b: a & b,
    lambda a, b: a | b,
    lambda a, b: a ^ b,
    lambda a, b: a << b,
    lambda a, b: a < b,
    lambda a, b: a == b,
    lambda a, b: a[b],
    lambda a, b: a.__setitem__(b, 1),
    lambda a, b: a.__setitem__(0, b),
    lambda a, b: b in a,
    lambda a, b: a.__iadd__(b),
    lambda a, b: a.__imul__(b),
    lambda a, b: a.__ipow__(b),
    lambda a, b: divmod(a, b),
    lambda a, b: a(b),
    lambda a, b: round(a, b),
    lambda a, b: format(a, b),
    lambda a, b: setattr(a, "data", b),
    lambda a, b: setattr(a, "requires_grad", b),
    lambda a, b: setattr(a, "real", b),
    lambda a, b: setattr(a, "__dict__", b),
    lambda a, b: (int(a), float(a), bool(a), len(a), list(a), a.tolist(), hash(a), -a, ~a, abs(a), b),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=range(len(OPERATIONS)))
def test_operation(operation):
    for left in range(len(pool())):
        for right in range(len(pool())):
            things = pool()
            a, b = things[left], things[right]
            # Setting attributes of the class itself would change it for every other test.
            if isinstance(a, type) or too_large([a, b], {}):
                continue
            if not (isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor)):
                continue
            try:
                repr(operation(a, b))
            except PROPER:
                pass

"""Content where a number stands, methods in C, the library's classes: see conditions.py."""

# fmt: off
import contextvars
import copy
import datetime
import decimal
import hashlib
import io
import itertools
import math
import operator
import struct
import sys

import numpy as np

import minidynamo as torch
from graph_breaks.conditions import lister, one

CASES = []
case = lister(CASES)
nn = torch.nn


def program(code):
    """A function of torch.ones(2)."""
    def add(f):
        def run(compile): return compile(f)(one())
        run.__name__ = f.__name__
        return case(code)(run)
    return add


# The content where a number stands.
@program("GB0033")
def root_of_a_sum(x): return x + math.sqrt(x.sum())
@program("GB0033")
def floor_two_calls_deep(x):
    def inner(v): return math.floor(v.mean())
    def outer(v): return inner(v) + 1
    return x * outer(x)
@program("GB0033")
def number_in_a_format(x): return operator.mod("%d", x.sum()), x + 1
@program("GB0033")
def list_that_often(x): return [1] * x.sum().int(), x + 1
@program("GB0033")
def text_that_often(x): return x.sum().int() * "ab", x + 1
@program("GB0033")
def whole_numbers_as_a_list(x): return torch.ones(2, dtype=torch.int64).tolist(), x
@program("GB0033")
def sizes_from_a_list(x): return torch.zeros(2).split(x.long().tolist())
@case("GB0033")
def sections_in_a_module(compile):
    class M(nn.Module):
        def forward(self, x): return torch.arange(6).chunk(x.sum().int())
    return compile(M())(one())
@program("")
def integer_of_the_shape(x): return x.view(x.numel(), 1), math.sqrt(len(x)), [1] * x.dim()

# Methods written in C.
STREAM = io.StringIO("abc")
READ = STREAM.getvalue
NAME = "getvalue"
HASH = hashlib.md5(b"a")
PACK = struct.Struct("<i")
LEVEL = contextvars.ContextVar("level", default=2)
@program("GB0156")
def digest(x): return HASH.hexdigest(), x + 1
@program("GB0156")
def packed(x): return PACK.pack(3), x + 1
@program("GB0156")
def context_variable(x): return x * LEVEL.get()
@program("GB0156")
def method_of_a_class(x): return datetime.datetime.now() is None, x + 1
@program("GB0156")
def taken_off_its_class(x): return io.StringIO.getvalue(STREAM), x + 1
@program("GB0156")
def bound_in_a_global(x): return READ(), x + 1
@program("GB0156")
def by_getattr_two_calls_deep(x):
    def inner(): return getattr(STREAM, NAME)()
    def outer(): return inner()
    return outer(), x + 1
@program("GB0156")
def in_a_try(x):
    try:
        sys.__stdout__.flush()
    finally:
        x = x + 1
    return x
@program("GB0156")
def decimal_with_keyword(x): return decimal.Decimal.quantize(DEC, exp=DEC), x + 1
DEC = decimal.Decimal("1.5")
@program("GB0007")
def function_of_a_c_module(x): return hashlib.md5(b"a") is None, x + 1
@program("")
def methods_of_texts(x): return x + 1, "a,b".split(","), (5).bit_length(), [1].copy()

# The operator module; what the library answers; its classes; managers that are none.
@program("GB0059")
def length_hint(x): return operator.length_hint([x]), x + 1
@program("GB0208")
def number_of_threads(x): return torch.get_num_threads() > 0, x + 1
@program("GB0208")
def seed_in_a_method(x):
    def ask(*, add): return torch.initial_seed() + add
    return ask(add=1) > 0, x + 1
@program("GB0008")
def anomaly_mode(x):
    with torch.autograd.set_detect_anomaly(False):
        y = x * 2
    return y
@program("GB0008")
def hooks_of_saved_tensors(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x * x
    return y
class Leaves:
    def __exit__(self, *a): return False
LEAVES = Leaves()
@case("GB0142")
def manager_that_cannot_enter(compile):
    def f(x):
        with LEAVES:
            return x + 1
    try:
        return compile(f)(one())
    except TypeError as e:
        return str(e)
@program("")
def manager_that_cannot_enter_caught(x):
    try:
        with LEAVES:
            x = x + 1
    except TypeError:
        x = x + 2
    return x
@program("")
def no_device(x):
    if torch.cuda.is_available() or torch.accelerator.is_available():
        return x.cuda()
    return x + 1
@program("")
def compiled_within(x): return torch.compile(lambda v: v + 1, backend="eager", fullgraph=True)(x) * 2
@program("")
def switched_by_its_c_name(x):
    torch._C._set_grad_enabled(False)
    y = x * 2
    torch._C._set_grad_enabled(True)
    return y
@case("")
def decorated_within(compile):
    def f(x):
        @torch.no_grad()
        def scaled(v, by=2): return v * by
        return scaled(x), scaled(x, by=3), scaled.__name__, x * 2
    return compile(f)(torch.ones(2, requires_grad=True))
@case("GB0207")
def sorted_by_items(compile):
    return compile(lambda x: sorted([x * 2, x], key=lambda t: t.sum().item()))(one())
@case("GB0115")
def grouped_by_items(compile):
    return compile(lambda x: [k for k, g in itertools.groupby([x, x], key=lambda t: t.sum().item())])(one())


@case("")
def sizes_read_from_tensors(compile):
    """Plainly too, in every place of a list."""
    x, n = one(), torch.tensor(2)
    return x.view(n, 1), x.expand(n, 2), x.view([1, n]), nn.functional.pad(x, (0, n)), torch.zeros(n, 1)


# NumPy's numbers, methods that take functions, what object's C code does, messages of assertions.
@program("GB0033")
def number_of_an_array(x): return float(x.numpy().sum()) * x
@program("GB0033")
def whole_numbers_of_an_array(x): return x.numpy().astype("int64").tolist(), x + 1
@program("GB0109")
def list_of_an_array(x): return x.numpy().tolist(), x + 1
@program("GB0036")
def where_not_zero(x): return np.where(x.numpy() > 0)[0], x + 1
@program("GB0055")
def function_for_each_element(x): return (x + 1).apply_(lambda v: v + 1)
@program("GB0208")
def shallow_copy(x): return copy.copy(x), x + 1
class Shown:
    def text(self): return type(super().__repr__()) is str
    def number(self): return super().__hash__() == 0
@program("GB0006")
def text_by_object(x): return Shown().text(), x + 1
@program("GB0006")
def hash_by_object_two_calls_deep(x):
    def inner(s): return s.number()
    def outer(s): return inner(s)
    return outer(Shown()), x + 1
@program("GB0034")
def number_as_message(x): assert x.dim() == 5, 3
@program("GB0171")
def tensor_as_message(x): assert x.dim() == 5, x
@program("GB0088")
def cause_that_is_none(x):
    e = ValueError("a")
    e.__cause__ = 3
    return x
@program("")
def date_in_a_text(x): return f"{DAY}", f"{DAY!r}", x + 1
DAY = datetime.date(2020, 1, 2)


# Operators beside an object that answers for tensor functions without being a tensor.
class Refuses:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented
class Answers:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, len(args)
REFUSES = Refuses()
@program("GB0000")
def refused_product(x): return x * REFUSES
@program("GB0000")
def refused_reflected(x): return REFUSES - x
@program("GB0000")
def refused_comparison(x): return x < REFUSES
@program("GB0000")
def refused_in_place_two_calls_deep(x):
    def inner(v):
        v += REFUSES
        return v
    def outer(v): return inner(v)
    return outer(x)
@program("")
def answered_operators(x): return (x + Answers())[1], (x >= Answers())[1], x + 1

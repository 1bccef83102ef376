"""Codes met by a method of an object that a callee of the compiled function holds.

A row is a code, what makes the arguments, and statements of a method that has `self` and `x` and returns `r`; what
`self` has as `held` is made before the call. See conditions.py.
"""

import collections  # noqa: F401  for the texts
import copy  # noqa: F401  for the texts
import functools
import inspect  # noqa: F401  for the texts
import itertools  # noqa: F401  for the texts
import types
import unittest

import numpy as np

import minidynamo as torch
from graph_breaks.conditions import leaf, lister, one

noop_context_fn = torch.utils.checkpoint.noop_context_fn
checkpoint = torch.utils.checkpoint.checkpoint

CASES = []
case = lister(CASES)
SCOPE = globals()
nn = torch.nn


WORKER = """
class Worker:
    def __init__(self, held):
        self.held = held

    def work(self, x):
        r = 0
        {body}
        return r

def passed(worker, x):
    return worker.work(x)

def f(worker, x):
    y = x * 2
    return y, passed(worker, x)
"""


def rows(code, held, *bodies, make=one, **settings):
    for body in bodies:
        scope = dict(SCOPE)
        exec(WORKER.format(body=body), scope)

        def program(compile, scope=scope, held=held, make=make):
            return compile(scope["f"])(scope["Worker"](held()), make())

        program.__name__ = body
        case(code, **settings)(program)


class Odd(nn.Module):
    text = object.__repr__


def doubled(x):
    return x * 2


def holding():
    return {"a": torch.ones(2)}


def quantized():
    return torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.qint8)


class TestOfWarnings(unittest.TestCase):
    def runTest(self):
        pass


def nothing():
    return None


def pair():
    return torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def array():
    return np.array([1.0, 2.0])


class Sharded(nn.Module):
    _is_fsdp_managed_module = True
    _fsdp_use_orig_params = False

    def forward(self, x):
        return x * 2


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Linear(2, 2)
        self.part.register_full_backward_pre_hook(lambda module, gradients: None)

    def forward(self, x):
        return self.part(x)


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2), requires_grad=False)
        self.register_buffer("kept", torch.ones(2))
        self.calls = 0

    def grow(self):
        self.kept = self.kept + 1
        self.calls += 1


def own_view():
    table = {"a": 2}
    return table, types.MappingProxyType(table)


def bound_to_tensors(unused):
    return noop_context_fn()


def hooked(gradient):
    return gradient * 2


torch.library.define("gbdeep::negate", "(Tensor x) -> Tensor")
torch.library.define("gbdeep::double", "(Tensor x, *, int times=2) -> (Tensor, Tensor)")
torch.library.define("gbdeep::positive", "(Tensor x) -> Tensor", tags=torch.Tag.dynamic_output_shape)
torch.library.impl("gbdeep::negate", "CompositeExplicitAutograd", lambda x: -x)
torch.library.impl("gbdeep::double", "CompositeExplicitAutograd", lambda x, times=2: (x * times, x + times))
torch.library.impl("gbdeep::positive", "cpu", lambda x: torch.tensor([v for v in x.tolist() if v > 0]))

# --- what comes from an attribute
number = "torch.fx.experimental.symbolic_shapes.ShapeEnv().create_unbacked_symint"
rows("GB0018", eval(number), "r = x * self.held", "r = [x, self.held + 1][0]")
rows("GB0053", Sharded, "r = self.held(x)", "r = nn.Sequential(nn.ReLU(), self.held)(x)")
rows("GB0119", lambda: nn.Module.__new__(nn.ReLU), "r = self.held.forward(x)")
rows("GB0064", quantized, "r = x + self.held.dequantize()", "r = [q.int_repr() for q in [self.held]]")
rows("GB0048", array, "r = id(self.held) == 0", "r = hash(id(self.held)) == 0")
rows("GB0198", own_view, "self.held[0]['b'] = 3; r = len(self.held[1])", "self.held[0].clear(); r = list(self.held[1])")
rows("GB0189", Growing, "self.held.grow(); r = [b + x for b in self.held.buffers()]")
rows("GB0189", Growing, "self.held.grow(); r = sum(p.sum() for _, p in self.held.named_parameters())")
rows("GB0083", Hooked, "r = self.held(x).sum()", make=leaf)
rows("GB0121", Odd, "r = len(self.held.text()) > 0", "r = list(map(lambda m: len(m.text()) > 0, [self.held]))")

# --- tensors changed in place
rows("GB0125", nothing, "r = x.requires_grad_(True) * 2", "r = torch.Tensor.requires_grad_(x) * 2")
rows("GB0126", nothing, "r = (x + 1).resize_((3, 1)).fill_(1)", "r = torch.Tensor.resize_(x * 2, 1)")
rows("GB0127", pair, "r = x.clone().resize_as_(the_template=self.held).fill_(0)")
rows("GB0127", pair, "r = torch.Tensor.resize_as_(x + 1, self.held).zero_()")
rows("GB0128", pair, "r = (x * 2).set_(self.held, 0, (2,), (1,))", "r = torch.Tensor.set_(x + 1, self.held, 1, [2])")
rows("GB0129", nothing, "(x * 2).sparse_resize_((3,), 1, 0)")
rows("GB0130", nothing, "(x * 2).sparse_resize_and_clear_((3,), 1, 0)")
rows("GB0029", nothing, "y = x * 3; h = y.register_hook(hooked); h.remove(); r = y.sum()", make=leaf)

# --- iterators, slices, inspection
rows("GB0132", nothing, "r = list(itertools.accumulate([x, x], max, func=max))")
rows("GB0135", nothing, "e = KeyError(); e.__class__ = LookupError; r = e", "e = OSError(); e.errno = x; r = e.errno")
rows("GB0137", lambda: slice(1, 2), "r = self.held.count")
rows("GB0151", nothing, "r = str(inspect.signature(functools.partial(doubled, 1)))")
rows(
    "GB0154",
    nothing,
    "r = list(itertools.accumulate([1, 2], function=max))",
    "r = list(itertools.accumulate(data=[1]))",
)
rows("GB0146", torch.Event, "r = len(self.held.__repr__()) > 0")
rows("GB0185", lambda: np.array(["a"]), "r = torch.from_numpy(self.held) + x", "r = torch.as_tensor(self.held)")
rows("GB0201", nothing, "r = collections.namedtuple('P', 'a b', defaults=[x])(1)")
rows("GB0201", nothing, "r = collections.namedtuple('P', (n for n in 'ab'))(x, 1)")
rows("GB0179", holding, "r = copy.deepcopy(x=x) + 1", "r = copy.deepcopy(self.held)['a'] + x")
rows(
    "GB0187", lambda: doubled, "r = functools.wraps(self.held)(one)()", "r = functools.update_wrapper(one, self.held)()"
)

# --- arrays
rows("GB0158", nothing, "r = (x * 2).tobytes()", make=array)
rows("GB0159", nothing, "r = getattr(x, '__version__', 1)", make=array)

# --- operators, modes, gradients
rows("GB0043", nothing, "r = torch.ops.gbdeep.negate(x)", only_allow_pt2_compliant_ops=True)
rows("GB0043", nothing, "r = torch.ops.gbdeep.double.default(x, times=3)[1]", only_allow_pt2_compliant_ops=True)
rows("GB0037", nothing, "r = torch.ops.gbdeep.positive(x).sum()", capture_dynamic_output_shape_ops=True)
rows("GB0037", nothing, "r = torch.ops.gbdeep.positive.default(x=x * 3)", capture_dynamic_output_shape_ops=True)
rows("GB0060", TestOfWarnings, "r = self.held.assertWarns(UserWarning) and x", enable_trace_unittest=True)
rows("GB0111", nothing, "r = torch._dynamo.nonstrict_trace([x])")
rows("GB0138", torch.autograd.function.FunctionCtx, "self.held.save_for_backward(x); r = x + 1")
rows("GB0138", nothing, "torch.autograd.function.FunctionCtx().save_for_backward(x, x)")
rows("GB0166", nothing, "torch.autograd.Variable._execution_engine.queue_callback(nothing)")
rows("GB0166", nothing, "list(map(torch.autograd.Variable._execution_engine.queue_callback, [nothing]))")
rows("GB0069", nothing, "import minidynamo_absent_module")
rows("GB0082", nothing, "global TOKEN; TOKEN = x; del TOKEN")
rows(
    "GB0086",
    lambda: torch.ones(2),
    "r = checkpoint(torch.sin, x, context_fn=functools.partial(bound_to_tensors, self.held), use_reentrant=False)",
)
rows("GB0042", lambda: torch.compiler.nested_compile_region(functools.partial(torch.mul, 2)), "r = self.held(x)")

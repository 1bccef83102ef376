"""The derivative of every op: first and second against differences, on float64 operands, and on strided ones."""

import logging
import warnings

import pytest

import minidynamo as torch
from minidynamo import _logging

from .drawn_calls import OPS, call_of, function_of, is_public
from .op_calls import operands

pytestmark = pytest.mark.version_free  # numbers, which no Python takes part in computing

PUBLIC = [name for name, op in OPS.items() if is_public(op)]
# What has no derivative: backward() says so.
WITHOUT = {"floor_divide", "heaviside", "scatter.reduce", "scatter.value_reduce"}
BY_THE_SECOND = {"igamma", "igammac", "zeta"}  # by the first operand there is none: test_special_functions.py
# Where a function has kinks, poles or no value, or rounds, differences tell nothing: other operands instead.
INSIDE = "pow log log2 log10 log1p sqrt rsqrt float_power xlogy xlog1py special.entr entr logit asin acos atanh erfinv"
INSIDE += " ndtri"
DOMAINS = {name: "u.abs() * 0.9 + 0.05" for name in INSIDE.split()} | {"acosh": "u.abs() + 1.5", "prelu": "c + 0.3"}
ROUNDS = {"float", "half", "bfloat16"}
# A source larger than the index: torch refuses its gradient as well.
REFUSED = {"scatter", "scatter_add", "scatter_reduce"}
NAMED_TWICE = {"put"}  # the later of two writes to one place wins
# Graphs with complex tensors run op by op, and so do their gradients.
COMPLEX = {"view_as_real", "view_as_complex", "complex", "polar", "imag", "_fourier"}
OTHER_DTYPE = {"quantile", "nanquantile"}  # the second operand is a literal of float32


def spread(t):
    """The same values with gaps between them."""
    wide = torch.zeros(*t.shape, 2, dtype=t.dtype)
    wide[..., 0] = t
    return wide[..., 0]


def drawn(name, strided):
    """The call as a function of its floating operands, and these; None if no operand of the op requires grad."""
    call = call_of(name)
    if call is None or name in BY_THE_SECOND:
        return None
    function, given = function_of(call), operands()
    domain = DOMAINS.get(name)
    if domain:
        given["x"] = eval(domain, {}, given)
        given["y"], given["c"] = given["y"].abs() + 0.3, given["c"] + 0.3
    names = [n for n, t in given.items() if t.is_floating_point()]

    def of_tensors(*tensors):
        torch.manual_seed(3)
        used = [t * 1 for t in tensors]  # in-place ops are for computed tensors
        return leaves(function(**(given | dict(zip(names, map(spread, used) if strided else used)))))

    tensors = []
    for n in names:
        t = given[n].double()
        apart = (torch.arange(float(t.numel()), dtype=torch.float64).reshape(t.shape) * 0.37).sin() * 0.01  # no ties
        tensors.append((t + apart).requires_grad_(n in call and bool(t.isfinite().all())))
    if not any(t.requires_grad for t in tensors) or not any(t.requires_grad for t in of_tensors(*tensors)):
        return None
    return of_tensors, tensors


def leaves(result):
    if isinstance(result, torch.Tensor):
        return (result,)
    return tuple(t for part in result for t in leaves(part)) if isinstance(result, (list, tuple)) else ()


@pytest.mark.parametrize("strided", [False, True], ids=["", "strided"])
@pytest.mark.parametrize("name", PUBLIC)
def test_first_and_second_derivative(name, strided):
    if name in ROUNDS | REFUSED | NAMED_TWICE | OTHER_DTYPE or (strided and name in ("view_as_complex", "view.dtype")):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = drawn(name, strided)
        if found is None:
            return
        function, tensors = found
        if name in WITHOUT:
            with pytest.raises(NotImplementedError, match="not implemented"):
                sum(t.sum() for t in function(*tensors)).backward()
            return
        assert torch.autograd.gradcheck(function, tensors)
        if not strided:
            assert torch.autograd.gradgradcheck(function, tensors)


# What fills a tensor with random numbers has a gradient of zeros, which is found by running the graph again.
FILLS = set(
    "bernoulli.tensor bernoulli.fill normal.size normal.fill uniform exponential cauchy log_normal geometric".split()
)


@pytest.fixture
def hints():
    """The performance hints logged meanwhile."""
    texts = []
    handler = logging.Handler()
    handler.emit = lambda record: texts.append(record.getMessage())
    _logging.set_logs(perf_hints=True)
    logging.getLogger("minidynamo").addHandler(handler)
    yield texts
    logging.getLogger("minidynamo").removeHandler(handler)
    _logging.set_logs()


@pytest.mark.parametrize("name", PUBLIC)
def test_compiled_gradients_have_the_same_bits(name, hints):
    if name in REFUSED | OTHER_DTYPE | set(WITHOUT):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = drawn(name, False)
        if found is None:
            return
        function, tensors = found

        def gradients(f):
            given = [t.detach().clone().requires_grad_(t.requires_grad) for t in tensors]
            results = [r for r in f(*given) if r.requires_grad]
            torch.manual_seed(11)
            torch.autograd.backward(results, [torch.rand_like(r) for r in results])
            return [t.grad for t in given]

        for want, got in zip(gradients(function), gradients(torch.compile(function)), strict=True):
            assert (want is None) == (got is None)
            if want is not None:
                assert want.stride() == got.stride() and torch.allclose(
                    want, got, rtol=1e-14, atol=1e-14, equal_nan=True
                )
        assert name in FILLS | COMPLEX or not any("runs it again op by op" in hint for hint in hints)


def test_how_many_are_checked():
    assert sum(drawn(name, False) is not None for name in PUBLIC if name not in OTHER_DTYPE) > 280


# --- places where the slope of a part is none or no number ---


@pytest.mark.parametrize(
    "function, at, slope",
    [
        (lambda x: x.norm(), [0.0, 0.0], [0.0, 0.0]),
        (lambda x: x.norm(p=3), [0.0, 0.0], [0.0, 0.0]),
        (lambda x: torch.nn.functional.normalize(x, dim=0).sum(), [0.0, 0.0], [1e12, 1e12]),
        (lambda x: torch.dist(x, x.detach()), [1.0, 2.0], [0.0, 0.0]),
        (lambda x: torch.cdist(x[:, None], x[:, None]).sum(), [1.0, 2.0], [-2.0, 2.0]),
        (lambda x: x.std(), [3.0, 3.0], [0.0, 0.0]),
        (lambda x: torch.std_mean(x)[0], [3.0, 3.0], [0.0, 0.0]),
        (lambda x: torch.sinc(x).sum(), [0.0, 1.0], [0.0, -1.0]),
        (lambda x: torch.xlogy(x, x.detach()).sum(), [0.0, 1.0], [0.0, 0.0]),
        (lambda x: torch.nn.functional.hardtanh(x).sum(), [-1.0, 0.5], [0.0, 1.0]),
        (lambda x: torch.nn.functional.relu6(x).sum(), [0.0, 3.0], [0.0, 1.0]),
        (lambda x: torch.nn.functional.softplus(x).sum(), [1000.0, -1000.0], [1.0, 0.0]),
        (lambda x: torch.nn.functional.elu(x).sum(), [1000.0, 2.0], [1.0, 1.0]),
    ],
)
def test_slopes_where_a_part_has_none(function, at, slope):
    for f in (function, torch.compile(function)):
        x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
        f(x).backward()
        assert torch.allclose(x.grad, torch.tensor(slope, dtype=torch.float64), rtol=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.t_(),
        lambda v: v.transpose_(0, 1),
        lambda v: v.swapaxes_(1, 0),
        lambda v: v.unsqueeze_(0),
        lambda v: v.unsqueeze_(1).squeeze_(1),
        lambda v: v.t_().mul_(2),
        lambda v: v.as_strided_((4,), (3,)),
    ],
)
def test_shapes_changed_in_place(change):
    def f(x, w):
        v = x * 1
        change(v)
        return (v * w.view(-1)[: v.numel()].view(v.shape)).sum()

    x = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    w = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(f, (x, w))

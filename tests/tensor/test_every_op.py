"""Every op that programs can call, in every way it can run: eager, traced, folded, compiled, with symbolic sizes, on
strided, empty and half-precision operands. The calls are drawn from the op table (drawn_calls.py), so a new op is
covered once it is declared.
"""

import re
import warnings

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

from .drawn_calls import OPS, call_of, function_of, is_public, runs
from .op_calls import operands

pytestmark = pytest.mark.version_free  # one call each of ops, in the computing of which no Python takes part

PUBLIC = [name for name, op in OPS.items() if is_public(op)]
UNINITIALISED = re.compile(r"\b(new_)?empty(_like|_strided)?\b")
NO_NODE = {"positive", "real", "conj", "conj_physical"}  # give their operand back
BREAKS = {"random", "random.from", "random.to"}  # GB0107


def described(value, call):
    """The value to the bit, with its dtype and strides; of uninitialised memory what is known."""
    if isinstance(value, torch.Tensor):
        bits = None if UNINITIALISED.search(call) else repr(value.tolist())
        return value.dtype, tuple(value.shape), value.stride(), bits
    if isinstance(value, (list, tuple)):
        return type(value), [described(v, call) for v in value]
    return repr(value)


def outcome(function, given, call):
    """What a call gives and what it leaves of its operands; or its error."""
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = described(function(**given), call)
        except Exception as error:
            result = type(error).__name__, str(error)
    return result, {name: described(value, "") for name, value in given.items()}


def halved(dtype):
    return lambda t: t.to(dtype) if t.is_floating_point() else t


def spread(t):
    """The same values, every other element of larger memory."""
    if t.dim() == 0:
        return t
    wide = torch.zeros(*t.shape[:-1], t.shape[-1] * 2, dtype=t.dtype)
    wide[..., ::2] = t
    return wide[..., ::2]


CHANGES = {
    "as they are": lambda t: t,
    "strided": spread,
    "empty": lambda t: t[:0] if t.dim() else t,
    "float16": halved(torch.float16),
    "bfloat16": halved(torch.bfloat16),
}


def changed(how):
    return {name: CHANGES[how](t) for name, t in operands().items()}


def reset():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


@pytest.mark.parametrize("name", PUBLIC)
def test_has_a_call(name):
    call = call_of(name)
    assert call is not None and runs(call), (
        f"No call of {OPS[name]['signature']} could be drawn from its signature. Add one to MAKERS in "
        "tests/tensor/drawn_calls.py, on the operands of op_calls.operands()."
    )


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in BREAKS])
def test_traced_as_one_graph(name):
    call = call_of(name)
    function, counter = function_of(call), CompileCounter()
    expected = outcome(function, operands(), call)
    reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        assert outcome(torch.compile(function, backend=counter, fullgraph=True), operands(), call) == expected
    assert counter.frame_count == 1 or name in NO_NODE


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("name", PUBLIC)
def test_compiled(name, how):
    call = call_of(name)
    function = function_of(call)
    expected = outcome(function, changed(how), call)
    reset()
    assert outcome(torch.compile(function), changed(how), call) == expected


@pytest.mark.parametrize("name", PUBLIC)
def test_folded(name):
    """Operands made in the function: the graph has no input, and what it computes is known while compiling."""
    call = call_of(name)
    text = f"lambda: (lambda {', '.join(sorted(operands()))}: {call})(**operands())"
    function = eval(text, {"torch": torch, "operands": operands})
    expected = outcome(function, {}, call)
    reset()
    assert outcome(torch.compile(function), {}, call) == expected


@pytest.mark.parametrize("name", PUBLIC)
def test_with_symbolic_sizes(name):
    """Compiled once for all sizes, and right for larger ones too."""
    call = call_of(name)
    function = function_of(call)
    reset()
    compiled = torch.compile(function, dynamic=True)
    larger = {k: torch.cat([t, t]) if t.dim() else t for k, t in operands().items()}
    for given in (operands(), larger):
        expected = outcome(function, {k: t.clone() for k, t in given.items()}, call)
        assert outcome(compiled, {k: t.clone() for k, t in given.items()}, call) == expected


def test_parts_of_one_result_computed_in_one_loop():
    """Two stores into a result whose base waits for the first of them."""

    def f(c):
        a = (c.reshape(2, 3) - 11.5) / 5
        b = (c.reshape(2, 3) * 7 % 13 - 4) / 3
        return torch.block_diag(a, b)

    reset()
    c = torch.arange(6.0)
    assert torch.equal(torch.compile(f)(c), f(c))


def test_constants_times_symbolic_sizes_are_not_folded():
    reset()
    compiled = torch.compile(lambda x: torch.ones(2) * (x.shape[0] - 1) + x.sum(), dynamic=True)
    assert [compiled(torch.zeros(n)).tolist() for n in (3, 5)] == [[2.0, 2.0], [4.0, 4.0]]

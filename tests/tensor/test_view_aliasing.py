"""Every op that gives a view: what is written to the base shows in the view and the other way round, as in eager mode.

Derived from the op table, so that a new view op is covered once it is declared. tools/mutate.py takes away the fact
that an op's result is a view; then the tests of that op fail.
"""

import warnings

import pytest

import minidynamo as torch

from .drawn_calls import OPS, call_of
from .op_calls import operands

VIEWS = [name for name, op in OPS.items() if op["kind"] == "view" and call_of(name)]
# Where the drawn call views a tensor of its own: one of an operand.
OF_OPERANDS = {"view_as_real": "torch.view_as_real(torch.view_as_complex(c[..., :2]))"}


def viewing(name):
    return OF_OPERANDS.get(name) or call_of(name)


def written(call, first):
    """Functions that write to one of base and view after the other was made."""
    namespace = {"torch": torch}
    names = ", ".join(sorted(operands()))
    body = {
        "base": f"{first}.mul_(3); {first}.add_(1)",
        "view": "(v[0] if isinstance(v, (list, tuple)) else v).add_(1)",
    }
    functions = {}
    for what, write in body.items():
        exec(f"def f({names}):\n    v = {call}\n    {write}\n    return v, {first}", namespace)
        functions[what] = namespace["f"]
    return functions


def base_of(name):
    """The operand in whose memory the result lies: the one that shows in it when it is written to."""
    for operand in operands():
        given = operands()
        result = eval(viewing(name), {"torch": torch}, given)
        result = result[0] if isinstance(result, (list, tuple)) else result
        before = repr(result.tolist())
        given[operand].mul_(3).add_(1)
        if repr(result.tolist()) != before:
            return operand
    return None


def outcome(function):
    given = operands()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            view, base = function(**given)
        except Exception as error:
            return type(error).__name__, str(error), {n: t.tolist() for n, t in given.items()}
    views = view if isinstance(view, (list, tuple)) else [view]
    return [repr(t.tolist()) for t in (*views, base)], {n: repr(t.tolist()) for n, t in given.items()}


@pytest.mark.parametrize("which", ["base", "view"])
@pytest.mark.parametrize("name", VIEWS)
def test_a_write_shows_on_the_other_side(name, which):
    first = base_of(name)
    assert first is not None, f"{viewing(name)} shares no memory with its operands"
    function = written(viewing(name), first)[which]
    expected = outcome(function)
    torch._dynamo.reset()
    assert outcome(torch.compile(function)) == expected

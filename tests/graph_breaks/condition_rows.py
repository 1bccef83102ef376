"""Runs rows of the tables of conditions: a code, a function, and what makes its arguments.

A row of a code passes if the compiled function does what the plain one does (result, arguments, exception) and breaks
with that code; one without a code, if the whole function is one graph.
"""

import re

import minidynamo as torch

MISSING = object()


def vector():
    return (torch.tensor([1.0, 2.0]),)


def leaf():
    return (torch.ones(2, requires_grad=True),)


def shown(value):
    """What can be compared of a result."""
    if isinstance(value, torch.Tensor):
        return type(value).__name__, str(value.dtype), value.detach().tolist()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shown(v) for v in value]
    if isinstance(value, dict):
        return [(k, shown(v)) for k, v in value.items()]
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def outcome(function, args):
    try:
        return shown(function(*args)), shown(args), None
    except Exception as error:  # noqa: BLE001  any error is the program's answer
        return None, shown(args), error


def codes_of(error):
    found = set()
    while error is not None:
        found.add(getattr(error, "gb_code", None))
        error = error.__cause__ or error.__context__
    return found


def counted():
    return {m.upper() for c in torch._dynamo.utils.counters.values() for k in c for m in re.findall(r"gb/(gb\d{4})", k)}


def check(code, function, make_args=vector):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    result, args, error = outcome(function, make_args())
    full = torch.compile(function, backend="eager", fullgraph=True)
    whole, whole_args, refused = outcome(full, make_args())
    torch._dynamo.reset()
    got, got_args, raised = outcome(torch.compile(function, backend="eager"), make_args())
    assert type(raised) is type(error), raised
    assert (got, got_args) == (result, args)
    if code is None:
        assert refused is None, refused
        assert (whole, whole_args) == (result, args)
    else:
        assert code in codes_of(refused) | counted(), refused

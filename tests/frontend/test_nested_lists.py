"""Lists that hold themselves, or are nested deeper than the stack allows, as arguments of operations: plain's error."""

import pytest

import minidynamo as torch

pytestmark = pytest.mark.usefixtures("no_defects")


def cyclic():
    made = []
    made.append(made)
    return made


def deep():
    made = []
    for _ in range(100_000):
        made = [made]
    return made


CALLS = {
    "tensor": lambda values: torch.tensor(values),
    "as_tensor": lambda values: torch.as_tensor(values),
    "full": lambda values: torch.full((2,), values),
    "zeros": lambda values: torch.zeros(values),
    "index": lambda values: torch.ones(3)[values],
    "stack": lambda values: torch.stack(values),
}


@pytest.mark.parametrize("where", ["made inside", "argument"])
@pytest.mark.parametrize("make", [cyclic, deep])
@pytest.mark.parametrize("call", CALLS)
def test_refused_as_plain(call, make, where):
    if where == "argument":
        values = make()
        call_it = torch.compile(CALLS[call], backend="eager")
        plain, compiled = outcome(CALLS[call], values), outcome(call_it, values)
    else:
        plain = outcome(lambda: CALLS[call](make()))
        compiled = outcome(torch.compile(lambda: CALLS[call](make()), backend="eager"))
    assert compiled == plain and plain is not None


def outcome(f, *args):
    try:
        f(*args)
    except Exception as error:  # noqa: BLE001  whatever is raised is compared
        return type(error)
    return None

"""`assert` on a tensor is part of the graph; where it fails the frame runs as plain Python, which raises as written.

PYTEST_DONT_REWRITE: the statements of this file are to stay what they are.
"""

import pytest

import minidynamo as torch
from graph_breaks.condition_rows import check, vector

LOG = []


def with_text(x):
    assert (x > 0).all(), "positive"
    return x + 1


def without(x):
    y = x * 2
    assert y.sum() > 0
    return y


def called(x):
    with_text(x)
    for k in range(3):
        assert x[k % 2] >= 0
    return x * 2


def under_a_manager(x):
    with torch.no_grad():
        assert torch.isfinite(x).all(), "finite"
    return x


class Module(torch.nn.Module):
    def forward(self, x):
        assert x.any()
        return x.relu()


HOLD = {"with text": with_text, "without": without, "called": called, "manager": under_a_manager, "module": Module()}


@pytest.mark.parametrize("name", HOLD)
def test_whole(name):
    check(None, HOLD[name])


def test_gradients_pass():
    def program(x):
        y = x * 2
        assert (y > 0).all()
        return y.sum()

    for backend in ("eager", "llvm"):
        w = torch.ones(2, requires_grad=True)
        torch.compile(program, backend=backend, fullgraph=True)(w).backward()
        assert w.grad.tolist() == [2.0, 2.0]


def failing(x):
    LOG.append("begun")
    x.add_(1)
    assert x.sum() < 0, "negative"
    LOG.append("done")
    return x.mul_(5)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_failing(backend):
    compiled = torch.compile(failing, backend=backend, fullgraph=True)
    for value, want in ((-3.0, [-10.0, -10.0]), (1.0, [2.0, 2.0]), (-3.0, [-10.0, -10.0])):
        LOG.clear()
        x = torch.tensor([value, value])
        if value < 0:
            assert compiled(x) is x and LOG == ["begun", "done"]
        else:
            with pytest.raises(AssertionError, match="negative"):
                compiled(x)
            assert LOG == ["begun"]
        assert x.tolist() == want


def test_caught():
    def program(x):
        try:
            assert (x > 5).all(), "five"
        except AssertionError as error:
            return x * 2, str(error)
        return x

    assert torch.compile(program, backend="eager")(*vector())[1] == "five"


def written_text(x):
    assert x.sum() > 0, f"bad {x.shape}"
    return x


def of_many(x):
    try:
        assert x > 0
    except RuntimeError:
        return x * 3
    return x


def denied(x):
    assert not (x > 5).any()
    return x


def of_two(x):
    assert x.sum() > 0 and x.shape[0] == 2
    return x


@pytest.mark.parametrize("program", [written_text, of_many, denied, of_two])
def test_other_forms_branch(program):
    check("GB0170", program)


def caught_false(x):
    try:
        assert x.ndim == 2, "dims"
    except AssertionError as error:
        return x * 2, str(error)
    return x


def test_false_where_a_handler_waits():
    check("GB0034", caught_false)

"""Functions compiled whole whose first call computes nothing: later calls are traced as well."""

import pytest

import minidynamo as torch
import minidynamo._dynamo as dynamo
from minidynamo._dynamo.testing import CompileCounter


def refuses(x):
    raise NotImplementedError("abstract")


def asks(x):
    try:
        return refuses(x)
    except NotImplementedError:
        return x


def chooses(x, flag):
    return x.sin() if flag else x


def prints(x, flag):
    if flag:
        print("seen")
    return x


def test_an_exception_of_a_callee_that_is_caught_is_no_break():
    dynamo.reset()
    f = torch.compile(asks, backend="eager", fullgraph=True)
    x = torch.ones(1)
    assert f(x) is x and f(x) is x


def test_a_later_call_that_computes_is_compiled():
    dynamo.reset()
    counter = CompileCounter()
    f = torch.compile(chooses, backend=counter, fullgraph=True)
    x = torch.ones(1)
    assert f(x, False) is x and torch.equal(f(x, True), x.sin()) and f(x, False) is x
    assert counter.frame_count == 1


def test_a_later_call_that_breaks_is_an_error(capsys):
    dynamo.reset()
    f = torch.compile(prints, backend="eager", fullgraph=True)
    f(torch.ones(1), False)
    with pytest.raises(dynamo.exc.Unsupported):
        f(torch.ones(1), True)
    assert capsys.readouterr().out == ""
    dynamo.reset()
    f = torch.compile(prints, backend="eager")  # in parts such a function is left alone
    f(torch.ones(1), False), f(torch.ones(1), True)
    assert capsys.readouterr().out == "seen\n"

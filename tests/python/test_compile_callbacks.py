"""torch._dynamo.callback: what is called around compilations, and how often."""

import logging

import pytest

import minidynamo as torch
from minidynamo._dynamo.callback import (
    CallbackArgs,
    CallbackTrigger,
    callback_handler,
    on_compile_end,
    on_compile_start,
)

ONE = torch.ones(2)


@pytest.fixture()
def events():
    torch._dynamo.reset()
    seen = []
    on_compile_start(lambda args: seen.append(("start", args.compile_id)))
    on_compile_end(lambda args: seen.append(("end", args.compile_id)))
    yield seen
    torch._dynamo.reset()


def pair(compile_id):
    return [("start", compile_id), ("end", compile_id)]


def breaking(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x + 2


def looping(x):
    for _ in range(2):
        torch._dynamo.graph_break()
        x = x + 1
    return x


def failing(x):
    raise ValueError(x)


def failing_backend(gm, example_inputs):
    raise KeyError("backend")


def test_one_pair_for_each_compilation(events):
    f = torch.compile(lambda x: x + 1, backend="eager")
    f(ONE)
    f(ONE)
    assert events == pair("0/0")
    f(ONE.double())
    assert events == pair("0/0") + pair("0/1")


def test_whatever_comes_of_it(events):
    torch.compile(breaking, backend="eager")(ONE)
    assert events == pair("0/0") + pair("1/0")
    torch.compile(looping, backend="eager")(ONE)
    torch.compile(lambda x: 3, backend="eager")(ONE)
    assert events[4:] == pair("2/0") + pair("3/0")
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(looping, backend="eager", fullgraph=True)(ONE)
    with pytest.raises(ValueError):
        torch.compile(failing, backend="eager")(ONE)
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed):
        torch.compile(lambda x: x - 1, backend=failing_backend)(ONE)
    assert [what for what, _ in events[8:]] == ["start", "end"] * 3


def test_only_the_outermost_of_nested_compilations_is_told(events):
    inner = torch.compile(lambda x: x * 3, backend="eager")

    def backend(gm, example_inputs):
        inner(ONE)
        return gm.forward

    torch.compile(lambda x: x - 1, backend=backend)(ONE)
    assert events == pair("0/0")
    with callback_handler.install_callbacks(CallbackTrigger.DYNAMO, "9/9"):
        inner(ONE.double())
    assert events == pair("0/0") + pair("9/9")


def test_registering(events):
    def more(args):
        events.append(args)

    assert callback_handler.register_start_callback(more) is more
    torch.compile(lambda x: x + 5, backend="eager")(ONE)
    assert events[1] == CallbackArgs(CallbackTrigger.DYNAMO, "0/0")
    assert repr(events[1]) == "CallbackArgs(callback_trigger=<CallbackTrigger.DYNAMO: 1>, compile_id='0/0')"
    callback_handler.remove_start_callback(more)
    with pytest.raises(ValueError):
        callback_handler.remove_start_callback(more)
    callback_handler.clear()
    assert callback_handler.start_callbacks == callback_handler.end_callbacks == []
    on_compile_start(more)
    torch._dynamo.reset()
    assert callback_handler.start_callbacks == []


def test_a_callback_that_fails(caplog):
    torch._dynamo.reset()
    f = torch.compile(lambda x: x + 7, backend="eager")

    @on_compile_start
    def start(args):
        raise RuntimeError("in start")

    with pytest.raises(torch._dynamo.exc.InternalTorchDynamoError, match="RuntimeError: in start"):
        f(ONE)
    callback_handler.clear()

    @on_compile_end
    def end(args):
        raise RuntimeError("in end")

    with caplog.at_level(logging.ERROR, logger="minidynamo._dynamo"):
        assert f(ONE).tolist() == [8, 8]
    torch._dynamo.reset()


def test_callbacks_are_plain_code(events):
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    on_compile_start(lambda args: events.append(compiled(ONE).tolist()))
    torch.compile(lambda x: x - 1, backend="eager")(ONE)
    assert events == [("start", "0/0"), [2, 2], ("end", "0/0")]

"""What logs, guards and breaks say is so: guards that only print, places that exist, reasons for what is skipped."""

import itertools
import logging
import random
import re
import sys
import threading
import time
import warnings

import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo._dynamo.exc import Unsupported


def logged(artifacts, run):
    lines = []
    handler = logging.Handler(logging.DEBUG)
    handler.emit = lambda record: lines.append(record.getMessage())
    logger = logging.getLogger("minidynamo")
    torch._dynamo.reset()
    torch._logging.set_logs(**artifacts)
    logger.addHandler(handler)
    try:
        run()
    finally:
        logger.removeHandler(handler)
        torch._logging.set_logs()
    return "\n".join(lines)


def test_the_default_device_is_guarded_as_printed():
    f = torch.compile(lambda x: torch.zeros(2), backend="eager")
    on_cpu = logged({"guards": True}, lambda: f(torch.ones(2)))
    assert "DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == None " in on_cpu
    assert f(torch.ones(2)).device.type == "cpu"
    with torch.device("meta"):
        on_meta = logged({"guards": True}, lambda: f(torch.ones(2)))
        assert f(torch.ones(2)).device.type == "meta"
    assert "DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == device(type='meta')" in on_meta
    assert f(torch.ones(2)).device.type == "cpu"


def test_guards_without_a_check_give_no_code():
    guards = torch._dynamo.explain(lambda x: x + 1)(torch.ones(2)).out_guards
    code = {g.guard_types[0]: g.code_list for g in guards if g.source == "global"}
    assert code["GLOBAL_STATE"] == ["___check_global_state()"]
    assert code["DEFAULT_DEVICE"] == code["TORCH_FUNCTION_MODE_STACK"] == []


def test_a_restart_names_the_line_that_broke():
    def inner(x):
        torch._dynamo.graph_break()
        return x

    f = torch.compile(lambda x: inner(x + 1) * 2, backend="eager")
    text = logged({"dynamo": logging.DEBUG}, lambda: f(torch.ones(2)))
    line = inner.__code__.co_firstlineno + 1
    places = re.findall(r"Restarting analysis due to (.*)", text)
    assert places and set(places) == {f"{__file__}:{line} in inner"}


SKIPPED = {
    "it issues a warning": lambda x: warnings.warn("odd", stacklevel=1),
    "it keeps what was warned of": lambda x: warnings.simplefilter("ignore"),
    "it draws from a random generator of Python's": lambda x: random.choice([1, 2]),
    "it deals with threads": lambda x: threading.current_thread(),
    "it hands records to the program's handlers": lambda x: logging.log(5, "note"),
    "Python's library implements it in C": lambda x: time.perf_counter(),
    "it gives a frame": lambda x: sys._getframe(),
    "<missing reason>": lambda x: torch.save(x, "nowhere/at/all"),  # as the reference's pages have it
}


@pytest.mark.parametrize("reason", SKIPPED)
def test_what_is_skipped_has_a_reason(reason):
    torch._dynamo.reset()
    with pytest.raises(Unsupported) as info, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.compile(SKIPPED[reason], backend="eager", fullgraph=True)(torch.ones(2))
    assert info.value.gb_code == "GB0007"
    assert info.value.context.endswith(f", skip reason: {reason}")


OPERANDS = [
    lambda: torch.ones(2),
    lambda: torch.tensor(1.5, dtype=torch.float64),
    lambda: torch.ones(2, dtype=torch.float16),
    lambda: torch.tensor([1, 2]),
    lambda: torch.tensor(3),
    lambda: torch.tensor([1], dtype=torch.uint8),
    lambda: torch.tensor([True]),
    lambda: 2,
    lambda: 2.5,
    lambda: True,
]
# What torch 2.13 answers for each pair of them.
RESULT_TYPES = [
    "float32 float32 float32 float32 float32 float32 float32 float32 float32 float32",
    "float32 float64 float16 float64 float64 float64 float64 float64 float64 float64",
    "float32 float16 float16 float16 float16 float16 float16 float16 float16 float16",
    "float32 float64 float16 int64 int64 int64 int64 int64 float32 int64",
    "float32 float64 float16 int64 int64 uint8 int64 int64 float32 int64",
    "float32 float64 float16 int64 uint8 uint8 uint8 uint8 float32 uint8",
    "float32 float64 float16 int64 int64 uint8 bool int64 float32 bool",
    "float32 float64 float16 int64 int64 uint8 int64 int64 float32 int64",
    "float32 float64 float16 float32 float32 float32 float32 float32 float32 float32",
    "float32 float64 float16 int64 int64 uint8 bool int64 float32 bool",
]


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(range(len(OPERANDS)), 2)))
def test_result_type_is_a_fact_of_dtypes(a, b):
    def f(x, a, b):
        return x.to(torch.result_type(a, b)), torch.result_type(b, tensor2=a)

    wanted = [getattr(torch, RESULT_TYPES[i].split()[k]) for i, k in ((a, b), (b, a))]
    cast, mirrored = f(torch.ones(2), OPERANDS[a](), OPERANDS[b]())
    assert [cast.dtype, mirrored] == wanted
    with torch._dynamo.config.patch(trace_more=True):
        same(f, lambda: (torch.ones(2), OPERANDS[a](), OPERANDS[b]()), frames=1, breaks=[])


def test_result_type_with_sizes_and_wrong_operands():
    def sizes(x, y):
        return x.to(torch.result_type(x, x.shape[0])), torch.result_type(x.shape[0], y)

    def wrong(x, y):
        return torch.result_type(x, "text")

    with torch._dynamo.config.patch(trace_more=True):
        with torch._dynamo.config.patch(assume_static_by_default=False):
            same(sizes, lambda: (torch.tensor([1, 2]), 2.5), frames=1, breaks=[])
        same(wrong, lambda: (torch.tensor([1]), 2.5))
    same(lambda x: x.to(torch.result_type(1, 2.0)), lambda: (torch.tensor([1]),), frames=1, breaks=[])


def test_dtype_questions_are_traced():
    def f(x):
        wide = torch.promote_types(x.dtype, torch.int64)
        return x.to(wide)

    same(f, lambda: (torch.ones(2),), frames=1, breaks=[])

    def asks(x):
        return torch.can_cast(torch.float32, x.dtype), torch.can_cast(torch.bool, torch.int64), x + 1

    with torch._dynamo.config.patch(trace_more=True):  # the registry lists answers that are no tensors
        same(asks, lambda: (torch.ones(2),), frames=1, breaks=[])

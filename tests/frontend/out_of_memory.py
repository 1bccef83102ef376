"""Run with failing_new.so preloaded: allocation after allocation fails while a function is compiled and run."""

import ctypes
import logging
import sys

import minidynamo as torch

library = ctypes.CDLL(sys.argv[1])
library.fail_at.argtypes = [ctypes.c_long]
library.left.restype = ctypes.c_long
stride = int(sys.argv[2])


class Box:
    def __init__(self, v):
        self.v = v


def f(x, box, log):
    log.append(box.v)
    box.v = box.v + 1
    y = x * box.v
    if x.sum() > 0:  # a graph break
        y = y + 1
    log.append("end")
    return Box(y), log


def shown(function):
    box, log = Box(2), []
    made, same = function(torch.tensor([1.0, 2.0]), box, log)
    return made.v.tolist(), box.v, log, same is log


class Count(logging.Handler):
    said = 0

    def emit(self, record):
        Count.said += "defect of minidynamo" in record.getMessage()


logging.getLogger("minidynamo").addHandler(Count())
expected = shown(f)
plain = failed = raised = 0
where = 1
while True:
    torch._dynamo.reset()
    compiled = torch.compile(f, backend="eager")
    library.fail_at(where)
    try:
        found = shown(compiled)
    except MemoryError:  # once effects have begun there is no way back
        found = expected
        raised += 1
    unused = library.left()
    library.fail_at(0)
    assert found == expected, (where, found)
    if unused:
        break
    failed += 1
    where += stride
print(failed, raised, Count.said)

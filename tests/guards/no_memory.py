"""CPython's allocations fail while a function is compiled and run: CASE STEP WIDTH.

One allocation fails, every STEP-th of those that the call makes; then WIDTH in a row from there. Each call gives what
the plain function gives or raises MemoryError; the calls after it, with memory again, give the right result. Prints how
many allocations were tried, how many calls raised MemoryError in either way, and how often the log spoke of a defect.
"""

import _testcapi
import logging
import sys

import minidynamo as torch


class Box:
    def __init__(self, v):
        self.v = v


def scaled(x, k):
    return x * k


def broken(x, box, log):
    """Effects before and after a graph break."""
    log.append(box.v)
    box.v = box.v + 1
    y = scaled(x, box.v)
    if x.sum() > 0:
        y = y + 1
    log.append(f"end {box.v}")
    return Box(y), {"size": y.shape[0], "log": log}


def whole(x, box, log):
    """Inlined calls, closures, containers, strings; effects at the end."""
    names = {f"n{k}": k for k in range(4)}
    y = x
    for name, k in names.items():
        y = scaled(y, k + 1) + len(name)
    first, *rest = sorted(names, reverse=True)
    log.append(first + "".join(rest))
    box.v += sum(map(lambda k: k + box.v, names.values()))
    return Box(y), {"size": y.shape[0], "log": log}


class Guard:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, *error):
        self.log.append("out")


def handled(x, box, log):
    """Exceptions and context managers of the program's; `except MemoryError` is the program's own affair."""
    with Guard(log):
        try:
            y = x + [1, 2][box.v]
        except IndexError as e:
            y = x - len(str(e))
        box.v = getattr(box, "missing", 0) + 5
    y.add_(box.v)
    return Box(y), {"size": y.shape[0], "log": log}


CASES = {
    "broken": (broken, {"backend": "eager"}),
    "whole": (whole, {"fullgraph": True}),
    "handled": (handled, {}),
}


class Said(logging.Handler):
    defects = 0

    def emit(self, record):
        Said.defects += "defect of minidynamo" in record.getMessage()


def arguments():
    return torch.tensor([1.0, 2.0]), Box(2), []


def seen(made, x, box, log):
    holder, parts = made
    return holder.v.tolist(), x.tolist(), box.v, list(log), parts["size"], parts["log"] is log


def call(function):
    given = arguments()
    return seen(function(*given), *given)


def starving(function, given, start, width):
    """Result, or None for MemoryError; and whether the call came as far as the allocations that fail."""
    result = None
    _testcapi.set_nomemory(start, start + width)
    try:
        result = function(*given)
    except MemoryError:
        pass
    try:
        for _ in range(start + width):
            bytearray(1)
        reached = True
    except MemoryError:
        reached = False
    finally:
        _testcapi.remove_mem_hooks()
    return result, reached


def check(function, options, expected, start, width):
    """Whether the call raised, and whether it came so far."""
    torch._dynamo.reset()
    compiled = torch.compile(function, **options)
    given = arguments()
    made, reached = starving(compiled, given, start, width)
    raised = made is None
    assert raised or seen(made, *given) == expected, (start, width, seen(made, *given))
    del made, given
    for _ in range(2):
        after = call(compiled)
        assert after == expected, (start, width, after)
    return raised, reached


def main(case, step, width):
    function, options = CASES[case]
    expected = call(function)
    for _ in range(2):  # tables are filled, modules imported
        torch._dynamo.reset()
        assert call(torch.compile(function, **options)) == expected
    raised = start = 0
    reached = True
    while reached:
        failed, reached = check(function, options, expected, start, 1)
        raised += failed
        start += step
    raised_in_a_row = sum(check(function, options, expected, first, width)[0] for first in range(0, start, step))
    print(start // step, raised, raised_in_a_row, Said.defects)


logging.getLogger("minidynamo").addHandler(Said())
main(sys.argv[1], *map(int, sys.argv[2:]))

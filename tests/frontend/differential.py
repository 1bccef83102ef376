"""Runs a function plain and compiled and compares everything a program could see.

`same(f, make_args, ...)` calls `make_args()` afresh for every run, so that each works on objects of its own.
"""

import collections
import contextlib
import io
import itertools
import logging
import re
import traceback

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

ITERATED = tuple(
    type(v)
    for v in (
        iter([]), iter(()), iter({}), iter({}.values()), iter({}.items()), iter(set()), iter(""), iter(b""),
        iter(range(0)), reversed([]), reversed({}), reversed({}.values()), reversed({}.items()),
        reversed(collections.deque()),
        iter(int, 0),
    )
) + (enumerate, zip, map, filter, reversed, *(t for t in vars(itertools).values() if isinstance(t, type)))  # fmt: skip


class Seen:
    """What one run showed: result or exception, printed text, final state of the arguments."""

    def __init__(self, function, args, kwargs):
        self.args = (args, kwargs)
        self.value = self.error = None
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                self.value = function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001  whatever the program raises is its behaviour
                self.error = error
        self.printed = out.getvalue()

    def summary(self):
        graph = Reachable()
        return {
            "result": graph.describe(self.value),
            "error": self._error(),
            "printed": self.printed,
            "state": graph.describe(self.args),
        }

    def _error(self):
        if self.error is None:
            return None
        lines = [
            (frame.name, frame.lineno)
            for frame in traceback.extract_tb(self.error.__traceback__)
            if "/minidynamo/" not in frame.filename and not frame.filename.endswith("differential.py")
        ]
        chain = [type(e).__name__ for e in (self.error.__cause__, self.error.__context__) if e is not None]
        return type(self.error).__name__, str(self.error), lines, chain


class Reachable:
    """Describes values by structure, contents and identity: shared objects get the number of their first visit.

    Iterators are read to their end (or the thirtieth value): what they are is what they give.
    """

    def __init__(self):
        self.seen = {}
        self.keep = []

    def describe(self, v):
        if v is None or isinstance(v, (bool, int, float, str, bytes, complex, torch.dtype)):
            return (type(v).__name__, repr(v))
        if id(v) in self.seen:
            return ("again", self.seen[id(v)])
        self.seen[id(v)] = len(self.seen)
        self.keep.append(v)
        if isinstance(v, torch.Tensor):
            shared = self.seen.setdefault(("storage", v.data_ptr()), len(self.seen)) if v.numel() else None
            return (
                "tensor",
                str(v.dtype),
                tuple(v.shape),
                tuple(v.stride()),
                (v.requires_grad, v.is_leaf),
                repr(v.tolist()),
                shared,
            )
        if isinstance(v, (list, tuple)):
            return (type(v).__name__, [self.describe(x) for x in v])
        if isinstance(v, dict):
            return (type(v).__name__, [(self.describe(k), self.describe(x)) for k, x in v.items()])
        if isinstance(v, (set, frozenset)):
            return (type(v).__name__, [self.describe(x) for x in v])
        if type(v).__module__ in ("builtins", "itertools", "_collections") and isinstance(v, ITERATED):
            return (type(v).__name__, [self.describe(x) for x in itertools.islice(v, 30)])
        if hasattr(v, "__dict__"):
            return (type(v).__name__, self.describe(vars(v)))
        return (type(v).__name__, re.sub(r"0x[0-9a-f]+", "0x", repr(v)))


def codes():
    """Registry codes counted since the counters were cleared."""
    found = set()
    for counter in torch._dynamo.utils.counters.values():
        for message in counter:
            found |= {m.upper() for m in re.findall(r"gb/(gb\d{4})", str(message))}
    return found


class Box:
    """An object of a class of the program's with these attributes."""

    def __init__(self, **parts):
        self.__dict__.update(parts)


class Defects(logging.Handler):
    """Collects reports that minidynamo failed itself; the function then ran as plain Python, so results do not tell."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.found = []
        self.logger = logging.getLogger("minidynamo._dynamo")

    def __enter__(self):
        self.logger.addHandler(self)
        return self.found

    def __exit__(self, *_):
        self.logger.removeHandler(self)

    def emit(self, record):
        if "defect of minidynamo" in record.getMessage():
            self.found.append(record.getMessage())


def same(
    function, make_args=tuple, *, kwargs=None, calls=2, frames=None, ops=None, breaks=None, backends=("eager", "llvm")
):
    """Asserts that `function` behaves the same plain and compiled, for several calls in a row, with each backend.

    frames, ops: graphs compiled and call nodes in them (counted once, with a counting backend). breaks: registry codes.
    """
    kwargs = kwargs or dict

    def runs(callee):
        return [Seen(callee, make_args(), kwargs()).summary() for _ in range(calls)]

    expected = runs(function)
    counter = CompileCounter()
    for backend in (counter, *backends):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        with Defects() as defects:
            found = runs(torch.compile(function, backend=backend))
        assert defects == []
        name = "counting" if backend is counter else backend
        for number, (want, got) in enumerate(zip(expected, found)):
            for part in want:
                assert got[part] == want[part], (
                    f"{part} of call {number} differs with backend {name}:\n{got[part]}\ninstead of\n{want[part]}"
                )
        if backend is counter and breaks is not None:
            assert codes() == set(breaks), dict(torch._dynamo.utils.counters)
    if frames is not None:
        assert counter.frame_count == frames
    if ops is not None:
        assert counter.op_count == ops


def breaks_with(code, function, make_args=lambda: (torch.ones(2),)):
    """As same(), where `code` is among the breaks, whatever the others are."""
    same(function, make_args)
    assert code in codes()

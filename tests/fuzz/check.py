"""Runs one random program plain and compiled and compares all that can be seen of it."""

import contextlib
import itertools
import linecache
import warnings

import minidynamo as torch
from frontend.differential import same


def settings_of(seed):
    """As by default; with what the reference breaks on traced; broken at every n-th place that can resume."""
    more = {"trace_more": True, "force_replace": True}
    broken = {"break_every": 1 + seed // 4 % 5, "recompile_limit": 64}
    return ({}, more, broken, {**more, **broken})[seed % 4]


class Differs(AssertionError):
    """A compiled program that could be told from the plain one."""


def load(source, file="<program>"):
    """The module a program is, its lines known to tracebacks."""
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = {"__name__": "program"}
    exec(compile(source, file, "exec"), scope)
    return scope


CALLS = 3


def arguments_of(scope, seed, call):
    """Of one call: another number, other containers, a tensor of another dtype that shares memory with the first, an
    object of a subclass."""
    a = torch.tensor([1.0, -2.0, 3.0, 0.5], dtype=torch.float64 if call == 2 and seed % 5 == 1 else torch.float32)
    b = a.view(4) if call == 2 and seed % 5 == 2 else torch.tensor([2.0, 0.0, -1.0, 4.0])
    classes = [c for c in scope.values() if isinstance(c, type) and issubclass(c, scope["Box"])]
    box = classes[call % len(classes)](seed % 3, a + 1)
    box.seen = scope["COUNT"], scope["TABLE"]  # part of the state that is compared
    n = (seed + call) % 5 if seed % 7 else [1, True, 2][call]
    items, table = [1, 2, 4, 0][: 2 + call], {"k": 1, "q": 4, "z": call}
    if call == 1:
        del table["q" if seed % 2 else "k"]
    return a, b, n, items, table, {1, 3, call}, (2, 5), ("word", "other", "")[call if seed % 4 == 0 else 0], box


def check(source, seed=0):
    """Raises Differs; SyntaxError and the like if the source is no program."""
    scope = load(source, f"<program {seed}>")
    calls = itertools.count()

    def arguments():
        scope["COUNT"][:], scope["TOTAL"] = [0], 0
        scope["TABLE"].clear()
        torch.set_grad_enabled(True)  # generators suspended inside no_grad() may have left it off
        return arguments_of(scope, seed, next(calls) % CALLS)

    with warnings.catch_warnings(), contextlib.ExitStack() as settings:
        warnings.simplefilter("ignore")
        for name, value in settings_of(seed).items():
            settings.enter_context(torch._dynamo.config.patch(**{name: value}))
        try:
            same(scope["f"], arguments, calls=CALLS, backends=("llvm",) if seed % 3 == 0 else ())
        except AssertionError as error:
            raise Differs(str(error)) from None
        finally:
            linecache.cache.pop(f"<program {seed}>", None)
